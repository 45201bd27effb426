// Package storetest tests implementations of the interfaces that a fleet implements:
// [hotelstays.EventStore], [hotelstays.TokenStore], [hotelstays.TokenLeaser] and
// [hotelstays.RateLimiter]. Each suite has one subtest for each promise of the interface.
// A failure names the promise, what happened instead, and where to look.
//
//	func TestEvents(t *testing.T) {
//		storetest.TestEventStore(t, func(t *testing.T) storetest.Fleet[hotelstays.EventStore] {
//			db := openTestDatabase(t)
//			return storetest.Fleet[hotelstays.EventStore]{
//				Open:    func() hotelstays.EventStore { return NewEvents(db) },
//				Advance: func(d time.Duration) { shiftRows(t, db, d) },
//			}
//		})
//	}
//
// # Time
//
// Leases and tokens expire, so the suites have to let time pass. There are three ways:
//
//   - [InBubble], for a store that reaches no real socket: in memory, or a fake server over
//     in-memory connections. Time is virtual and exact, and a suite takes milliseconds.
//   - [Fleet.Advance], for a real server: the test shifts the times in its rows.
//   - Neither: the suites wait, with leases of half a second. On a slow machine they repeat
//     a case with longer ones, so that they fail for no reason of time.
//
// A suite runs with -race as well, and should.
package storetest
