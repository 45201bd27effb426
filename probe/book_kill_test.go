package probe

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

// part says what the process does that the test starts and kills: a Cleanup if Cleanup is true, otherwise a run.
type part struct {
	URL, Key, Secret, Journal string
	Cleanup                   bool
}

func (p part) config() Config {
	return Config{BaseURL: p.URL, Credential: hotelstays.TicketCredential{AppKey: p.Key, AppSecret: types.NewSecret(p.Secret)},
		Share: 1, Only: []string{"cancel/status"},
		Booking: &Booking{MaxTotal: types.Money{Currency: "EUR", Amount: "500"}, Journal: p.Journal}}
}

func (p part) play() error {
	if p.Cleanup {
		_, err := Cleanup(chaostest.UntilClosed(), p.config())
		return err
	}
	_, err := Run(chaostest.UntilClosed(), p.config())
	return err
}

// stage is the moment at which the test kills a process: before the n-th request of op reaches the sandbox or, if answered
// is true, before the answer to this request reaches the process.
type stage struct {
	op       operation
	n        int
	answered bool
}

// The test kills the run, and then also the first Cleanup.
func TestCleanupCancelsTheOrdersOfAKilledRun(t *testing.T) {
	portion := testsize.PortionOf(t, 1, 3)
	for name, test := range map[string]struct {
		run, cleanup stage
		entries      int
		late         bool
		cancelled    int
	}{
		"killed before the journal has an entry":  {stage{opCheckAvail, 1, true}, stage{opTicket, 1, false}, 0, false, 0},
		"killed before Book arrives":              {stage{opBook, 1, false}, stage{opQueryOrders, 3, true}, 1, false, 0},
		"killed before the answer to a late Book": {stage{opBook, 1, true}, stage{opQueryOrders, 3, true}, 1, true, 1},
		"killed before the answer to Book":        {stage{opBook, 1, true}, stage{opCancel, 1, true}, 1, false, 1},
		"killed after the answer to Book":         {stage{opQueryOrders, 4, false}, stage{opCancel, 1, false}, 1, false, 1},
		"killed before Cancel arrives":            {stage{opCancel, 2, false}, stage{opCancel, 1, true}, 1, false, 1},
		"killed before the answer to Cancel":      {stage{opCancel, 2, true}, stage{opOrderVoucher, 1, true}, 1, false, 1},
		"killed after the answer to Cancel":       {stage{opQueryOrders, 5, true}, stage{opQueryOrders, 3, false}, 1, false, 1},
	} {
		if !portion.Next() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			sandbox := hotelstaystest.Config{ConfirmAfter: hotelstaystest.AtOnce, VoucherDelay: hotelstaystest.AtOnce, NoRateLimits: true}
			if test.late {
				sandbox.LateVisibility = time.Hour
			}
			srv := hotelstaystest.NewServer(&sandbox)
			defer srv.Close()
			p := part{srv.URL, srv.AppKey, srv.AppSecret, filepath.Join(t.TempDir(), "journal"), false}
			kill := func(at stage) {
				srv.Inject(hotelstaystest.Fault{Operation: at.op, Skip: at.n - 1, Kind: hotelstaystest.FaultDelay, Delay: time.Hour,
					Commit: at.answered})
				process, err := chaostest.Start(p)
				require.NoError(t, err)
				defer process.Kill()
				require.Eventually(t, func() bool { return len(srv.Faults()) == 0 }, time.Minute, time.Millisecond)
			}
			kill(test.run)
			if p.Cleanup = true; test.entries > 0 {
				kill(test.cleanup)
			}
			polls, through := 0, &http.Transport{DisableKeepAlives: true}
			for range 2 {
				synctest.Test(t, func(t *testing.T) { // virtual time, because a proof of absence takes ten minutes
					cfg := p.config()
					cfg.HTTPClient = &http.Client{Transport: fault{op: opQueryOrders, asked: func(*question) {
						// The first poll is QueryOrders 3. Before QueryOrders 4 arrives, an hour passes in the sandbox.
						if polls++; polls == 4 {
							srv.Advance(time.Hour)
						}
					}}.before(through)}
					entries, err := Cleanup(context.WithoutCancel(t.Context()), cfg)
					require.NoError(t, err)
					assert.Len(t, entries, test.entries)
				})
			}
			for _, o := range srv.Ledger().Orders() {
				assert.Equal(t, types.OrderStatus(3), o.Status)
			}
			assert.Len(t, srv.Ledger().Cancellations(), test.cancelled)
		})
	}
}
