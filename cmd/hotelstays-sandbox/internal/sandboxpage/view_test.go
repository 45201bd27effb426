// The faults as texts, and how much of the rate limits is used.

package sandboxpage

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestFaultsAreDescribed(t *testing.T) {
	for want, f := range map[string]hotelstaystest.Fault{
		"cut on Book, after it is executed, once":   {Operation: types.OpBook, Kind: hotelstaystest.FaultCut, Commit: true},
		"status on any operation, HTTP 502, always": {Kind: hotelstaystest.FaultStatus, Status: 502, Times: -1},
		"delay on any operation, 5s, after 2 more requests, 3 times": {
			Kind: hotelstaystest.FaultDelay, Delay: 5 * time.Second, Skip: 2, Times: 3},
	} {
		srv := start(t)
		srv.Inject(f)
		if got := newView(srv, nil).Faults; len(got) != 1 || got[0] != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestUseOfRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := start(t)
		for range 7 {
			post(t, srv, "/api/auth/ticket", "{}")
		}
		time.Sleep(2 * time.Second)
		post(t, srv, "/api/auth/ticket", "{}")
		if got := newView(srv, nil).Uses; !slices.Equal(got, []use{{types.OpTicket, 8, 2, 7, 5}}) {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Minute)
		if got := newView(srv, nil).Uses; len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}
