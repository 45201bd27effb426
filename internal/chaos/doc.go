// Package chaos has the tests that break things on purpose, or take many clients or real
// time: bookings through faults and dying processes, bursts of callers, and
// files at every stage of their writing.
//
// They use the public package alone. HOTELSTAYS_LONG=1 runs all of each; without it they
// run a part, with -short a smaller one.
package chaos
