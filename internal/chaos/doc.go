// Package chaos has the tests that break things on purpose, or take many clients or real
// time: bookings through faults and dying processes, bursts of callers, and
// files at every stage of their writing.
//
// They use only public packages. HOTELSTAYS_LONG=1 runs all cases, -short a few, and the default a part.
package chaos
