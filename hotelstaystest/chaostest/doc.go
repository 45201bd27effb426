// Package chaostest shows whether a service that books with hotelstays-go loses a booking, or
// makes one twice, when its processes are killed, its servers crash and answers get lost.
//
// The test starts a sandbox with [Config] and [Inject], processes of the service with [Start],
// and a [Fleet], which kills and freezes them until all bookings have ended. Then [Check]
// compares what the service has stored with the sandbox's ledger:
//
//	func TestMain(m *testing.M) {
//		chaostest.Main(serve) // does not return in a process of Start
//		os.Exit(m.Run())
//	}
//
//	func TestNothingIsLost(t *testing.T) {
//		srv := hotelstaystest.NewServer(chaostest.Config(1))
//		defer srv.Close()
//		chaostest.Inject(srv)
//		db := newDatabase(t, 100) // with 100 bookings to make
//		fleet := chaostest.Fleet{
//			Bookings:  100,
//			Processes: 5,
//			Kills:     10,
//			Freezes:   3,
//			Lease:     time.Minute,
//			Start:     func(int) (*chaostest.Process, error) { return chaostest.Start(settings{URL: srv.URL, DSN: db.dsn}) },
//			Ended:     db.ended,
//			Hurry:     db.passTime,
//		}
//		require.NoError(t, fleet.Survive(t.Context()))
//		require.NoError(t, chaostest.Check(srv.Ledger(), db.rounds(), db.outcomes()))
//	}
//
// A recovery takes ten minutes, so Hurry lets time pass faster, by moving the times that the
// service has stored.
//
// A process that is frozen in a Book may continue after its booking was stored as being without
// an order. If Book then ends without an answer, the journal of contrib/sql and contrib/river
// open the booking again, and pass on a further outcome: count that as a further round.
//
// This package is outside the compatibility promise: a minor version may change it.
package chaostest
