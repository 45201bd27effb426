// The chart counts allowed and refused requests.

package sandboxpage

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestChartOfRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := start(t)
		for range 7 {
			post(t, srv, "/api/auth/ticket", "{}")
		}
		time.Sleep(2 * time.Second)
		post(t, srv, "/api/auth/ticket", "{}")
		v := newView(srv, nil)
		if len(v.Charts) != 1 || v.Charts[0].Label != "Ticket in the last minute: 8 requests, at most 7 in one second, 2 refused" {
			t.Fatalf("%+v", v.Charts)
		}
		if c := v.Charts[0]; len(c.Bars) != 3 || c.LimitY <= 0 || c.Caption != "5 a second" {
			t.Errorf("%+v", c)
		}
		time.Sleep(time.Minute)
		if v := newView(srv, nil); len(v.Charts) != 0 {
			t.Errorf("%+v", v.Charts)
		}
	})
}
