//go:build redis_server

package hotelstaysredis

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

// Four processes book at full demand. Redis forgets its scripts every five seconds and is
// replaced by a new one; a process is stopped for a while, and another is killed and
// replaced.
func TestServerBooksThroughTrouble(t *testing.T) {
	t.Parallel()
	ran := watchMachine(t)
	duration := max(*fleetTime, 15*time.Second)
	own := startServer(t)
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Catalog: hotelstaystest.Catalog{Countries: 1}, LedgerLimit: 1_000_000})
	defer srv.Close()
	s := settings{Role: "caller", Redis: own.addr, Callers: 10, Operations: []hotelstays.Operation{hotelstays.OpBook}}.at(srv)
	start := func(name string) *chaostest.Process {
		s.Name = name
		return startWorker(t, s)
	}
	fleet := []*chaostest.Process{start("one"), start("two"), start("three"), start("four")}
	require.Eventually(t, func() bool { return srv.Ledger().Count(hotelstays.OpBook) > 0 }, 30*time.Second, 10*time.Millisecond)
	time.Sleep(2 * time.Second)

	begin := time.Now()
	at := func(part time.Duration) { time.Sleep(time.Until(begin.Add(part * duration / 60))) }
	admin := connectTo(t, own.addr)
	flushing := time.NewTicker(5 * time.Second)
	defer flushing.Stop()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-flushing.C:
				_ = admin.ScriptFlush(t.Context()).Err() // it may be stopped
			case <-done:
				return
			}
		}
	}()
	at(8)
	require.NoError(t, fleet[0].Cmd.Process.Signal(syscall.SIGSTOP))
	at(18)
	require.NoError(t, fleet[0].Cmd.Process.Signal(syscall.SIGCONT))
	at(22)
	fleet[1].Kill()
	fleet[1] = start("reborn")
	at(30)
	own.stop()
	stopped := time.Now()
	time.Sleep(time.Second)
	own.start(t)
	started := time.Now()
	rested := started.Add(retryPause + freshRest)
	at(60)
	end := time.Now()
	for _, w := range fleet {
		assert.NoError(t, w.Close())
	}

	limit := hotelstays.OpBook.RateLimit()
	all, _ := arrivals(srv, hotelstays.OpBook, time.Time{}, time.Now())
	assert.LessOrEqual(t, busiest(all, window), limit, "arrivals in a second")
	assert.Zero(t, srv.Ledger().RateLimited(hotelstays.OpBook))
	before, _ := arrivals(srv, hotelstays.OpBook, begin, stopped)
	after, _ := arrivals(srv, hotelstays.OpBook, rested, end)
	up, _ := arrivals(srv, hotelstays.OpBook, begin, end)
	t.Logf("%.3f of the limit before Redis was replaced, %.3f after its rest; %.3f while it was up, its rest included",
		used(before, limit), used(after, limit),
		float64(len(up))/float64(limit)/(end.Sub(begin)-started.Sub(stopped)).Seconds())
	if ran() {
		assert.GreaterOrEqual(t, used(before, limit), 0.9)
		assert.GreaterOrEqual(t, used(after, limit), 0.9)
	}
}

// Four processes search at once on new connections, and no request is refused.
func TestServerColdBursts(t *testing.T) {
	t.Parallel()
	bursts := amount(t, 20, 2)
	for _, callers := range []int{150, 300} {
		t.Run(fmt.Sprint(callers), func(t *testing.T) {
			t.Parallel()
			srv := hotelstaystest.NewServer(&hotelstaystest.Config{LedgerLimit: 1_000_000})
			defer srv.Close()
			s := sharedRedis(t).at(srv)
			s.Role, s.Callers, s.City = "burster", callers/4, srv.CityName(0)
			var fleet []*chaostest.Process
			for i := range 4 {
				s.Name = fmt.Sprint("burster ", i)
				w := startWorker(t, s)
				require.Equal(t, "ready", lineOf(t, w))
				fleet = append(fleet, w)
			}
			for range bursts {
				start := time.Now()
				for _, w := range fleet {
					_, err := fmt.Fprintln(w, "now")
					require.NoError(t, err)
				}
				for _, w := range fleet {
					assert.Equal(t, "0 failed", lineOf(t, w))
				}
				t.Logf("%d searches took %s, %d refused so far", callers, time.Since(start).Round(ms),
					srv.Ledger().RateLimited(hotelstays.OpHotelList))
			}
			for _, w := range fleet {
				assert.NoError(t, w.Close())
			}
			all, _ := arrivals(srv, hotelstays.OpHotelList, time.Time{}, time.Now())
			assert.Len(t, all, bursts*(callers/4)*4)
			assert.LessOrEqual(t, busiest(all, window), hotelstays.OpHotelList.RateLimit(), "arrivals in a second")
		})
	}
}
