//go:build !generated

// Before go generate there are no generated clients.

package peers

func generated() []Kind { return nil }
