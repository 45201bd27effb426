// Recovery after a Book with an unknown outcome. All times are seconds of the ledger's clock.

package hotelstays_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

// The faults that make a Book's outcome unknown.
var (
	bookLost = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut}               // nothing was booked
	bookMade = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true} // the order exists
)

// allPolls lists the seconds at which a whole recovery polls, counted from the end of Book.
var allPolls = []float64{0, 30, 90, 210, 450, 600}

// pollFault returns f as a fault that hits every poll.
func pollFault(f hotelstaystest.Fault) hotelstaystest.Fault {
	f.Operation, f.Times = hotelstays.OpQueryOrders, -1
	return f
}

func pollAnswer(httpStatus int, body string) hotelstaystest.Fault {
	return pollFault(status(httpStatus, body))
}

type recoveryWorld struct {
	*hotelstaystest.Server
	client *hotelstays.Client
	offer  offer
	cred   hotelstays.TicketCredential
}

func newRecoveryWorld(t *testing.T, config ...hotelstaystest.Config) *recoveryWorld {
	srv, client := newSandbox(t, config...)
	return &recoveryWorld{srv, client, findOffer(t, srv, client, 0), ticketOf(srv)}
}

func (w *recoveryWorld) restarted(t *testing.T) *hotelstays.Client {
	return newClient(t, w.Server, w.cred)
}

// logged returns another client and its log.
func (w *recoveryWorld) logged(t *testing.T) (*hotelstays.Client, *strings.Builder) {
	log := &strings.Builder{}
	return newClient(t, w.Server, w.cred, hotelstays.WithLogger(slog.New(slog.NewTextHandler(log, nil)))), log
}

// inject injects the faults and skips zero values.
func (w *recoveryWorld) inject(faults ...hotelstaystest.Fault) {
	for _, fault := range faults {
		if fault.Kind != "" {
			w.Inject(fault)
		}
	}
}

func (w *recoveryWorld) bookEnded(t *testing.T) time.Time {
	books := w.Ledger().Requests(hotelstays.OpBook)
	require.Len(t, books, 1, "Book is sent once")
	return books[0].Done
}

// polls returns the arrival times of the polls, in seconds after the time from. The attempts of one poll share a Trace-Id
// and count once.
func (w *recoveryWorld) polls(from time.Time) []float64 {
	var at []float64
	seen := map[string]bool{}
	for _, r := range w.Ledger().Requests(hotelstays.OpQueryOrders) {
		if !seen[r.TraceID] {
			seen[r.TraceID] = true
			at = append(at, r.Arrived.Sub(from).Seconds())
		}
	}
	return at
}

func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// at runs f after some seconds, unless seconds is 0 or the test ends earlier.
func at(t *testing.T, seconds float64, f func()) {
	if seconds == 0 {
		return
	}
	timer := time.AfterFunc(time.Duration(seconds*float64(time.Second)), f)
	t.Cleanup(func() { timer.Stop() })
}

// waking returns WithWakeup with a channel that receives a value after each of these seconds, or with a closed channel.
func waking(t *testing.T, closed bool, seconds []float64) hotelstays.CallOption {
	wakeup := make(chan struct{}, 1)
	for _, second := range seconds {
		at(t, second, func() { wakeup <- struct{}{} })
	}
	if closed {
		close(wakeup)
	}
	return hotelstays.WithWakeup(wakeup)
}

func stored(t *testing.T, r *hotelstays.BookingRecovery) *hotelstays.BookingRecovery {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	again := &hotelstays.BookingRecovery{}
	require.NoError(t, json.Unmarshal(text, again))
	require.Equal(t, r, again, "a recovery is the same after JSON")
	return again
}

func TestRecoveryPollsOnSchedule(t *testing.T) {
	const (
		never = time.Duration(0)
		s     = time.Second
	)
	for _, tc := range []struct {
		name    string
		visible time.Duration // the time from Book until the order is visible; never: nothing was booked
		book    hotelstaystest.Fault
		poll    hotelstaystest.Fault
		heals   float64 // the second at which polls stop failing
		wakeups []float64
		closed  bool // the wake-up channel is closed
		polls   []float64
		ends    float64
		state   hotelstays.BookingState
	}{
		{name: "nothing was booked",
			polls: allPolls, ends: 600, state: hotelstays.BookingAbsent},
		{name: "visible exactly at the time of a poll", visible: 210 * s, polls: []float64{0, 30, 90, 210}, ends: 210,
			state: hotelstays.BookingFound},
		{name: "visible just after a poll", visible: 210*s + 1, polls: []float64{0, 30, 90, 210, 450}, ends: 450, state: hotelstays.BookingFound},
		{name: "Book takes 150 s",
			book:  hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 150 * s},
			polls: allPolls, ends: 600, state: hotelstays.BookingAbsent},

		{name: "each poll takes 15 s", poll: pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 15 * s}),
			polls: allPolls, ends: 615, state: hotelstays.BookingAbsent},
		{name: "each poll times out", poll: pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour}),
			polls: allPolls, ends: 620, state: hotelstays.BookingUnverified},

		{name: "each wake-up causes a poll", wakeups: []float64{10, 500},
			polls: []float64{0, 10, 30, 90, 210, 450, 500, 600}, ends: 600, state: hotelstays.BookingAbsent},
		{name: "a wake-up after the order has become visible", visible: 100 * s, wakeups: []float64{120},
			polls: []float64{0, 30, 90, 120}, ends: 120, state: hotelstays.BookingFound},
		{name: "a wake-up during a poll", wakeups: []float64{35},
			poll:  pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 15 * s}),
			polls: []float64{0, 30, 45, 90, 210, 450, 600}, ends: 615, state: hotelstays.BookingAbsent},
		{name: "a closed wake-up channel", closed: true,
			polls: allPolls, ends: 600, state: hotelstays.BookingAbsent},
		// A poll that begins before the end of the schedule and ends after it proves no absence, because the order
		// may have become visible in between. Another poll follows.
		{name: "a poll begins before the end of the schedule and ends after it", wakeups: []float64{590},
			poll:  hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: 15 * s, Skip: 5, Times: 1},
			polls: []float64{0, 30, 90, 210, 450, 590, 605}, ends: 605, state: hotelstays.BookingAbsent},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			w := newRecoveryWorld(t, hotelstaystest.Config{LateVisibility: tc.visible})
			switch {
			case tc.book.Kind != "":
				w.Inject(tc.book)
			case tc.visible == never:
				w.Inject(bookLost)
			default:
				w.Inject(bookMade)
			}
			w.inject(tc.poll)
			at(t, tc.heals, w.ClearFaults)
			log, logged := w.logged(t)

			outcome, err := log.BookAndRecover(t.Context(), w.offer.Request("ref-1"), waking(t, tc.closed, tc.wakeups))

			require.NoError(t, err)
			level := map[bool]string{true: "WARN", false: "INFO"}[tc.state == hotelstays.BookingUnverified]
			assert.Contains(t, logged.String(), fmt.Sprintf(`level=%s msg="recovery ended" account=%s state=%s reference=ref-1 polls=%d`+"\n",
				level, log.Account(), tc.state, outcome.Recovery.Polls))
			assert.Equal(t, 1, strings.Count(logged.String(), `msg="recovery ended"`)+strings.Count(logged.String(), `msg="recovery interrupted"`))
			for _, poll := range w.Ledger().Requests(hotelstays.OpQueryOrders) {
				assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(`{"customerReferenceNos":["ref-1"]}`))), poll.BodySHA256,
					"a poll asks for the reference, and nothing else")
			}
			ended := w.bookEnded(t)
			assert.Equal(t, tc.ends, time.Since(ended).Seconds())
			assert.Equal(t, tc.state, outcome.State)
			polls := w.Ledger().Requests(hotelstays.OpQueryOrders)
			deciding := map[bool]string{true: "", false: polls[len(polls)-1].Header.Get("Request-Id")}
			assert.Equal(t, deciding[tc.state == hotelstays.BookingUnverified], outcome.Meta.RequestID)
			assert.True(t, ended.Equal(outcome.Recovery.EndedAt))
			orders := w.Ledger().OrdersFor("ref-1")
			if tc.state == hotelstays.BookingFound {
				require.Len(t, orders, 1)
				require.NotNil(t, outcome.Order)
				assert.Equal(t, orders[0].PlatformReferenceNo, outcome.Order.PlatformReferenceNo)
			} else {
				assert.Nil(t, outcome.Order)
				assert.Empty(t, orders)
				assert.Error(t, outcome.Err, "the error of the last poll, or of Book")
			}
			time.Sleep(time.Hour)
			assert.Equal(t, tc.polls, w.polls(ended), "no poll follows the end")
		})
	}
}

// If the recovery cannot be saved before Book, the client sends nothing. If it cannot be saved after a poll, the client
// returns the outcome so far with an error. While the outcome is unknown, the error is an *OutcomeUnknownError.
func TestRecoveryEndsIfItCannotBeSaved(t *testing.T) {
	errDisk := errors.New("disk full")
	doubtful := hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 200, Code: 100009999}
	for _, tc := range []struct {
		name  string
		book  hotelstaystest.Fault
		saves int // the number of saves that succeed; after 0 nothing is sent
		polls []float64
		state hotelstays.BookingState
	}{
		{"the save before Book fails", bookMade, 0, nil, hotelstays.BookingOpen},
		{"the save after the first poll fails", bookLost, 1, []float64{0}, hotelstays.BookingOpen},
		{"the save after the poll that finds the order fails", bookMade, 1, []float64{0}, hotelstays.BookingFound},
		{"the save after the last poll fails", bookLost, 6, allPolls, hotelstays.BookingAbsent},
		{"the save after the poll that verifies a refusal fails", doubtful, 1, []float64{0}, hotelstays.BookingAbsent},
		{"the save after a forbidden poll fails", bookLost, 1, []float64{0}, hotelstays.BookingUnverified},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			w := newRecoveryWorld(t)
			w.Inject(tc.book)
			if tc.state == hotelstays.BookingUnverified {
				w.Inject(pollAnswer(403, ""))
			}
			saves := 0
			outcome, err := w.client.BookAndRecover(t.Context(), w.offer.Request("ref-1"),
				hotelstays.WithSaveRecovery(func(context.Context, *hotelstays.BookingRecovery) error {
					if saves++; saves > tc.saves {
						return errDisk
					}
					return nil
				}))
			require.ErrorIs(t, causeOf(err), errDisk)
			assert.Equal(t, tc.saves+1, saves)
			if tc.saves == 0 {
				assert.Zero(t, w.Ledger().Count(hotelstays.OpBook))
				assert.Nil(t, outcome)
				assert.ErrorContains(t, err, "nothing was sent")
				return
			}
			assert.Equal(t, tc.polls, w.polls(w.bookEnded(t)))
			require.NotNil(t, outcome)
			assert.Equal(t, tc.state, outcome.State)
			known := tc.state == hotelstays.BookingFound || tc.state == hotelstays.BookingAbsent
			assert.Equal(t, !known, errors.As(err, new(*hotelstays.OutcomeUnknownError)), "%v", err)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newRecoveryWorld(t)
		outcome, err := w.client.RecoverBooking(t.Context(), w.client.NewBookingRecovery(w.offer.Request("ref-1")),
			hotelstays.WithSaveRecovery(func(context.Context, *hotelstays.BookingRecovery) error { return errDisk }))
		require.ErrorIs(t, causeOf(err), errDisk)
		assert.Equal(t, hotelstays.BookingOpen, outcome.State)
	})
}

// With StepRecovery, another process reads the recovery from JSON for each poll.
func TestResumedRecoverySkipsMissedPolls(t *testing.T) {
	for _, tc := range []struct {
		died, back float64
		polls      []float64
		ends       float64
	}{
		{10, 29, allPolls, 600},
		{10, 31, []float64{0, 31, 90, 210, 450, 600}, 600},
		{31, 300, []float64{0, 30, 300, 450, 600}, 600}, // no process runs at the time of two polls
		{31, 599, []float64{0, 30, 599, 600}, 600},
		{451, 601, []float64{0, 30, 90, 210, 450, 601}, 601},
		{31, 86400, []float64{0, 30, 86400}, 86400}, // the process starts after the last poll of the schedule
	} {
		for _, step := range []bool{false, true} {
			inBubble(t, fmt.Sprintf("no process from %g to %g, StepRecovery %t", tc.died, tc.back, step), func(t *testing.T) {
				w := newRecoveryWorld(t)
				w.Inject(bookLost)
				life := within(t, time.Duration(tc.died*float64(time.Second))+time.Millisecond)
				outcome, err := w.client.BookAndRecover(life, w.offer.Request("ref-1"))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, hotelstays.BookingOpen, outcome.State)

				time.Sleep(time.Until(w.bookEnded(t).Add(time.Duration(tc.back * float64(time.Second)))))
				proceed := (*hotelstays.Client).RecoverBooking
				if step {
					proceed = (*hotelstays.Client).StepRecovery
				}
				for outcome.State == hotelstays.BookingOpen {
					recovery := stored(t, outcome.Recovery)
					time.Sleep(time.Until(recovery.NextPoll)) // returns immediately if the poll is due
					outcome, err = proceed(w.restarted(t), t.Context(), recovery)
					require.NoError(t, err)
				}
				assert.Equal(t, hotelstays.BookingAbsent, outcome.State)
				assert.Equal(t, tc.ends, time.Since(w.bookEnded(t)).Seconds())
				assert.Equal(t, tc.polls, w.polls(w.bookEnded(t)))
			})
		}
	}
}

func TestStepRecoveryPollsAtMostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRecoveryWorld(t)
		w.Inject(bookLost)
		req := w.offer.Request("ref-1")
		recovery := w.client.NewBookingRecovery(req)
		_, err := w.client.Book(t.Context(), req)
		require.Error(t, err)
		start := time.Now()
		step := func() *hotelstays.BookingOutcome {
			outcome, err := w.client.StepRecovery(t.Context(), recovery)
			require.NoError(t, err)
			require.Same(t, recovery, outcome.Recovery)
			return outcome
		}

		step()
		for range 3 {
			before := *recovery
			assert.Equal(t, hotelstays.BookingOpen, step().State)
			assert.Equal(t, before, *recovery, "a step before its time changes nothing")
		}
		assert.Equal(t, []float64{0}, w.polls(start))

		time.Sleep(10 * time.Second)
		next := recovery.NextPoll
		recovery.NextPoll = time.Now()
		step()
		step()
		assert.Equal(t, []float64{0, 10}, w.polls(start), "woken once")
		assert.Equal(t, next, recovery.NextPoll, "an early poll does not change the schedule")

		time.Sleep(time.Until(next) - time.Nanosecond)
		step()
		assert.Len(t, w.polls(start), 2)
		time.Sleep(time.Nanosecond)
		step()
		assert.Equal(t, []float64{0, 10, 30}, w.polls(start))
	})
}

// If a client of another environment or account polled, the empty answer would look like absence. So this client sends
// nothing, and does not change the recovery. A client also refuses an invalid recovery.
func TestRecoveryOfAnotherAccountIsRefused(t *testing.T) {
	const url = "https://api.example.test"
	client := func(url string, cred hotelstays.Credential) *hotelstays.Client {
		return clientAt(t, url, cred, noSend{t})
	}
	ticket := func(key string) hotelstays.Credential {
		return hotelstays.TicketCredential{AppKey: key, AppSecret: types.NewSecret("secret")}
	}
	oauth := func(scopes ...types.Scope) hotelstays.Credential {
		return hotelstays.OAuthCredential{ClientID: "one", ClientSecret: types.NewSecret("secret"), Scopes: scopes}
	}
	req := offer{}.Request("ref-1")
	own := client(url, ticket("one"))
	recovery := own.NewBookingRecovery(req)
	assert.NotContains(t, recovery.Fingerprint, "one")
	for name, stranger := range map[string]*hotelstays.Client{
		"another host": client("https://other.example.test", ticket("one")), "another path": client(url+"/test", ticket("one")),
		"another account": client(url, ticket("two")), "a key in capitals": client(url, ticket("ONE")),
		"an OAuth client": client(url, oauth(types.ScopeBookingRead)), "a token": client(url, bearerToken("token-1")),
	} {
		for _, proceed := range []func(*hotelstays.Client, context.Context, *hotelstays.BookingRecovery, ...hotelstays.CallOption) (
			*hotelstays.BookingOutcome, error){(*hotelstays.Client).RecoverBooking, (*hotelstays.Client).StepRecovery} {
			given := *recovery
			outcome, err := proceed(stranger, t.Context(), &given)
			assert.Equal(t, []string{"recovery.fingerprint"}, faultPaths(t, err), name)
			assert.Nil(t, outcome, name)
			assert.Equal(t, *recovery, given, name)
		}
	}
	for path, broken := range map[string]*hotelstays.BookingRecovery{
		"recovery":                     nil,
		"recovery.customerReferenceNo": own.NewBookingRecovery(nil),
		"recovery.fingerprint":         (*hotelstays.Client)(nil).NewBookingRecovery(req),
		"recovery.polls":               {CustomerReferenceNo: "ref-1", Fingerprint: recovery.Fingerprint, Polls: -1},
	} {
		_, err := own.RecoverBooking(t.Context(), broken)
		assert.Equal(t, []string{path}, faultPaths(t, err))
	}
	_, err := own.RecoverBooking(t.Context(), own.NewBookingRecovery(offer{}.Request("\xff")))
	assert.Equal(t, []string{"recovery.customerReferenceNo"}, faultPaths(t, err))
	recovery.Polls = 7 // one more poll than the schedule has
	_, err = own.RecoverBooking(t.Context(), recovery)
	assert.Equal(t, []string{"recovery.polls"}, faultPaths(t, err))
	one, another := client(url, bearerToken("token-1")), client(url, bearerToken("token-2")) // the tokens may belong to two accounts
	assert.NotEqual(t, one.NewBookingRecovery(req), another.NewBookingRecovery(req))
	rotated := hotelstays.TicketCredential{AppKey: "one", AppSecret: types.NewSecret("its next secret")}
	assert.Equal(t, own.NewBookingRecovery(req), client(url, rotated).NewBookingRecovery(req))
	both := client(url, oauth(types.ScopeBookingRead, types.ScopeBookingWrite))
	assert.Equal(t, both.NewBookingRecovery(req), client(url, oauth(types.ScopeBookingRead)).NewBookingRecovery(req))
}

// Each poll sends the market and the user of its Book, even if another client makes the poll.
func TestPollsHaveTheMarketAndUserOfTheBook(t *testing.T) {
	for _, tc := range []struct {
		name    string
		client  []hotelstays.Option // options of the client that books
		book    []hotelstays.CallOption
		resumes []hotelstays.Option // options of the client that resumes the recovery
	}{
		{"options of the client", []hotelstays.Option{hotelstays.WithMarket("AE"), hotelstays.WithUserRef("clerk")}, nil, nil},
		{"options of Book, and the next process has other options", nil, []hotelstays.CallOption{hotelstays.WithMarket("AE"),
			hotelstays.WithUserRef("clerk"), hotelstays.WithCurrency("USD")},
			[]hotelstays.Option{hotelstays.WithMarket("FR"), hotelstays.WithUserRef("nobody")}},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			srv, _ := newSandbox(t, hotelstaystest.Config{Markets: []string{"AE"}, UserRefs: map[string][]types.Scope{"clerk": allScopes,
				"nobody": nil}, LateVisibility: time.Minute})
			searching := newClient(t, srv, ticketOf(srv), hotelstays.WithMarket("AE"), hotelstays.WithUserRef("clerk"))
			o := findOffer(t, srv, searching, 0)
			srv.Inject(bookMade)
			booking := newClient(t, srv, ticketOf(srv), tc.client...)
			life := within(t, 40*time.Second)
			outcome, err := booking.BookAndRecover(life, o.Request("ref-1"), tc.book...)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, hotelstays.BookingOpen, outcome.State)

			outcome, err = newClient(t, srv, ticketOf(srv), tc.resumes...).RecoverBooking(t.Context(), stored(t, outcome.Recovery))

			require.NoError(t, err)
			assert.Equal(t, hotelstays.BookingFound, outcome.State)
			polls := srv.Ledger().Requests(hotelstays.OpQueryOrders)
			require.Len(t, polls, 3)
			for _, poll := range polls {
				assert.Equal(t, "AE", poll.Header.Get("Market"))
				assert.Equal(t, "clerk", poll.Header.Get("User-Ref"))
			}
		})
	}
}

// Only a complete answer to the last poll proves absence. TestOnlyACompleteListProvesAbsence tests which answers are complete.
func TestOnlyTheLastPollProvesAbsence(t *testing.T) {
	type row struct {
		name  string
		poll  hotelstaystest.Fault
		heals float64
		state hotelstays.BookingState
		polls []float64
	}
	var rows []row
	const empty = `{"code":0,"data":{"orders":[]}}`
	for _, answer := range []hotelstaystest.Fault{
		status(200, `{"code":0,"data":{"orders":[]},"hasMore":true}`), status(200, `{"code":0,"msg":"ok"}`),
		status(200, `{"data":{"orders":[]}}`), status(200, `{"code":"0","data":{"orders":[]}}`),
		status(200, `{"code":100000500,"data":{"orders":[]}}`), status(206, empty), status(302, empty), status(500, empty), status(500, ""),
		status(404, ""), status(400, ""), status(401, ""), status(403, ""), status(403, "<html>"), status(429, ""),
		{Kind: hotelstaystest.FaultCut}, {Kind: hotelstaystest.FaultCutMidResponse}, {Kind: hotelstaystest.FaultGarbage},
		{Kind: hotelstaystest.FaultTruncatedBody}, {Kind: hotelstaystest.FaultEmptyBody},
	} {
		name := fmt.Sprintf("%s %d %s", answer.Kind, answer.Status, answer.Body)
		last := pollFault(answer)
		last.Skip = 5 // the first five polls get an empty list
		rows = append(rows, row{name, last, 0, hotelstays.BookingUnverified, allPolls})
		// Failures of the first five polls prove nothing, and the sixth poll can still prove absence. A 403 ends the
		// polls, because the next poll would be refused, too.
		before := row{name + ", in the first five polls", pollFault(answer), 599, hotelstays.BookingAbsent, allPolls}
		if answer.Status == http.StatusForbidden {
			before.state, before.polls = hotelstays.BookingUnverified, []float64{0}
		}
		rows = append(rows, before)
	}
	for tc := range testsize.SomeOf(portionOf(t, 1, 3), rows) {
		inBubble(t, tc.name, func(t *testing.T) {
			w := newRecoveryWorld(t)
			w.inject(bookLost, tc.poll)
			at(t, tc.heals, w.ClearFaults)
			outcome, err := w.client.BookAndRecover(t.Context(), w.offer.Request("ref-1"))
			require.NoError(t, err)
			assert.Equal(t, tc.state, outcome.State)
			assert.Equal(t, tc.polls, w.polls(w.bookEnded(t)))
		})
	}
}

// When the clock is set forward, all stored times look older. The test makes the stored times older, which has the same
// effect.
func TestPollAfterAClockIsSetForwardDoesNotProveAbsence(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newRecoveryWorld(t)
		w.Inject(bookLost)
		saves := 0
		outcome, err := w.client.BookAndRecover(t.Context(), w.offer.Request("ref-1"),
			hotelstays.WithSaveRecovery(func(_ context.Context, r *hotelstays.BookingRecovery) error {
				if saves++; saves == 2 { // the first save precedes Book, and the second save follows the first poll
					r.EndedAt, r.NextPoll = r.EndedAt.Add(-time.Hour), r.NextPoll.Add(-time.Hour)
				}
				return nil
			}))
		require.NoError(t, err)
		assert.Equal(t, hotelstays.BookingAbsent, outcome.State)
		assert.Equal(t, slices.Concat([]float64{0}, allPolls), w.polls(w.bookEnded(t)))
	})
}

func TestUnverifiedBookingCanBePolledAgain(t *testing.T) {
	for state, book := range map[hotelstays.BookingState]hotelstaystest.Fault{
		hotelstays.BookingFound: bookMade, hotelstays.BookingAbsent: bookLost,
	} {
		inBubble(t, string(state), func(t *testing.T) {
			w := newRecoveryWorld(t, hotelstaystest.Config{LateVisibility: 9 * time.Minute})
			w.Inject(book)
			failing := pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage})
			failing.Skip = 5
			w.Inject(failing)
			outcome, err := w.client.BookAndRecover(t.Context(), w.offer.Request("ref-1"))
			require.NoError(t, err)
			require.Equal(t, hotelstays.BookingUnverified, outcome.State)

			outcome, err = w.restarted(t).RecoverBooking(t.Context(), stored(t, outcome.Recovery))
			require.NoError(t, err)
			require.Equal(t, hotelstays.BookingUnverified, outcome.State, "the polls still fail")
			recovery := stored(t, outcome.Recovery)
			early, err := w.client.StepRecovery(t.Context(), recovery)
			require.NoError(t, err)
			assert.Equal(t, hotelstays.BookingOpen, early.State, "a step does not poll before NextPoll")
			assert.Equal(t, 150*time.Second, time.Until(recovery.NextPoll))

			w.ClearFaults()
			outcome, err = w.restarted(t).RecoverBooking(t.Context(), recovery)
			require.NoError(t, err)
			assert.Equal(t, state, outcome.State)
			assert.Equal(t, []float64{0, 30, 90, 210, 450, 600, 600, 600}, w.polls(w.bookEnded(t)))
		})
	}
}

func TestInterruptedRecoveryReturnsARecoveryToContinueFrom(t *testing.T) {
	slow := pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 15 * time.Second})
	slowBook := hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Minute}
	garbage := pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage})
	doubt := func(httpStatus int) hotelstaystest.Fault {
		return hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: httpStatus, Code: 100009999}
	}
	for _, tc := range []struct {
		name  string
		book  hotelstaystest.Fault
		poll  hotelstaystest.Fault
		ends  float64 // the second at which ctx ends
		polls int     // the polls before ctx ends
	}{
		{"ctx ends while Book is in progress", slowBook, hotelstaystest.Fault{}, 20, 0},
		{"ctx ends during the first poll", bookLost, slow, 5, 1},
		{"ctx ends between two polls", bookLost, hotelstaystest.Fault{}, 100, 3},
		{"ctx ends during the last poll", bookLost, slow, 605, 6},
		{"ctx ends while a poll verifies a refusal", doubt(200), garbage, 60, 2},
		{"ctx ends while a poll verifies a refusal with HTTP 400", doubt(400), garbage, 60, 2},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			w := newRecoveryWorld(t)
			w.inject(tc.book, tc.poll)
			ctx, cancel := context.WithCancel(t.Context())
			at(t, tc.ends, cancel)
			start := time.Now()
			client, logged := w.logged(t)

			outcome, err := client.BookAndRecover(ctx, w.offer.Request("ref-1"))

			require.ErrorIs(t, err, context.Canceled)
			assert.Contains(t, logged.String(), `level=WARN msg="recovery interrupted" account=`+client.Account()+` state=open reference=ref-1`)
			assert.ErrorContains(t, err, `"ref-1"`)
			assert.NotContains(t, err.Error(), "safe to call again")
			assert.Equal(t, tc.ends, time.Since(start).Seconds(), "the recovery ends with ctx")
			require.NotNil(t, outcome)
			assert.Equal(t, hotelstays.BookingOpen, outcome.State)
			if tc.book.Code != 0 { // the error quotes the refusal, but errors.As does not find it
				for _, err := range []error{outcome.Err, err} {
					assert.ErrorContains(t, err, strconv.Itoa(tc.book.Code))
					assert.NotErrorAs(t, err, new(*hotelstays.APIError))
					assert.NotErrorIs(t, err, hotelstays.ErrParam)
				}
			}
			unknown := errorAs[*hotelstays.OutcomeUnknownError](t, err)
			assert.NotContains(t, []string{unknown.RequestID, unknown.TraceID}, "")
			assert.Len(t, w.polls(start), tc.polls)

			outcome, err = w.client.RecoverBooking(ctx, outcome.Recovery)
			require.ErrorIs(t, err, context.Canceled)
			require.NotNil(t, outcome)
			assert.Equal(t, hotelstays.BookingOpen, outcome.State, "no poll follows the end of ctx")
			outcome, err = w.client.StepRecovery(ctx, outcome.Recovery)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, hotelstays.BookingOpen, outcome.State)
			assert.Len(t, w.polls(start), tc.polls)
		})
	}
	inBubble(t, "ctx ends together with the answer to a poll", func(t *testing.T) {
		w := newRecoveryWorld(t)
		w.Inject(bookMade)
		ctx, cancel := context.WithCancel(t.Context())
		client := newClient(t, w.Server, w.cred, hotelstays.WithObserver(hotelstays.Observer{
			CallEnd: func(_ context.Context, call hotelstays.CallInfo) {
				if call.Operation == hotelstays.OpQueryOrders {
					cancel()
				}
			}}))
		saved := hotelstays.WithSaveRecovery(func(context.Context, *hotelstays.BookingRecovery) error { return nil })
		outcome, err := client.BookAndRecover(ctx, w.offer.Request("ref-1"), saved)
		require.NoError(t, err, "the order was found")
		assert.Equal(t, hotelstays.BookingFound, outcome.State)
	})
	inBubble(t, "ctx ends before Book", func(t *testing.T) {
		w := newRecoveryWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		outcome, err := w.client.BookAndRecover(ctx, w.offer.Request("ref-1"))
		assert.ErrorIs(t, err, context.Canceled)
		assert.Nil(t, outcome, "nothing was sent")
		assert.Zero(t, w.Ledger().Count(hotelstays.OpBook)+w.Ledger().Count(hotelstays.OpQueryOrders))
	})
}

// A refusal with a documented code, or with a code of ServiceFacts, is returned without a poll. With any other code, a
// poll must first show that there is no order.
func TestUndocumentedRefusalIsVerifiedByAPoll(t *testing.T) {
	refused := func(httpStatus, code int, commit bool) hotelstaystest.Fault {
		return hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: httpStatus, Code: code,
			Commit: commit, Times: -1}
	}
	noFault, failing := hotelstaystest.Fault{}, pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage})
	const undocumented, known = 100009999, 100001200 // known is a code in ServiceFacts
	for _, tc := range []struct {
		name  string
		book  hotelstaystest.Fault
		poll  hotelstaystest.Fault
		heals float64 // the second at which the polls stop failing
		polls []float64
		state hotelstays.BookingState // BookingOpen stands for a nil outcome, and the error is the refusal
	}{
		{"a refused parameter", refused(400, types.CodeParam, false), failing, 0, nil, hotelstays.BookingOpen},
		{"a refused credential", refused(401, types.CodeUnauthorized, false), failing, 0, nil, hotelstays.BookingOpen},
		{"the rate limit is exceeded", refused(429, types.CodeRateLimited, false), failing, 0, nil, hotelstays.BookingOpen},
		{"a duplicate booking", refused(200, types.CodeDuplicateBooking, false), failing, 0, nil, hotelstays.BookingOpen},

		{"a code in RefusalCodes", refused(200, known, false), failing, 0, nil, hotelstays.BookingOpen},
		{"a code in RefusalCodes with HTTP 500, but the order exists", refused(500, known, true), noFault, 0, []float64{0},
			hotelstays.BookingFound},

		{"an undocumented code, and no order exists", refused(200, undocumented, false), noFault, 0, []float64{0}, hotelstays.BookingOpen},
		{"an undocumented code, but the order exists", refused(200, undocumented, true), noFault, 0, []float64{0}, hotelstays.BookingFound},
		{"HTTP 408, but the order exists", refused(408, undocumented, true), noFault, 0, []float64{0}, hotelstays.BookingFound},
		{"HTTP 429", refused(429, undocumented, false), failing, 0, nil, hotelstays.BookingOpen},
		{"HTTP 504, and no order exists", refused(504, undocumented, false), noFault, 0, allPolls, hotelstays.BookingAbsent},
		{"HTTP 504 with the code of a refusal, and no order exists", refused(504, types.CodeRateChanged, false), noFault, 0, allPolls,
			hotelstays.BookingAbsent},
		{"a code of other operations, and no order exists", refused(404, types.CodeNotFound, false), noFault, 0, []float64{0},
			hotelstays.BookingOpen},
		{"the first polls fail, and no order exists", refused(200, undocumented, false), failing, 50, allPolls, hotelstays.BookingOpen},
		{"the first polls fail, but the order exists", refused(200, undocumented, true), failing, 50, []float64{0, 30, 90},
			hotelstays.BookingFound},
		{"each poll fails", refused(200, undocumented, false), failing, 0, allPolls, hotelstays.BookingUnverified},
		{"polls are forbidden", refused(403, 100000403, false), pollAnswer(403, ""), 0, []float64{0}, hotelstays.BookingUnverified},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			w := newRecoveryWorld(t)
			w.inject(tc.book, tc.poll)
			at(t, tc.heals, w.ClearFaults)
			outcome, err := w.client.BookAndRecover(t.Context(), w.offer.Request("ref-1"), refusing(hotelstays.OpBook, known))
			books := w.Ledger().Requests(hotelstays.OpBook)
			assert.Equal(t, tc.polls, w.polls(books[len(books)-1].Done))
			if tc.state != hotelstays.BookingOpen {
				require.NotNil(t, outcome)
				assert.Equal(t, tc.state, outcome.State)
				if tc.state == hotelstays.BookingFound {
					assert.NoError(t, err)
					assert.Equal(t, "ref-1", outcome.Order.CustomerReferenceNo)
					return
				}
				assert.ErrorContains(t, outcome.Err, strconv.Itoa(tc.book.Code), "the error quotes the refusal")
				assert.ErrorContains(t, outcome.Err, "QueryOrders", "the error also says why no poll verified the refusal")
				if answer, ok := errors.AsType[*hotelstays.APIError](outcome.Err); ok {
					assert.Equal(t, hotelstays.OpQueryOrders, answer.Operation, "errors.As does not find the refusal")
				}
				return
			}
			assert.Nil(t, outcome)
			api := errorAs[*hotelstays.APIError](t, err)
			assert.Equal(t, tc.book.Code, api.Code)
			assert.Equal(t, hotelstays.OpBook, api.Operation)
			assert.NotContains(t, err.Error(), "unknown", "the refusal is definite")
			assert.NotErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
			assert.Empty(t, w.Ledger().Orders())
		})
	}
}

// For a used reference the service returns its first order. With Expect, an order with other dates is an error, and
// Changes lists the other differences.
func TestOnlyOtherDatesThanExpectedAreAnError(t *testing.T) {
	chosen := portionOf(t, 1, 3)
	for _, tc := range []struct {
		name      string
		change    func(*types.RoomRatePkg) // changes the expected offer; nil: the request has no Expect
		cancelled bool
		what      string // the difference that the error names; empty: no error
		changes   string // the parts in which the order differs
	}{
		{"the same offer", func(*types.RoomRatePkg) {}, false, "", ""},
		{"no offer is expected", nil, false, "", ""},
		{"another check-in", func(p *types.RoomRatePkg) { p.CheckIn = "2000-03-09" }, false,
			"check-in is 2000-03-10, expected 2000-03-09", "checkIn"},
		{"another check-out", func(p *types.RoomRatePkg) { p.CheckOut = "2000-03-14" }, false,
			"check-out is 2000-03-13, expected 2000-03-14", "checkOut"},
		{"a cancelled order with another check-in", func(p *types.RoomRatePkg) { p.CheckIn = "2000-03-09" }, true,
			"check-in is 2000-03-10, expected 2000-03-09", "checkIn cancelTime"},
		{"another net total", func(p *types.RoomRatePkg) { p.TotalRate.NetRate.Amount = "1.00" }, false, "", "netTotal"},
		{"a cancelled order", func(*types.RoomRatePkg) {}, true, "", "cancelTime"},
		{"an expected offer without valid dates", func(p *types.RoomRatePkg) { p.CheckIn, p.CheckOut = "", "soon" }, false, "",
			"checkIn checkOut"},
	} {
		for how := range testsize.SomeOf(chosen, []string{"Book", "BookAndRecover", "found by recovery", "found by a later process"}) {
			inBubble(t, tc.name+", "+how, func(t *testing.T) {
				w := newRecoveryWorld(t)
				made := w.offer.Book(t, w.client, "ref-1")
				if tc.cancelled {
					w.SetOrderStatus("ref-1", 3)
				}
				req := w.offer.Request("ref-1")
				if tc.change != nil {
					req.Expect = &w.offer.RoomRatePkg
					tc.change(req.Expect)
				}

				var err error
				var outcome *hotelstays.BookingOutcome
				switch how {
				case "Book":
					var resp *hotelstays.BookResponse
					if resp, err = w.client.Book(t.Context(), req); resp != nil {
						outcome = &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: resp.HotelOrder, Changes: resp.Changes}
					}
				case "BookAndRecover":
					outcome, err = w.client.BookAndRecover(t.Context(), req)
				case "found by recovery":
					w.Inject(bookLost)
					outcome, err = w.client.BookAndRecover(t.Context(), req)
				case "found by a later process":
					outcome, err = w.restarted(t).RecoverBooking(t.Context(), stored(t, w.client.NewBookingRecovery(req)))
				}
				assert.Equal(t, how == "Book" && tc.what != "", outcome == nil, "only Book returns no outcome with the error")
				if outcome != nil {
					assert.Equal(t, hotelstays.BookingFound, outcome.State)
					assert.Equal(t, made.PlatformReferenceNo, outcome.Order.PlatformReferenceNo)
					var fields []string
					for _, change := range outcome.Changes.Changes {
						fields = append(fields, string(change.Field))
					}
					assert.Equal(t, tc.changes, strings.Join(fields, " "))
				}
				decided := map[bool]hotelstays.Operation{true: hotelstays.OpBook, false: hotelstays.OpQueryOrders}[how == "BookAndRecover"]
				if requests := w.Ledger().Requests(decided); outcome != nil && how != "Book" {
					assert.Equal(t, requests[len(requests)-1].Header.Get("Request-Id"), outcome.Meta.RequestID)
				}
				assert.Len(t, w.Ledger().Orders(), 1)
				assert.Equal(t, strings.HasPrefix(how, "Book"), w.Ledger().Count(hotelstays.OpQueryOrders) == 0, "no poll follows an answer to Book")
				if tc.what == "" {
					require.NoError(t, err)
					return
				}
				reused := errorAs[*hotelstays.ReferenceReusedError](t, err)
				assert.Equal(t, tc.what, reused.What)
				assert.Equal(t, made.PlatformReferenceNo, reused.Order.PlatformReferenceNo)
				for _, part := range []string{tc.what, "ref-1", made.PlatformReferenceNo} {
					assert.ErrorContains(t, err, part)
				}
			})
		}
	}
}

// If the call has a shorter timeout, this timeout limits the poll. Without a timeout of the call, the client's timeout does.
func TestPollTakesAtMost20Seconds(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct{ client, call, poll time.Duration }{
		{0, 0, 20 * s},
		{3 * s, 0, 3 * s},
		{60 * s, 0, 20 * s},
		{15 * s, 3 * s, 3 * s},
		{3 * s, 15 * s, 15 * s},
		{3 * s, 60 * s, 20 * s},
	} {
		inBubble(t, tc.client.String()+" and "+tc.call.String(), func(t *testing.T) {
			w := newRecoveryWorld(t)
			var opts []hotelstays.Option
			if tc.client > 0 {
				opts = append(opts, hotelstays.WithTimeout(tc.client))
			}
			var call []hotelstays.CallOption
			if tc.call > 0 {
				call = append(call, hotelstays.WithTimeout(tc.call))
			}
			client := newClient(t, w.Server, w.cred, opts...)
			_, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}) // fetches the token
			require.NoError(t, err)
			w.Inject(pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour}))
			start := time.Now()
			_, err = client.StepRecovery(t.Context(), client.NewBookingRecovery(w.offer.Request("ref-1")), call...)
			require.NoError(t, err)
			assert.Equal(t, tc.poll, time.Since(start))
		})
	}
}

// After a clock is set back, stored times may lie in the future. Then, too, no poll may prove absence too early.
func TestRecoveryWithImpossibleTimesStartsAgain(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // the time in a bubble
	for name, tc := range map[string]struct {
		stored hotelstays.BookingRecovery
		polls  []float64
	}{
		"Book ends an hour in the future": {hotelstays.BookingRecovery{EndedAt: now.Add(time.Hour), NextPoll: now.Add(2 * time.Hour)},
			allPolls},
		"Book ends an hour in the future, after three polls":  {hotelstays.BookingRecovery{EndedAt: now.Add(time.Hour), Polls: 3}, allPolls},
		"Book ends an hour in the future, after all polls":    {hotelstays.BookingRecovery{EndedAt: now.Add(time.Hour), Polls: 6}, allPolls},
		"stored before Book, so nobody knows when Book ended": {hotelstays.BookingRecovery{}, allPolls},
		"six polls, but no time at which Book ended":          {hotelstays.BookingRecovery{Polls: 6}, allPolls},
		"six polls, but Book ended just now": {hotelstays.BookingRecovery{EndedAt: now, Polls: 6}, []float64{0, 0, 150, 300,
			450, 600}},
		"the next poll is in a year": {hotelstays.BookingRecovery{EndedAt: now, NextPoll: now.AddDate(1, 0, 0)},
			allPolls},
		"Book ended 100 s ago, and the next poll is in a day": {
			hotelstays.BookingRecovery{EndedAt: now.Add(-100 * time.Second), Polls: 3, NextPoll: now.AddDate(0, 0, 1)},
			[]float64{0, 110, 350, 500}, // the first poll is immediate, and the other polls follow the schedule
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newRecoveryWorld(t)
			recovery := w.client.NewBookingRecovery(w.offer.Request("ref-1"))
			require.Equal(t, now, time.Now().UTC())
			recovery.EndedAt, recovery.Polls, recovery.NextPoll = tc.stored.EndedAt, tc.stored.Polls, tc.stored.NextPoll
			outcome, err := w.client.StepRecovery(t.Context(), recovery)
			require.NoError(t, err)
			assert.Equal(t, hotelstays.BookingOpen, outcome.State)
			outcome, err = w.client.RecoverBooking(t.Context(), stored(t, recovery))
			require.NoError(t, err)
			assert.Equal(t, hotelstays.BookingAbsent, outcome.State)
			assert.Equal(t, tc.polls, w.polls(now))
		})
	}
}
