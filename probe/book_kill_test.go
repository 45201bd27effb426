package probe

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/types"
)

// part is what a killed process does.
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

// stage is when a process is killed: while a request has not reached the sandbox, or its answer not the
// process.
type stage struct {
	op       operation
	n        int // which request of op
	answered bool
}

// gate holds one request, and lets all others through to the sandbox.
type gate struct {
	http.Handler
	mu      sync.Mutex
	hold    stage
	held    chan struct{} // closed when the request is held
	release chan struct{} // closed when it may go on
	late    *http.Request // the first that was held
	queries int           // that reach the sandbox before it does; 0: it never does
}

func (g *gate) arm(s stage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold, g.held, g.release = s, make(chan struct{}), make(chan struct{})
}

func (g *gate) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	g.mu.Lock()
	hold, held, release := false, g.held, g.release
	answered := g.hold.answered
	if strings.HasSuffix(req.URL.Path, paths[g.hold.op]) {
		g.hold.n--
		hold = g.hold.n == 0
	}
	if g.late != nil && strings.HasSuffix(req.URL.Path, paths[opQueryOrders]) {
		if g.queries--; g.queries == 0 {
			g.Handler.ServeHTTP(httptest.NewRecorder(), g.late)
		}
	}
	if hold {
		body, _ := io.ReadAll(req.Body)
		req = req.WithContext(context.Background()) // it outlives its sender
		req.Body = io.NopCloser(bytes.NewReader(body))
		if g.late == nil {
			g.late = req
		}
	}
	g.mu.Unlock()
	if !hold {
		g.Handler.ServeHTTP(w, req)
		return
	}
	if answered {
		g.Handler.ServeHTTP(httptest.NewRecorder(), req)
	}
	close(held)
	<-release
}

// A run that is killed leaves no order behind, because Cleanup ends it, also one that is killed itself.
func TestCleanupAfterAKilledRun(t *testing.T) {
	const first = 1
	for name, test := range map[string]struct {
		run, cleanup stage
		entries      int
		late         bool
		cancelled    int
	}{
		"before the journal":          {stage{opCheckAvail, first, true}, stage{opTicket, first, false}, 0, false, 0},
		"before Book arrives":         {stage{opBook, first, false}, stage{opQueryOrders, 3, true}, 1, false, 0},
		"Book arrives after the kill": {stage{opBook, first, false}, stage{opQueryOrders, 3, true}, 1, true, 1},
		"Book in flight":              {stage{opBook, first, true}, stage{opCancel, first, true}, 1, false, 1},
		"after Book":                  {stage{opQueryOrders, 4, false}, stage{opCancel, first, false}, 1, false, 1},
		"before Cancel arrives":       {stage{opCancel, 2, false}, stage{opCancel, first, true}, 1, false, 1},
		"Cancel in flight":            {stage{opCancel, 2, true}, stage{opOrderVoucher, first, true}, 1, false, 1},
		"after Cancel":                {stage{opQueryOrders, 6, true}, stage{opQueryOrders, 3, false}, 1, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			srv := hotelstaystest.NewServer(&hotelstaystest.Config{ConfirmAfter: hotelstaystest.AtOnce, VoucherDelay: hotelstaystest.AtOnce,
				NoRateLimits: true})
			defer srv.Close()
			to, err := url.Parse(srv.URL)
			require.NoError(t, err)
			through := &http.Transport{}
			defer through.CloseIdleConnections()
			g := &gate{Handler: &httputil.ReverseProxy{Transport: through, ErrorLog: log.New(io.Discard, "", 0),
				Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}}
			front := httptest.NewServer(g)
			defer front.Close()
			p := part{front.URL, srv.AppKey, srv.AppSecret, filepath.Join(t.TempDir(), "journal"), false}
			kill := func(at stage) {
				g.arm(at)
				process, err := chaostest.Start(p)
				require.NoError(t, err)
				select {
				case <-g.held:
				case <-time.After(time.Minute):
					assert.Fail(t, "the process never came so far")
				}
				process.Kill()
				close(g.release)
			}
			kill(test.run)
			if p.Cleanup = true; test.entries > 0 {
				kill(test.cleanup)
			}
			if test.late {
				g.queries = 4 // after the first poll
			}
			for range 2 {
				synctest.Test(t, func(t *testing.T) { // ten minutes without an order
					cfg := p.config()
					cfg.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
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
