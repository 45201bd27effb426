//go:build browser

package browsertest_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox/browsertest"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/durable/oncall"
)

// openWork is a fake journal with open bookings, cancellations and orders. Retry and Abandon remove a booking from this
// journal.
type openWork struct {
	durable.Bookings[any]

	mu       sync.Mutex
	bookings map[string]durable.Booking
	cancels  []durable.Cancellation
	orders   []durable.FollowedOrder
	done     []string
}

// newOpenWork returns bookings in every state, and cancellations and orders in every state that needs a person.
func newOpenWork(bookings int) *openWork {
	w, now := &openWork{bookings: map[string]durable.Booking{}}, time.Now()
	for i := range bookings {
		ended := now.Add(-time.Duration(i%500) * time.Second)
		b := durable.Booking{Begun: ended.Add(-2 * time.Minute), Due: now.Add(time.Minute), BookBy: ended}
		b.Recovery = hotelstays.BookingRecovery{CustomerReferenceNo: fmt.Sprintf("trip-%04d-with-a-long-reference", i), EndedAt: ended, Fingerprint: "account"}
		switch i % 500 {
		case 0:
			b.Begun, b.BookBy, b.Recovery.EndedAt = now, time.Time{}, time.Time{}
		case 1:
			b.Begun, b.Unverified, b.Problem = now.Add(-5*time.Hour), 4, hotelstays.KindForbidden
		case 2:
			b.BookBy, b.Recovery.EndedAt = now.Add(time.Minute), time.Time{}
		}
		w.bookings[b.Recovery.CustomerReferenceNo] = b
	}
	if bookings > 0 {
		w.cancels = []durable.Cancellation{{Begun: now.Add(-time.Hour), Due: now.Add(-time.Hour)}, {Begun: now, Due: now, SendBy: now.Add(time.Minute)}}
		w.cancels[0].CustomerReferenceNo = "trip-a"
		w.cancels[1].CustomerReferenceNo, w.cancels[1].PlatformReferenceNo = "trip-b", "HS-1"
		w.orders = []durable.FollowedOrder{
			{CustomerReferenceNo: "trip-c", PlatformReferenceNo: "HS-2", Since: now, Due: now, CheckOut: "2030-01-03"},
			{CustomerReferenceNo: "trip-d", PlatformReferenceNo: "HS-3", Since: now, Due: now, MissingSince: now.Add(-time.Hour), Other: "HS-4"},
		}
	}
	return w
}

func listed[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (w *openWork) List(context.Context) iter.Seq2[durable.Booking, error] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return listed(slices.SortedFunc(maps.Values(w.bookings), func(a, b durable.Booking) int {
		return strings.Compare(a.Recovery.CustomerReferenceNo, b.Recovery.CustomerReferenceNo)
	}))
}

func (w *openWork) Cancellations(context.Context) iter.Seq2[durable.Cancellation, error] {
	return listed(w.cancels)
}

func (w *openWork) Orders(context.Context) iter.Seq2[durable.FollowedOrder, error] {
	return listed(w.orders)
}

func (w *openWork) Hanging() []string { return nil }

func (w *openWork) ForAccount(string) durable.Bookings[any] { return w }

func (w *openWork) did(what, reference string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.bookings, reference)
	w.done = append(w.done, what+" "+reference)
	return nil
}

func (w *openWork) Retry(_ context.Context, reference string) error { return w.did("retry", reference) }
func (w *openWork) Wake(_ context.Context, reference string) error  { return w.did("wake", reference) }
func (w *openWork) Abandon(_ context.Context, reference string) error {
	return w.did("abandon", reference)
}

// openOncall opens the page for people on call, which is served under the prefix /oncall.
func openOncall(t *testing.T, w *openWork, screen browsertest.Screen) *browsertest.Tab {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/oncall/", http.StripPrefix("/oncall", oncall.Handler[any](w, &oncall.Options{Logger: slog.New(slog.DiscardHandler)})))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return browsertest.Open(t, server.URL+"/oncall/", screen)
}

// tabTo presses the Tab key until an element with this text has the focus. The focus must be visible.
func tabTo(p *browsertest.Tab, t *testing.T, name string) {
	t.Helper()
	for range 250 {
		p.Do(chromedp.KeyEvent("\t"))
		focus := browsertest.Eval[[]string](p, `(() => {
			const e = document.activeElement, style = getComputedStyle(e);
			return [e.name || e.textContent.trim(), String(style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2)];
		})()`)
		if strings.Contains(focus[0], name) {
			require.Equal(t, "true", focus[1], "the focus on %q should be visible", name)
			return
		}
	}
	t.Fatalf("no element %q can be reached with the Tab key", name)
}

func TestOncallPageIsReadableOnEachScreen(t *testing.T) {
	for _, bookings := range []int{0, 3, 5_000} {
		t.Run(fmt.Sprint(bookings), func(t *testing.T) {
			p := openOncall(t, newOpenWork(bookings), browsertest.Screens[0])
			p.WaitFor("h1", "Open bookings")
			if bookings == 5_000 {
				p.WaitFor("main", "1 to 50 of 5000", "look at 10", "unverified: 4", "Page 1 of 100")
			}
			checkScreens(p, fmt.Sprint("oncall-", bookings))
			for _, list := range []string{"cancellation", "order"} {
				p.Click("header a[href*=" + list + "]")
				p.WaitFor("header [aria-current]", map[string]string{"cancellation": "Cancellations", "order": "Orders"}[list])
				checkScreens(p, fmt.Sprint("oncall-", list, "-", bookings))
			}
		})
	}
}

// The test uses only the keyboard: it searches for a booking, enters a reason and abandons the booking.
func TestBookingCanBeAbandonedWithTheKeyboard(t *testing.T) {
	for _, bookings := range []int{3, 5_000} {
		w := newOpenWork(bookings)
		p := openOncall(t, w, browsertest.Screens[bookings%2]) // 3 bookings on a dark page, 5,000 on a light page
		p.WaitFor("main", "trip-0001")
		if bookings > 3 {
			tabTo(p, t, "q")
			p.Do(chromedp.KeyEvent("TRIP-0001\n"))
			p.WaitFor("main", "1 of 5000 match", "trip-0001")
		}
		tabTo(p, t, "Abandon trip-0001")
		p.Do(chromedp.KeyEvent("\n"))
		p.WaitFor("h1", "Abandon booking trip-0001")
		p.WaitFor("main", "unverified: 4", "forbidden", "Ask the service first")
		checkScreens(p, "oncall-abandon")
		tabTo(p, t, "reason")
		p.Do(chromedp.KeyEvent(" \n"))
		p.WaitFor("main", "Say why")
		assert.Empty(t, w.done)
		checkScreens(p, "oncall-why")
		tabTo(p, t, "reason")
		p.Do(chromedp.KeyEvent("the service has no order\n"))
		p.WaitFor("[role=status]", "is abandoned")
		assert.Equal(t, []string{"abandon trip-0001-with-a-long-reference"}, w.done)

		tabTo(p, t, "again")
		p.Do(chromedp.KeyEvent("\n"))
		p.WaitFor("main", "Nothing is open under this reference")
		checkScreens(p, "oncall-retry")
		tabTo(p, t, "reason")
		p.Do(chromedp.KeyEvent("a mistake\n"))
		p.WaitFor("[role=status]", "polls")
		assert.Equal(t, "retry trip-0001-with-a-long-reference", w.done[1])
	}
}
