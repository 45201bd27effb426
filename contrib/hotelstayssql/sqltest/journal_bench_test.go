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
	"github.com/hotelstays/hotelstays-go/durable"
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

// way is a way to book, with the costs of its rounds.
type way struct {
	name   string
	book   func(context.Context, *hotelstays.BookRequest, ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error)
	booked atomic.Int64
	times  []time.Duration
}

// round lets all bookers book at once.
func (w *way) round(b *testing.B, account bookingstest.Account) {
	start := time.Now()
	if err := w.bookAll(b.Context(), account.Request); err != nil {
		b.Error(err)
	}
	w.times = append(w.times, time.Since(start))
}

// bookAll returns the errors of all bookers.
func (w *way) bookAll(ctx context.Context, request func(reference string) *hotelstays.BookRequest) error {
	var wg sync.WaitGroup
	errs := make([]error, bookers*each)
	for i := range bookers {
		wg.Go(func() {
			for j := range each {
				outcome, err := w.book(ctx, request(fmt.Sprintf("%s-%d-%d", w.name, os.Getpid(), w.booked.Add(1))))
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

// ratio compares each round with the next round of another way, and returns the median ratio.
func (w *way) ratio(to *way) float64 {
	var ratios []float64
	for i, took := range w.times {
		ratios = append(ratios, float64(took)/float64(to.times[i]))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// BenchmarkJournal compares bookings in the journal with bookings of Client.BookAndRecover, in alternating rounds.
// The sandbox answers at once or slowly.
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
	ways, err := waysOf(clients[0], db)
	require.NoError(b, err)
	plain := ways[0]
	for _, w := range ways {
		w.round(b, s.Accounts[0]) // the token, the connections, the first look at the tables
		w.times = nil
	}
	for n := 0; b.Loop(); n++ { // each way is first, second and third equally often
		for i := range ways {
			ways[(n+i)%len(ways)].round(b, s.Accounts[0])
		}
	}
	for _, w := range ways[1:] {
		b.ReportMetric(w.ratio(plain), w.name+"/plain")
	}
	b.ReportMetric(0, "ns/op") // ns/op of a round means nothing here
}

// unlimited returns clients without rate limits, which keep a connection for each booker.
func unlimited(p bookingstest.Plan) ([]*hotelstays.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = bookers
	return p.Connect(transport, hotelstays.WithRateLimiter(testkit.NoRateLimits{}))
}

// waysOf returns the ways to book: without and with a journal.
func waysOf(client *hotelstays.Client, db *database) ([]*way, error) {
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
	return []*way{{name: "plain", book: client.BookAndRecover}, {name: "Book", book: journal.Book},
		{name: "Begin+Send", book: beginAndSend}}, err
}

// BenchmarkAccounts compares bookings of 50 accounts in one journal with bookings of one account, in alternating
// rounds.
func BenchmarkAccounts(b *testing.B) {
	for _, dialect := range dialects {
		b.Run(string(dialect), func(b *testing.B) { benchmarkAccounts(b, dialect) })
	}
}

func benchmarkAccounts(b *testing.B, dialect hotelstayssql.Dialect) {
	db := create(b, dialect)
	db.createTables(b)
	s := bookingstest.New(b, db.fleet(b, func() *sql.DB { return db.open(b) }, nil),
		hotelstaystest.Config{LedgerLimit: 1, Accounts: bookingstest.Accounts(50)})
	clients, err := unlimited(s.Plan)
	require.NoError(b, err)
	b.Cleanup(clients[0].CloseIdleConnections)
	known := map[string]*hotelstays.Client{}
	for _, client := range clients {
		known[client.Account()] = client
	}
	journal, err := hotelstayssql.NewJournal(db.DB, dialect, hotelstayssql.JournalOptions{
		Clients:   func(account string) durable.BookingClient { return known[account] },
		Keys:      []types.Secret{bookingstest.Key},
		OnOutcome: func(context.Context, *sql.Tx, *hotelstays.BookingOutcome) error { return nil },
	})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = journal.Run(ctx) })
	defer running.Wait()
	defer cancel()
	of := func(accounts int) *way {
		var next atomic.Int64
		return &way{name: fmt.Sprint("accounts-", accounts), book: func(ctx context.Context, req *hotelstays.BookRequest,
			opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
			i := int(next.Add(1)) % accounts
			req = s.Accounts[i].Request(req.CustomerReferenceNo)
			return journal.ForAccount(clients[i].Account()).Book(ctx, req, opts...)
		}}
	}
	ways := []*way{of(1), of(len(clients))}
	for _, w := range ways { // not measured: it gets the tokens
		w.round(b, s.Accounts[0])
		w.times = nil
	}
	for n := 0; b.Loop(); n++ {
		for i := range ways {
			ways[(n+i)%len(ways)].round(b, s.Accounts[0])
		}
	}
	b.ReportMetric(ways[1].ratio(ways[0]), "time-of-50/of-1")
	b.ReportMetric(0, "ns/op") // ns/op of a round means nothing here
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
	ways := []*way{{name: "plain"}, {name: "Book"}}
	round := func(w *way) {
		start := time.Now()
		for _, p := range started {
			_, err := p.Write([]byte(w.name + "\n"))
			require.NoError(b, err)
		}
		for _, p := range started {
			line, err := p.Line()
			require.NoError(b, err)
			require.Equal(b, "done", line)
		}
		w.times = append(w.times, time.Since(start))
	}
	for _, w := range ways {
		round(w)
		w.times = nil
	}
	for n := 0; b.Loop(); n++ {
		for i := range ways {
			round(ways[(n+i)%len(ways)])
		}
	}
	b.ReportMetric(ways[1].ratio(ways[0]), "Book/plain")
	for _, w := range ways {
		slices.Sort(w.times)
		b.ReportMetric(float64(processes*bookers*each)/w.times[len(w.times)/2].Seconds(), w.name+"/s")
	}
	b.ReportMetric(0, "ns/op") // ns/op of a round means nothing here
}

// rounds books a round for each line of standard input.
func rounds(p part, db *database) error {
	db.SetMaxOpenConns(bookers)
	clients, err := unlimited(p.Plan)
	if err != nil {
		return err
	}
	ways, err := waysOf(clients[0], db)
	for in := bufio.NewScanner(os.Stdin); err == nil && in.Scan(); {
		i := slices.IndexFunc(ways, func(w *way) bool { return w.name == in.Text() })
		if err = ways[i].bookAll(context.Background(), p.Accounts[0].Request); err == nil {
			_, err = os.Stdout.WriteString("done\n")
		}
	}
	return err
}

// BenchmarkFollowedOrders reads 10,000 followed orders once, on one worker, and prints the cost per order and the
// memory. The service answers at once, in this process.
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
	of := func(reference string) string { return strings.ReplaceAll(string(template), "template", reference) }
	require.NoError(b, p.Fleet.InTx(b.Context(), func(tx *sql.Tx) error {
		for i := range orders {
			var order types.Order
			text := of(many(i))
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
			found = append(found, of(reference))
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

// cpuTime returns the CPU time of this process.
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
