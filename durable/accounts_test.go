package durable_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// platform is an Engine of many accounts. Its service makes each order immediately.
type platform struct {
	*durable.Engine[*memstore.Tx]

	t     *testing.T
	store *memstore.Store
	log   logText
	hangs sync.Map      // accounts whose Book gets no answer until its ctx ends
	takes time.Duration // the duration of a Book
	hang  chan struct{} // if set, OnOutcome lasts until this channel is closed
	known sync.Map      // accounts that have a client
	mu    sync.Mutex
	ended []string // account and reference of each call of OnOutcome
	asked []string // account and references of each QueryOrders
	books atomic.Int32
}

type tenant struct {
	*hotelstays.Client

	p    *platform
	name string
}

func (c tenant) Account() string { return c.name }

func (c tenant) NewBookingRecovery(req *hotelstays.BookRequest, opts ...hotelstays.CallOption) *hotelstays.BookingRecovery {
	recovery := c.Client.NewBookingRecovery(req, opts...)
	recovery.Fingerprint = c.name
	return recovery
}

func (c tenant) BookAndRecover(ctx context.Context, req *hotelstays.BookRequest,
	_ ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	c.p.books.Add(1)
	if _, hangs := c.p.hangs.Load(c.name); hangs {
		<-ctx.Done()
		recovery := c.NewBookingRecovery(req)
		recovery.EndedAt, recovery.NextPoll = time.Now(), time.Now()
		return &hotelstays.BookingOutcome{State: hotelstays.BookingOpen, Recovery: recovery}, &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: ctx.Err()}
	}
	time.Sleep(c.p.takes)
	order := &types.Order{CustomerReferenceNo: req.CustomerReferenceNo, PlatformReferenceNo: c.name}
	return &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Recovery: c.NewBookingRecovery(req)}, nil
}

func (c tenant) QueryOrders(_ context.Context, req *hotelstays.QueryOrdersRequest,
	_ ...hotelstays.CallOption) (*hotelstays.QueryOrdersResponse, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.asked = append(c.p.asked, fmt.Sprint(c.name, " ", req.CustomerReferenceNos))
	return &hotelstays.QueryOrdersResponse{}, nil
}

func newPlatform(t *testing.T, accounts ...string) *platform {
	p := &platform{t: t, store: memstore.New(), log: logText{t: t}}
	for _, account := range accounts {
		p.known.Store(account, nil)
	}
	client := testkit.ClientThrough(t, testkit.Saying(`{"code": 0, "data": {"orders": []}}`))
	var err error
	p.Engine, err = durable.NewEngine(p.store, durable.Options[*memstore.Tx]{
		Clients: func(account string) durable.BookingClient {
			if _, is := p.known.Load(account); is {
				return tenant{client, p, account}
			}
			return (*hotelstays.Client)(nil) // as a map[string]*hotelstays.Client does for an unknown account
		},
		OnOutcome: func(_ context.Context, _ *memstore.Tx, outcome *hotelstays.BookingOutcome) error {
			if p.hang != nil {
				<-p.hang
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.ended = append(p.ended, outcome.Recovery.Fingerprint+" "+outcome.Recovery.CustomerReferenceNo)
			return nil
		},
		Keys:   []types.Secret{types.NewSecret("a key of thirty-two random bytes")},
		Logger: slog.New(slog.NewTextHandler(&p.log, nil))})
	require.NoError(t, err)
	return p
}

// begin commits a booking. Nobody calls Send, so a worker sends the booking two minutes later.
func (p *platform) begin(account, reference string) {
	of := p.ForAccount(account)
	require.NoError(p.t, p.store.InTx(p.t.Context(), false, func(ctx context.Context, tx *memstore.Tx) error {
		return of.BeginTx(ctx, tx, requestOf(reference))
	}))
}

func (p *platform) run() (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); assert.NoError(p.t, p.Run(ctx, p.store)) }()
	return func() { cancel(); <-done }
}

func (p *platform) outcomes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.ended...)
}

func (p *platform) listed() (listed []string) {
	for b, err := range p.List(p.t.Context()) {
		require.NoError(p.t, err)
		listed = append(listed, b.Account()+" "+b.Recovery.CustomerReferenceNo)
	}
	return listed
}

func TestTwoAccountsMayUseTheSameReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform(t, "a", "b")
		defer p.run()()
		a, b := p.ForAccount("a"), p.ForAccount("b")
		changed, stop := b.Watch("ref-1")
		defer stop()
		ofAll, stopAll := p.Watch("ref-1")
		defer stopAll()
		p.begin("a", "ref-1")
		p.begin("b", "ref-1")
		assert.Equal(t, []string{"a ref-1", "b ref-1"}, p.listed())
		outcome, err := a.Send(t.Context(), "ref-1")
		require.NoError(t, err)
		assert.Equal(t, "a", outcome.Order.PlatformReferenceNo)
		assert.Empty(t, changed, "another account's booking has ended")
		assert.Len(t, ofAll, 1)
		<-ofAll
		require.ErrorIs(t, a.Abandon(t.Context(), "ref-1"), durable.ErrNotBegun)
		assert.Equal(t, []string{"b ref-1"}, p.listed())
		time.Sleep(3 * time.Minute)
		assert.Len(t, changed, 1)
		assert.Len(t, ofAll, 1)
		assert.Equal(t, []string{"a ref-1", "b ref-1"}, p.outcomes())
	})
}

func TestWorkersDoNotChangeRowsOfAnUnknownAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform(t, "a", "b")
		p.begin("b", "ref-1")
		p.known.Delete("b")
		stop := p.run()
		id := durable.ID{Account: "b", Kind: durable.KindBooking, Reference: "ref-1"}
		before, err := p.store.Read(t.Context(), id)
		require.NoError(t, err)
		p.begin("a", "ref-1")
		time.Sleep(9 * time.Minute)
		after, err := p.store.Read(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, before, after)
		assert.Equal(t, []string{"a ref-1"}, p.outcomes())
		assert.Equal(t, []string{"b ref-1"}, p.listed())
		assert.Equal(t, 2, strings.Count(p.log.String(), "account without a client"), p.log.String())
		assert.Contains(t, p.log.String(), "account=b")
		b := p.ForAccount("b")
		require.NoError(t, p.ForAccount("a").Wake(t.Context(), "ref-1"))
		assert.NotContains(t, p.log.String(), "Wake")
		require.NoError(t, b.Wake(t.Context(), "ref-9"))
		assert.Contains(t, p.log.String(), "check that the account is the result of Client.Account\" account=b reference=ref-9")
		_, err = b.Send(t.Context(), "ref-1")
		require.ErrorIs(t, err, durable.ErrUnknownAccount)
		_, err = b.Book(t.Context(), requestOf("ref-2"))
		require.ErrorIs(t, err, durable.ErrUnknownAccount)
		p.known.Store("b", nil)
		time.Sleep(2 * time.Second)
		assert.Equal(t, []string{"a ref-1", "b ref-1"}, p.outcomes())
		p.begin("b", "ref-2")
		time.Sleep(5 * time.Minute)
		p.begin("b", "ref-4")
		p.known.Delete("b")
		time.Sleep(3 * time.Minute)
		assert.Equal(t, 3, strings.Count(p.log.String(), "account without a client"), "the account is unknown again: %s", &p.log)
		require.NoError(t, p.ForAccount("b").Abandon(t.Context(), "ref-4"))
		p.known.Store("b", nil)
		stop()

		p.begin("b", "ref-3")
		p.known.Delete("b")
		require.NoError(t, p.ForAccount("b").Abandon(t.Context(), "ref-3"))
		assert.Empty(t, p.listed())
	})
}

// After Run has read the row of the account, Clients no longer returns a client.
func TestRowsWaitIfTheirAccountIsNoLongerInOptionsClients(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.book, e.orders = found, orderOne
		e.begin("ref-1")
		calls := 0
		e.reopen(func(o *options) {
			o.Client, o.Clients = nil, func(string) durable.BookingClient {
				if calls++; calls == 2 {
					return nil
				}
				return e
			}
		})
		time.Sleep(3 * time.Minute)
		e.runFor(2 * time.Minute)
		assert.Equal(t, []durable.Ending{durable.EndingFound}, e.outcomes)
		assert.NotContains(t, e.log.String(), "level=ERROR")
	})
}

func TestMethodsForOneBookingFailWithoutForAccount(t *testing.T) {
	p := newPlatform(t, "a")
	_, sendErr := p.Send(t.Context(), "ref-1")
	_, bookErr := p.Book(t.Context(), requestOf("ref-1"))
	for name, err := range map[string]error{
		"BeginTx": p.BeginTx(t.Context(), nil, requestOf("ref-1")), "Send": sendErr, "Book": bookErr,
		"CancelTx": p.CancelTx(t.Context(), nil, toCancel), "Wake": p.Wake(t.Context(), "ref-1"), "Retry": p.Retry(t.Context(), "ref-1"),
		"Abandon": p.Abandon(t.Context(), "ref-1"), "Unfollow": p.Unfollow(t.Context(), "ref-1"),
	} {
		assert.ErrorContains(t, err, "call ForAccount first", name)
	}
}

func TestAccountsWithManyRowsOrHangingCallsDelayNoOtherAccount(t *testing.T) {
	for name, disturb := range map[string]func(p *platform){
		"three accounts have many rows": func(p *platform) {
			p.takes = 3 * time.Second
			for _, account := range []string{"a", "b", "z"} {
				for i := range 65 { // after 20 seconds, more rows are still due than one claim reads
					p.begin(account, fmt.Sprintf("ref-%04d", i))
				}
			}
		},
		"the calls of three accounts hang": func(p *platform) {
			for _, account := range []string{"a", "b", "z"} {
				p.hangs.Store(account, nil)
				for i := range 50 {
					p.begin(account, fmt.Sprintf("ref-%04d", i))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlatform(t, "a", "b", "quiet", "z")
				disturb(p)
				time.Sleep(20 * time.Second)
				p.begin("quiet", "ref-1")
				defer p.run()()
				time.Sleep(2*time.Minute + durable.ClockMargin + 4*time.Second)
				assert.Contains(t, p.outcomes(), "quiet ref-1")
				assert.Greater(t, p.books.Load(), int32(4), "the other accounts have workers, too")
			})
		})
	}
}

// The scheduler of a database calls Work. An account gets at most half of the scheduler's free workers. Rows of an
// unknown account wait.
func TestAccountsShareTheWorkersOfAScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 5
		p := newPlatform(t, "a", "b")
		p.takes = time.Hour
		step := func(account string, i int) time.Duration {
			row, err := p.store.Read(t.Context(), durable.ID{Account: account, Kind: durable.KindBooking, Reference: fmt.Sprint("ref-", i)})
			require.NoError(t, err)
			due, err := p.Work(t.Context(), row, workers)
			require.NoError(t, err)
			return time.Until(due)
		}
		var working sync.WaitGroup
		var waits atomic.Int32
		for _, account := range []string{"a", "b"} {
			for i := range workers {
				p.begin(account, fmt.Sprint("ref-", i))
				working.Go(func() {
					if step(account, i) == time.Second {
						waits.Add(1)
					}
				})
			}
			synctest.Wait()
		}
		assert.EqualValues(t, 2+4, waits.Load(), "the other rows are due again in a second")
		assert.EqualValues(t, 3+1, p.books.Load())
		p.known.Delete("a")
		for i := range workers {
			assert.Equal(t, time.Minute, step("a", i))
		}
		assert.Equal(t, 1, strings.Count(p.log.String(), "account without a client"), p.log.String())
		p.known.Store("a", nil)
		working.Wait()
		for i := range workers {
			assert.Negative(t, step("a", i), "the booking has ended")
		}
	})
}

// Run begins its second search for due rows behind the account that got the last worker.
func TestRunPollsForEachAccountInASeparateRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform(t, "a", "b")
		for _, account := range []string{"a", "b"} {
			p.hangs.Store(account, nil)
			p.begin(account, "ref-1")
			p.begin(account, "ref-2")
			go func() { _, _ = p.ForAccount(account).Send(t.Context(), "ref-1") }()
			go func() { _, _ = p.ForAccount(account).Send(t.Context(), "ref-2") }()
		}
		time.Sleep(3 * time.Minute)
		var behind []string
		q := queue{Store: p.store, look: func(_ context.Context, look durable.DueLook) { behind = append(behind, look.After) }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		require.NoError(t, p.Run(ctx, q))
		assert.ElementsMatch(t, []string{"a [ref-1 ref-2]", "b [ref-1 ref-2]"}, p.asked)
		assert.Equal(t, []string{"", "b"}, behind[:2])
	})
}

func TestHangingAndTheLogNameTheAccountOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		p := newPlatform(t, "a")
		p.hang = end
		p.begin("a", "ref-1")
		go func() { _, _ = p.ForAccount("a").Send(t.Context(), "ref-1") }()
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"OnOutcome ref-1 of account a"}, p.Hanging())
		assert.Contains(t, p.log.String(), "account=a reference=ref-1")
		close(end)
	})
}
