package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	bookers = 8
	each    = 8 // bookings of a booker in a round
)

// way is a way to book, and what its rounds have cost.
type way struct {
	name   string
	book   func(context.Context, *hotelstays.BookRequest, ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error)
	booked atomic.Int64
	times  []time.Duration
}

// round lets all bookers book at once.
func (w *way) round(b *testing.B, offer hotelstays.BookRequest) {
	start := time.Now()
	var wg sync.WaitGroup
	for range bookers {
		wg.Go(func() {
			for range each {
				req := bookingstest.RequestOf(offer, fmt.Sprintf("%s-%d", w.name, w.booked.Add(1)))
				if outcome, err := w.book(b.Context(), req); err != nil || outcome.State != hotelstays.BookingFound {
					b.Error(outcome, err)
				}
			}
		})
	}
	wg.Wait()
	w.times = append(w.times, time.Since(start))
}

// ratio returns the median of the ratios of rounds that followed each other.
func (w *way) ratio(to *way) float64 {
	var ratios []float64
	for i, took := range w.times {
		ratios = append(ratios, float64(took)/float64(to.times[i]))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// BenchmarkJournal compares bookings in the journal with those of Client.BookAndRecover, in
// rounds that alternate, with a sandbox that answers at once and with one that takes its time.
func BenchmarkJournal(b *testing.B) {
	for _, dialect := range dialects {
		for _, answer := range []time.Duration{0, 100 * time.Millisecond} {
			b.Run(fmt.Sprintf("%s/answer=%s", dialect, answer), func(b *testing.B) { benchmarkJournal(b, dialect, answer) })
		}
	}
}

func benchmarkJournal(b *testing.B, dialect hotelstayssql.Dialect, answer time.Duration) {
	db := create(b, dialect)
	if dialect == hotelstayssql.SQLite {
		db.DB = db.openWith(b, map[string]string{"synchronous": "full"})
	}
	db.createTables(b)
	db.exec(b, bookingstest.Table)
	s := bookingstest.New(b, db.fleet(b, func() *sql.DB { return db.open(b) }, nil), hotelstaystest.Config{LedgerLimit: 1})
	s.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: answer, Times: -1})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = bookers
	client, err := hotelstays.New(s.URL, hotelstays.TicketCredential{AppKey: s.AppKey, AppSecret: types.NewSecret(s.AppSecret)},
		hotelstays.WithHTTPClient(&http.Client{Transport: transport}), hotelstays.WithRateLimiter(testkit.NoRateLimits{}))
	require.NoError(b, err)
	b.Cleanup(client.CloseIdleConnections)

	plain := &way{name: "plain", book: client.BookAndRecover}
	ways := append([]*way{plain}, inJournal(b, client, db)...)
	for _, w := range ways {
		w.round(b, s.Offer) // the token, the connections, the first look at the tables
		w.times = nil
	}
	for n := 0; b.Loop(); n++ { // each is first, second and third as often
		for i := range ways {
			ways[(n+i)%len(ways)].round(b, s.Offer)
		}
	}
	for _, w := range ways[1:] {
		b.ReportMetric(w.ratio(plain), w.name+"/plain")
	}
	b.ReportMetric(0, "ns/op") // of a round of each: of no interest
}

// inJournal returns the ways to book in a journal.
func inJournal(b *testing.B, client *hotelstays.Client, db *database) []*way {
	b.Helper()
	journal, err := hotelstayssql.NewJournal(db.DB, db.dialect, client, hotelstayssql.JournalOptions{
		Keys:      []types.Secret{bookingstest.Key},
		OnOutcome: func(context.Context, *sql.Tx, *hotelstays.BookingOutcome) error { return nil },
	})
	require.NoError(b, err)
	beginAndSend := func(ctx context.Context, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
		begin := func(tx *sql.Tx) error { return journal.BeginTx(ctx, tx, req, opts...) }
		if err := db.caller().InTx(ctx, begin); err != nil {
			return nil, err
		}
		return journal.Send(ctx, req.CustomerReferenceNo)
	}
	return []*way{{name: "Book", book: journal.Book}, {name: "Begin+Send", book: beginAndSend}}
}
