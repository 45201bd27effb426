// A booking is never lost and never made twice, whatever happens to requests, answers, tokens and processes.
//
// Fifty workers make bookings in virtual time against five sandboxes. Each sandbox has its own delay until QueryOrders
// shows a new order. The longest delay is just below the ten minutes of a recovery. More than half of the requests of
// Book and QueryOrders meet a fault. Processes die during a booking, and other processes continue with the stored
// recovery. In the end, chaostest.Check compares the sandboxes' ledgers with the outcomes that the workers saw.
//
// HOTELSTAYS_CHAOS_SEED repeats a run, except for the order in which the scheduler runs the workers.

package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

const chaosWorkers = 50

var chaosServices = []struct {
	visible time.Duration // QueryOrders shows a new order after this time
	config  hotelstaystest.Config
}{
	{0, hotelstaystest.Config{}},
	{20 * time.Second, hotelstaystest.Config{TLS: true}}, // HTTP/2
	{2 * time.Minute, hotelstaystest.Config{ConfirmAfter: hotelstaystest.Never}},
	{7 * time.Minute, hotelstaystest.Config{TLS: true, HTTP1Only: true}},
	{10*time.Minute - time.Second, hotelstaystest.Config{}},
}

// A request meets the first fault in the list whose probability selects the request.
func chaosFaults() (all []fault) {
	add := func(percent float64, faults ...fault) {
		for _, f := range faults {
			f.Probability, f.Times = percent/100, -1
			all = append(all, f)
		}
	}
	lost := []fault{ // no order is made, but no answer proves this to the client
		{Kind: cut}, {Kind: hotelstaystest.FaultCutBeforeRead}, {Kind: hotelstaystest.FaultResetStream},
		{Kind: hotelstaystest.FaultGarbage}, {Kind: delay, Delay: 3 * time.Minute}, status(200, `{"code":0,"data":{}}`),
		status(504, ""), status(429, "<html>"), status(503, "<html>"), status(500, ""), status(302, "<html>"), status(404, "<html>"),
		status(401, "<html>"), status(400, ""), status(200, `{"code":100009999,"msg":"no"}`),
		{Kind: hotelstaystest.FaultStatus, Status: 200, Code: types.CodeRateChanged},
	}
	made := []fault{
		{Kind: cut}, {Kind: hotelstaystest.FaultCutMidResponse}, {Kind: hotelstaystest.FaultResetStream},
		{Kind: hotelstaystest.FaultGarbage}, {Kind: hotelstaystest.FaultTruncatedBody}, {Kind: hotelstaystest.FaultEmptyBody},
		{Kind: delay, Delay: 3 * time.Minute}, {Kind: hotelstaystest.FaultSlowBody, Delay: 3 * time.Minute},
		{Kind: wrongType}, {Kind: wrongType, Field: "code"}, {Kind: wrongType, Field: "data.hotelOrder"},
		status(504, ""), status(504, `{"code":100001111,"msg":"moved"}`), status(429, "<html>"), status(500, ""), status(502, "<html>"),
	}
	for i := range made {
		made[i].Commit = true
	}
	through := []fault{ // with these faults, Book succeeds or is refused, or the client sends Book again
		{Kind: wrongType, Field: "data.hotelOrder.status"}, {Kind: hotelstaystest.FaultSlowBody, Delay: time.Minute},
		{Kind: delay, Delay: time.Minute}, {Kind: delay, Delay: 100 * time.Second}, status(401, ""), status(429, ""), status(403, ""),
		{Kind: hotelstaystest.FaultStatus, Status: 429, RetryAfter: "61"},
	}
	for _, f := range slices.Concat(lost, made, through) {
		f.Operation = hotelstays.OpBook
		add(2, f)
	}
	poll := func(percent float64, kinds ...fault) {
		for _, f := range kinds {
			f.Operation = hotelstays.OpQueryOrders
			add(percent, f)
		}
	}
	poll(15, status(503, ""))
	poll(10, fault{Kind: cut})
	poll(5, fault{Kind: hotelstaystest.FaultCutMidResponse}, fault{Kind: hotelstaystest.FaultResetStream}, status(429, ""), status(401, ""),
		fault{Kind: delay, Delay: 30 * time.Second}, fault{Kind: delay, Delay: 15 * time.Second}, fault{Kind: hotelstaystest.FaultGarbage},
		fault{Kind: hotelstaystest.FaultTruncatedBody}, status(200, `{"code":0,"data":{"orders":[{"customerReferenceNo":"another"}]}}`))
	poll(3, status(403, ""), fault{Kind: hotelstaystest.FaultEmptyBody}, fault{Kind: wrongType}, fault{Kind: wrongType, Field: "data.orders"},
		fault{Kind: wrongType, Field: "data.orders.0.status"}, fault{Kind: wrongType, Field: "data.orders.0.customerReferenceNo"},
		status(200, `{"code":0,"msg":"ok"}`), status(200, `{"code":100000500,"data":{"orders":[]}}`))
	add(20, fault{Operation: hotelstays.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 503})
	add(10, fault{Operation: hotelstays.OpTicket, Kind: cut}, fault{Operation: hotelstays.OpCheckAvail, Kind: cut})
	return all
}

type chaosService struct {
	srv    *hotelstaystest.Server
	offers []offer

	mu       sync.Mutex
	begun    map[string]int // by customer reference: how many rounds have begun
	outcomes []chaostest.Outcome
	tally    map[string]int // how often each event happened, for the log
}

// learned records the outcome of a round. The parameter number is the order's id, or empty if the round has no order.
func (s *chaosService) learned(reference string, round int, number string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[reference] = round
	s.outcomes = append(s.outcomes, chaostest.Outcome{Reference: reference, Round: round, OrderNo: number, At: time.Now()})
}

func (s *chaosService) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally[what]++
}

// process is a client and the ctx of its calls. The function kill ends this ctx, as if the process died.
type process struct {
	*hotelstays.Client
	ctx  context.Context
	kill context.CancelFunc
}

type chaosWorker struct {
	*chaosService
	t       *testing.T
	rng     *rand.Rand
	number  int
	process process
}

// start replaces the process by a new one. Two workers share an IP address and its rate limits.
func (w *chaosWorker) start() {
	if w.process.kill != nil {
		w.process.kill()
	}
	client, err := hotelstays.New(w.srv.URL, ticketOf(w.srv),
		hotelstays.WithHTTPClient(w.srv.ClientFrom(fmt.Sprintf("10.0.0.%d", 1+w.number/2))))
	if err != nil {
		panic(err)
	}
	ctx, kill := context.WithCancel(w.t.Context())
	w.process = process{client, ctx, kill}
}

func (w *chaosWorker) maybe(percent float64) bool { return w.rng.Float64()*100 < percent }

// within returns a random time up to bound. Short times are more likely.
func (w *chaosWorker) within(bound time.Duration) time.Duration {
	return time.Duration(w.rng.Float64() * w.rng.Float64() * w.rng.Float64() * float64(bound))
}

// chaosOutcome is the result of one step of a booking. If the process died, only the stored recovery is left.
type chaosOutcome struct {
	outcome *hotelstays.BookingOutcome
	err     error
	died    bool
}

// living runs f in the current process. With a probability of percent, the process dies during f.
func (w *chaosWorker) living(percent float64, f func(process) (*hotelstays.BookingOutcome, error)) chaosOutcome {
	p, dies := w.process, w.maybe(percent)
	if dies {
		defer time.AfterFunc(w.within(15*time.Minute), p.kill).Stop()
	}
	outcome, err := f(p)
	if !dies {
		return chaosOutcome{outcome: outcome, err: err}
	}
	w.count("process died")
	time.Sleep(w.within(time.Hour)) // another process starts later
	w.start()
	return chaosOutcome{died: true}
}

// store returns the recovery as JSON. If the current process dies, the next process loads this JSON.
func (w *chaosWorker) store(r *hotelstays.BookingRecovery) []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return text
}

func (w *chaosWorker) load(text []byte) *hotelstays.BookingRecovery {
	r := &hotelstays.BookingRecovery{}
	if err := json.Unmarshal(text, r); err != nil {
		panic(err)
	}
	return r
}

// booking makes one booking until its outcome is final.
func (w *chaosWorker) booking(req *hotelstays.BookRequest) {
	// With the reference as Trace-Id, the test finds the requests in the ledger.
	trace := hotelstays.WithTraceID(req.CustomerReferenceNo)
	for round := 1; ; {
		saved := w.store(w.process.NewBookingRecovery(req, trace)) // before Book is sent
		how := w.rng.IntN(3)
		result := w.living(10, func(p process) (*hotelstays.BookingOutcome, error) {
			if how == 0 {
				return p.BookAndRecover(p.ctx, req, trace)
			}
			resp, err := p.Book(p.ctx, req, trace)
			if err != nil {
				return nil, err
			}
			return &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: resp.HotelOrder}, nil
		})
		var unknown *hotelstays.OutcomeUnknownError
		var api *hotelstays.APIError
		switch {
		case result.died:
			result.outcome = w.recover(saved, trace, how == 1)
		case errors.As(result.err, &unknown):
			w.count("unknown outcome")
			result.outcome = w.recover(saved, trace, how == 1)
		case errors.As(result.err, &api) && api.Operation == hotelstays.OpBook:
			w.count(fmt.Sprintf("refused %d", api.Code))
			w.learned(req.CustomerReferenceNo, round, "")
			return
		case result.err != nil: // nothing was sent: there was no token, or no slot
			var failed *hotelstays.TransportError
			if !errors.As(result.err, &failed) || failed.Sent {
				panic(fmt.Sprintf("a Book that is neither refused nor unknown nor unsent: %v", result.err))
			}
			w.count("not sent")
			time.Sleep(w.within(time.Minute))
			continue
		case result.outcome.State == hotelstays.BookingUnverified:
			result.outcome = w.recover(w.store(result.outcome.Recovery), trace, how == 1)
		}
		if result.outcome.State == hotelstays.BookingFound {
			w.count("found")
			w.learned(req.CustomerReferenceNo, round, result.outcome.Order.PlatformReferenceNo)
			return
		}
		w.count("absent")
		w.learned(req.CustomerReferenceNo, round, "")
		if round == 4 || w.maybe(20) || !w.available(req) {
			return
		}
		round++
		w.count("booked again")
	}
}

// available reports whether the offer can still be booked. The worker calls available before another round.
func (w *chaosWorker) available(req *hotelstays.BookRequest) bool {
	for {
		resp, err := w.process.CheckAvail(w.process.ctx, &hotelstays.CheckAvailRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID})
		if err == nil {
			return resp.Available()
		}
		time.Sleep(time.Second)
	}
}

// recover continues until the booking is found or absent, in as many processes as needed. It calls StepRecovery, as a job
// queue does, or RecoverBooking, which waits.
func (w *chaosWorker) recover(saved []byte, opt hotelstays.CallOption, bySteps bool) *hotelstays.BookingOutcome {
	for range 1000 {
		result := w.living(15, func(p process) (*hotelstays.BookingOutcome, error) {
			recovery := w.load(saved)
			if !bySteps {
				return p.RecoverBooking(p.ctx, recovery, opt)
			}
			outcome, err := p.StepRecovery(p.ctx, recovery, opt)
			// In 10 % of the steps, the recovery is not stored here. If the process then dies, the next process continues
			// with the older recovery.
			if err == nil && w.maybe(90) {
				saved = w.store(outcome.Recovery)
				if outcome.State == hotelstays.BookingOpen || outcome.State == hotelstays.BookingUnverified {
					sleep(p.ctx, time.Until(outcome.Recovery.NextPoll)+w.within(time.Minute))
				}
			}
			return outcome, err
		})
		if result.died {
			continue
		}
		if result.err != nil {
			panic(fmt.Sprintf("a recovery failed, although its process lives: %v", result.err))
		}
		saved = w.store(result.outcome.Recovery)
		switch result.outcome.State {
		case hotelstays.BookingFound, hotelstays.BookingAbsent:
			return result.outcome
		case hotelstays.BookingUnverified:
			w.count("unverified")
			sleep(w.process.ctx, w.within(10*time.Minute))
		}
	}
	panic("a recovery does not end")
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (w *chaosWorker) work(n int) {
	w.start()
	defer func() { w.process.kill() }()
	for i := range n {
		reference := fmt.Sprintf("ref-%02d-%04d", w.number, i)
		chosen := w.offers[w.rng.IntN(len(w.offers))]
		req := chosen.Request(reference)
		req.Expect = &chosen.RoomRatePkg
		req.Guests[0].LastName = fmt.Sprintf("%02d%04d", w.number, i)
		w.booking(req)
		if w.maybe(3) {
			w.count("tokens revoked")
			w.srv.RevokeTokens()
		}
		if w.maybe(5) {
			w.start()
		}
	}
}

func newChaosService(t *testing.T, seed uint64, visible time.Duration, config hotelstaystest.Config) *chaosService {
	config.Seed, config.LateVisibility, config.LedgerLimit = seed, visible, 1_000_000
	w := newWorld(t, config)
	s := &chaosService{srv: w.Server, begun: map[string]int{}, tally: map[string]int{}}
	for hotel := range 3 {
		s.offers = append(s.offers, findOffer(t, w.Server, w.client, hotel))
	}
	for _, f := range chaosFaults() {
		w.Inject(f)
	}
	return s
}

func TestBookingsSurviveFaultsAndDyingProcesses(t *testing.T) {
	t.Parallel()
	seed, bookings := chaostest.Seed(), howMany(t, "bookings", 5000, 100, 100)
	t.Logf("HOTELSTAYS_CHAOS_SEED=%d", seed)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var services []*chaosService
		for i, s := range chaosServices {
			services = append(services, newChaosService(t, seed+uint64(i), s.visible, s.config))
		}
		var wg sync.WaitGroup
		for n := range chaosWorkers {
			w := &chaosWorker{chaosService: services[n%len(services)], t: t, number: n, rng: rand.New(rand.NewPCG(seed, uint64(n)))}
			share := bookings / chaosWorkers
			if n < bookings%chaosWorkers {
				share++
			}
			wg.Go(func() { w.work(share) })
		}
		wg.Wait()

		total, ended, orders, books, polls := map[string]int{}, 0, 0, 0, 0
		for _, s := range services {
			assert.NoError(t, chaostest.Check(s.srv.Ledger(), s.begun, s.outcomes))
			for what, n := range s.tally {
				total[what] += n
			}
			ended += len(s.begun)
			orders += len(s.srv.Ledger().Orders())
			books += s.srv.Ledger().Count(hotelstays.OpBook)
			polls += s.srv.Ledger().Count(hotelstays.OpQueryOrders)
		}
		assert.Equal(t, bookings, ended)
		t.Logf("%d bookings, %d orders, %d requests of Book, %d of QueryOrders, in %s of virtual time", ended, orders, books, polls,
			time.Since(start))
		for _, what := range slices.Sorted(maps.Keys(total)) {
			t.Logf("%6d %s", total[what], what)
		}
	})
}

const checkIn, checkOut = testkit.CheckIn, testkit.CheckOut

type offer = testkit.Offer

var (
	twoAdults, ticketOf, findOffer = testkit.TwoAdults, testkit.TicketOf, testkit.FindOffer
	status, howMany                = testkit.Status, testsize.Of[int]
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a sandbox, a client and an offer in one bubble.
type world struct {
	*hotelstaystest.Server
	client *hotelstays.Client
	offer  offer
}

func newWorld(t *testing.T, config ...hotelstaystest.Config) *world {
	srv, client := testkit.NewSandbox(t, config...)
	return &world{srv, client, findOffer(t, srv, client, 0)}
}

type fault = hotelstaystest.Fault

const (
	cut       = hotelstaystest.FaultCut
	delay     = hotelstaystest.FaultDelay
	wrongType = hotelstaystest.FaultWrongType
)
