//go:build postgres

package hotelstaysriver

func runProcess(string) {}
