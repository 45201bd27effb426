//go:build servers

package main

import (
	"os"
	"testing"
)

// The functions of .ci/services set the variables with the addresses of the servers.
func TestFleetOnServersHasAGoodVerdict(t *testing.T) {
	o := options{bookings: 12, workers: 3, kills: 2, postgres: os.Getenv("HOTELSTAYS_POSTGRES_URL"), redis: os.Getenv("HOTELSTAYS_REDIS_ADDR")}
	hasGoodVerdict(t, o, `server 0 crashes`, `0 calls refused \(429\); \d+ searches`)
}
