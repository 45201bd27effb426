// The data of the page's template.

package sandboxpage

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

type view struct {
	LastSeq      int64 // sequence number of the last entry of the ledger that the page shows
	Now          time.Time
	Ahead        string // how far the sandbox's clock is ahead of real time; empty if it is not ahead
	Filter       filter
	States       []string
	Bookings     []*booking
	BookingPages pages
	Operations   []hotelstaystest.Operation
	FaultKinds   []hotelstaystest.FaultKind
	Faults       []string
	Requests     int // number of requests since the sandbox started
	Journal      []entry
	JournalPages pages
}

func newView(srv *hotelstaystest.Server, query url.Values) *view {
	ledger := srv.Ledger()
	v := &view{
		Filter: newFilter(query), States: []string{noOrder},
		LastSeq: ledger.LastSeq(), Now: srv.Now().UTC(),
		Operations: hotelstaystest.Operations(), FaultKinds: hotelstaystest.FaultKinds(),
	}
	if ahead := time.Until(v.Now).Round(time.Second); ahead > 0 {
		v.Ahead = strings.TrimPrefix(since(ahead), "+")
	}
	requests := ledger.Requests("")
	numbers := srv.Config().Variants.OrderStatusNumbers
	for status := range types.OrderStatus(6) {
		v.States = append(v.States, numbers.Name(status))
	}
	v.Bookings, v.BookingPages = bookings(srv, requests, v.Filter)
	v.Requests = ledger.Count("")
	v.Journal, v.JournalPages = newJournal(srv.URL, requests, v.Filter)
	for _, f := range srv.Faults() {
		v.Faults = append(v.Faults, describe(f))
	}
	return v
}

// describe returns text about a planned fault, such as "drop on Book, once".
func describe(f hotelstaystest.Fault) string {
	text := string(f.Kind)
	text += " on " + cmp.Or(string(f.Operation), "any operation")
	if f.Reference != "" {
		text += " of " + f.Reference
	}
	if f.Status != 0 {
		text += fmt.Sprintf(", HTTP %d", f.Status)
	}
	if f.Delay != 0 {
		text += ", " + f.Delay.String()
	}
	if f.Commit {
		text += ", after it is executed"
	}
	if f.Skip > 0 {
		text += fmt.Sprintf(", after %d more requests", f.Skip)
	}
	switch f.Times {
	case -1:
		return text + ", always"
	case 1:
		return text + ", once"
	}
	return text + fmt.Sprintf(", %d times", f.Times)
}
