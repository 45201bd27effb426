// Package storetest tests implementations of the interfaces that a fleet implements:
// [hotelstays.EventStore], [hotelstays.TokenStore], [hotelstays.TokenLeaser] and
// [hotelstays.RateLimiter]. Each suite has a subtest for each promise in the documentation of
// its interface. A failure says what was promised, what happened instead, and where to look.
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
// What is not promised is not tested, such as the order in which callers are served.
//
// # Time
//
// Leases and tokens expire, so time has to pass. There are three ways:
//
//   - [InBubble], for what reaches no real socket: a store in memory, or a fake server over
//     in-memory connections. Time is virtual and exact, and a suite takes milliseconds.
//   - Fleet.Advance, for a store on a real server: the test shifts the times in its rows.
//   - Otherwise the suites wait, with short leases. TestEventStore and TestTokenLeaser take
//     about 15 seconds, TestRateLimiter takes 80. A case for which the machine was too slow
//     is repeated with longer leases.
//
// Run the suites with the race detector as well.
package storetest
