package sqltest

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	bookers = 8
	each    = 8 // bookings per booker in a round
)

type method struct {
	name   string
	book   func(context.Context, *hotelstays.BookRequest, ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error)
	booked atomic.Int64
	times  []time.Duration
}

func (m *method) round(b *testing.B, account bookingstest.Account) {
	start := time.Now()
	if err := m.bookAll(b.Context(), account.Request); err != nil {
		b.Error(err)
	}
	m.times = append(m.times, time.Since(start))
}

func (m *method) bookAll(ctx context.Context, request func(reference string) *hotelstays.BookRequest) error {
	var wg sync.WaitGroup
	errs := make([]error, bookers*each)
	for i := range bookers {
		wg.Go(func() {
			for j := range each {
				outcome, err := m.book(ctx, request(fmt.Sprintf("%s-%d-%d", m.name, os.Getpid(), m.booked.Add(1))))
				if err == nil && outcome.State != hotelstays.BookingFound {
					err = fmt.Errorf("%s: %w", outcome.State, outcome.Err)
				}
				errs[i*each+j] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ratio returns the median of this quotient: duration of m's round ÷ duration of base's round.
func (m *method) ratio(base *method) float64 {
	var ratios []float64
	for i, took := range m.times {
		ratios = append(ratios, float64(took)/float64(base.times[i]))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// BenchmarkJournal compares bookings in the journal with bookings of Client.BookAndRecover, in alternating rounds.
// The sandbox answers immediately or after 0.1 s.
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
	clients, err := unlimited(s.Plan)
	require.NoError(b, err)
	b.Cleanup(clients[0].CloseIdleConnections)
	methods, err := methodsOf(clients[0], db)
	require.NoError(b, err)
	plain := methods[0]
	for _, m := range methods {
		m.round(b, s.Accounts[0]) // not measured: it gets the token, opens connections and checks the tables
		m.times = nil
	}
	for n := 0; b.Loop(); n++ { // each method is first, second and third equally often
		for i := range methods {
			methods[(n+i)%len(methods)].round(b, s.Accounts[0])
		}
	}
	for _, m := range methods[1:] {
		b.ReportMetric(m.ratio(plain), m.name+"/plain")
	}
	b.ReportMetric(0, "ns/op") // ns/op of a round means nothing here
}

// unlimited returns clients without rate limits, which keep a connection for each booker.
func unlimited(p bookingstest.Plan) ([]*hotelstays.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = bookers
	return p.Connect(transport, hotelstays.WithRateLimiter(testkit.NoRateLimits{}))
}

// methodsOf returns the compared methods of booking: without and with a journal.
func methodsOf(client *hotelstays.Client, db *database) ([]*method, error) {
	journal, err := hotelstayssql.NewJournal(db.DB, db.dialect, hotelstayssql.JournalOptions{
		Client:    client,
		Keys:      []types.Secret{bookingstest.Key},
		OnOutcome: func(context.Context, *sql.Tx, *hotelstays.BookingOutcome) error { return nil },
	})
	beginAndSend := func(ctx context.Context, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
		begin := func(tx *sql.Tx) error { return journal.BeginTx(ctx, tx, req, opts...) }
		if err := db.caller().InTx(ctx, begin); err != nil {
			return nil, err
		}
		return journal.Send(ctx, req.CustomerReferenceNo)
	}
	return []*method{{name: "plain", book: client.BookAndRecover}, {name: "Book", book: journal.Book},
		{name: "Begin+Send", book: beginAndSend}}, err
}

// BenchmarkProcesses compares bookings in the journal with bookings of Client.BookAndRecover, in several processes
// with a database server. Rounds alternate, and the figures are medians.
func BenchmarkProcesses(b *testing.B) {
	for _, dialect := range dialects {
		for _, processes := range []int{1, 4, 16} {
			if dialect != hotelstayssql.SQLite {
				b.Run(fmt.Sprintf("%s/processes=%d", dialect, processes), func(b *testing.B) { benchmarkProcesses(b, dialect, processes) })
			}
		}
	}
}

func benchmarkProcesses(b *testing.B, dialect hotelstayssql.Dialect, processes int) {
	db := create(b, dialect)
	db.createTables(b)
	db.exec(b, bookingstest.Table)
	s := bookingstest.New(b, db.fleet(b, func() *sql.DB { return db.open(b) }, nil), hotelstaystest.Config{LedgerLimit: 1})
	s.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 100 * time.Millisecond, Times: -1})
	part := db.part()
	part.Plan, part.Rounds = s.Plan, true
	started := make([]*chaostest.Process, processes)
	for i := range started {
		var err error
		started[i], err = chaostest.Start(part)
		require.NoError(b, err)
		b.Cleanup(started[i].Kill)
	}
	methods := []*method{{name: "plain"}, {name: "Book"}}
	round := func(m *method) {
		start := time.Now()
		for _, p := range started {
			_, err := p.Write([]byte(m.name + "\n"))
			require.NoError(b, err)
		}
		for _, p := range started {
			line, err := p.Line()
			require.NoError(b, err)
			require.Equal(b, "done", line)
		}
		m.times = append(m.times, time.Since(start))
	}
	for _, m := range methods {
		round(m)
		m.times = nil
	}
	for n := 0; b.Loop(); n++ {
		for i := range methods {
			round(methods[(n+i)%len(methods)])
		}
	}
	b.ReportMetric(methods[1].ratio(methods[0]), "Book/plain")
	for _, m := range methods {
		slices.Sort(m.times)
		b.ReportMetric(float64(processes*bookers*each)/m.times[len(m.times)/2].Seconds(), m.name+"/s")
	}
	b.ReportMetric(0, "ns/op") // ns/op of a round means nothing here
}

// rounds makes a round of bookings for each line of standard input, which names the method.
func rounds(p part, db *database) error {
	db.SetMaxOpenConns(bookers)
	clients, err := unlimited(p.Plan)
	if err != nil {
		return err
	}
	methods, err := methodsOf(clients[0], db)
	for in := bufio.NewScanner(os.Stdin); err == nil && in.Scan(); {
		i := slices.IndexFunc(methods, func(m *method) bool { return m.name == in.Text() })
		if err = methods[i].bookAll(context.Background(), p.Accounts[0].Request); err == nil {
			_, err = os.Stdout.WriteString("done\n")
		}
	}
	return err
}

// BenchmarkFollowedOrders reads 10,000 followed orders once, on one worker, and prints the cost per order and the
// memory. The service answers immediately, in this process.
func BenchmarkFollowedOrders(b *testing.B) {
	for _, users := range []int{1, 10_000} {
		for _, dialect := range dialects {
			b.Run(fmt.Sprintf("%s/users=%d", dialect, users), func(b *testing.B) { benchmarkFollowedOrders(b, dialect, users) })
		}
	}
}

func benchmarkFollowedOrders(b *testing.B, dialect hotelstayssql.Dialect, users int) {
	const orders = 10_000
	db := create(b, dialect)
	db.createTables(b)
	p := newProcess(b, db, nil)
	p = p.another(db.followBookings)
	p.Booked("template")
	found, err := p.Clients[0].FindOrder(b.Context(), "template")
	require.NoError(b, err)
	template, err := json.Marshal(found)
	require.NoError(b, err)
	ring, err := keyring.New([]types.Secret{bookingstest.Key})
	require.NoError(b, err)
	account := p.Clients[0].Account()
	orderText := func(reference string) string { return strings.ReplaceAll(string(template), "template", reference) }
	require.NoError(b, p.Fleet.InTx(b.Context(), func(tx *sql.Tx) error {
		for i := range orders {
			var order types.Order
			text := orderText(many(i))
			if err := json.Unmarshal([]byte(text), &order); err != nil {
				return err
			}
			seen, err := ring.Seal("followed order "+account+" "+many(i), []byte(`{"allFields":true,`+text[1:]))
			if err == nil {
				_, err = p.Fleet.Exec(b.Context(), tx, `INSERT INTO hotelstays_orders (account, reference, fence, live, due, state)
					VALUES (?, ?, 1, 1, 1, ?)`, []byte(account), []byte(many(i)), marshalled(b, map[string]any{
					"customerReferenceNo": many(i), "platformReferenceNo": order.PlatformReferenceNo, "fingerprint": account,
					"userRef": fmt.Sprint("user-", i%users), "checkOut": order.CheckOut, "since": time.Now().UTC(), "seen": seen}))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	var requests atomic.Int64
	p.SendThrough(testkit.Transport(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/queryOrders") {
			return p.Server.Client().Transport.RoundTrip(r)
		}
		requests.Add(1)
		var req hotelstays.QueryOrdersRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			return nil, err
		}
		var found []string
		for _, reference := range req.CustomerReferenceNos {
			found = append(found, orderText(reference))
		}
		return testkit.Reply(http.StatusOK, `{"code": 0, "data": {"orders": [`+strings.Join(found, ",")+`]}}`), nil
	}))
	q := processOf(db, p.World).another(func(o *hotelstayssql.JournalOptions) { o.MaxWorkers = 1; db.followBookings(o) })
	runtime.GC()
	var before, after, peak runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	start := time.Now()
	stop := q.Work()
	for db.number(b, `SELECT COUNT(*) FROM hotelstays_orders WHERE due = 1`) > 0 {
		time.Sleep(50 * time.Millisecond)
		runtime.ReadMemStats(&peak)
		after.HeapInuse = max(after.HeapInuse, peak.HeapInuse)
	}
	b.ReportMetric(float64(cpuTime()-cpu)/float64(time.Microsecond)/orders, "CPU-µs/order")
	b.ReportMetric(float64(time.Since(start))/float64(time.Millisecond)/orders, "ms/order")
	b.ReportMetric(float64(requests.Load())/orders, "requests/order")
	b.ReportMetric(float64(after.HeapInuse-min(before.HeapInuse, after.HeapInuse))/1e6, "heap-MB")
	b.ReportMetric(0, "ns/op")
	stop()
	require.EqualValues(b, 0, db.number(b, `SELECT COALESCE(SUM(changes), 0) FROM bookings`))
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func marshalled(b *testing.B, v any) []byte {
	text, err := json.Marshal(v)
	require.NoError(b, err)
	return text
}
