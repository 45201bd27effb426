//go:build !generated

// Without go generate there are no generated clients.

package peers

func generated() []Kind { return nil }
