// A Book that breaks off at any point: the caller of Book and of BookAndRecover learns what is
// known and no more, and what it may do next is safe. The ledger says what happened.

package chaos_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// bookEnd is how Book ends for its caller.
type bookEnd string

const (
	bookOrder   bookEnd = "order"
	bookUnknown bookEnd = "unknown" // *OutcomeUnknownError: ask, do not book again
	bookRefused bookEnd = "refused" // *APIError: nothing was booked
	bookUnsent  bookEnd = "unsent"  // *TransportError, not sent: nothing was booked; may book again
)

// recovered is how BookAndRecover ends.
type recovered string

const (
	recoveredFound   recovered = "found"
	recoveredAbsent  recovered = "absent"  // may book again, after CheckAvail
	recoveredError   recovered = "error"   // the error of Book, and no outcome
	recoveredRefused recovered = "refused" // the refusal, once it is known that there is no order
	recoveredOpen    recovered = "open"    // an error, and the recovery to continue with
)

// faultPoint is a row of the table.
type faultPoint struct {
	point string
	made  bool // the order exists afterwards

	fault   fault
	arrange func(*faultScene) // instead of a fault

	book    bookEnd
	recover recovered
	sent    int // how many requests of Book arrive
	is      error
}

// faultScene is what arrange may change before the Book.
type faultScene struct {
	*world
	t   *testing.T
	ctx context.Context
}

var errNoRoute = errors.New("no route")

// The rows of the table: one for each kind of answer that TestRetryTable of the root has. A fault
// meets every request of Book, unless once says otherwise.
var connectionPoints = slices.Concat([]faultPoint{
	{point: "no fault", made: true, book: bookOrder, recover: recoveredFound, sent: 1},
	{point: "dial failure", arrange: unreachable, book: bookUnsent, recover: recoveredError, is: errNoRoute},
	{point: "dial failure, twice", made: true, arrange: unreachableTwice, book: bookOrder, recover: recoveredFound, sent: 1},
	{point: "no token", fault: fault{Operation: hotelstays.OpTicket, Kind: cut}, book: bookUnsent, recover: recoveredError},
},
	lost("cut before the request is read", fault{Kind: hotelstaystest.FaultCutBeforeRead}),
	either("cut after the request is read", fault{Kind: cut}),
	made("cut in the middle of the response", fault{Kind: hotelstaystest.FaultCutMidResponse}),
	either("stream reset", fault{Kind: hotelstaystest.FaultResetStream}),
)

var answerPoints = slices.Concat(
	// The service fails, or a proxy before it does.
	failing(hotelstays.ErrUpstreamTimeout, either("504", status(504, ""))),
	made("504 with the code of a refusal", status(504, `{"code":100001111,"msg":"moved"}`)),
	either("429 of a proxy", status(429, "<html>")),

	// The answer cannot be read.
	either("garbage", fault{Kind: hotelstaystest.FaultGarbage}),
	made("half of the JSON", fault{Kind: hotelstaystest.FaultTruncatedBody}),
	made("data of a wrong type", fault{Kind: wrongType}),
	made("code of a wrong type", fault{Kind: wrongType, Field: "code"}),
	made("order of a wrong type", fault{Kind: wrongType, Field: "data.hotelOrder"}),
	ordered("field of a wrong type", fault{Kind: wrongType, Field: "data.hotelOrder.status"}),
	lost("success without an order", status(200, `{"code":0,"data":{}}`)),

	// Time passes, or ctx ends.
	ordered("slow answer", fault{Kind: hotelstaystest.FaultSlowBody, Delay: time.Minute}),
	ordered("late answer", fault{Kind: delay, Delay: time.Minute}),
	failing(context.DeadlineExceeded, either("answer after the timeout", fault{Kind: delay, Delay: 3 * time.Minute})),
	failing(context.DeadlineExceeded, made("answer slower than the timeout",
		fault{Kind: hotelstaystest.FaultSlowBody, Delay: 3 * time.Minute})),
	[]faultPoint{
		{point: "ctx ended before", arrange: endedBefore, book: bookUnsent, recover: recoveredError, is: context.Canceled},
		{point: "ctx ends while it waits for a token", arrange: endsWaiting, book: bookUnsent, recover: recoveredError, is: context.Canceled},
		{point: "ctx ends during Book", arrange: endsDuring(false), book: bookUnknown, recover: recoveredOpen, sent: 1, is: context.Canceled},
		{point: "ctx ends during Book", made: true, arrange: endsDuring(true), book: bookUnknown, recover: recoveredOpen, sent: 1,
			is: context.Canceled},
		{point: "ctx ends after the answer", made: true, arrange: endsAfter, book: bookOrder, recover: recoveredFound, sent: 1},
	},

	// The service says that it did nothing.
	[]faultPoint{
		{point: "enveloped 401, once", made: true, fault: once(status(401, "")), book: bookOrder, recover: recoveredFound, sent: 2},
		{point: "revoked token", made: true, arrange: revoked, book: bookOrder, recover: recoveredFound, sent: 2},
		{point: "enveloped 429, once", made: true, fault: once(status(429, "")), book: bookOrder, recover: recoveredFound, sent: 2},
		{point: "enveloped 429, then cut", arrange: limitedThenCut(false), book: bookUnknown, recover: recoveredAbsent, sent: 2},
		{point: "enveloped 429, then cut", made: true, arrange: limitedThenCut(true), book: bookUnknown, recover: recoveredFound, sent: 2},
		{point: "enveloped 401", fault: status(401, ""), book: bookRefused, recover: recoveredError, sent: 2, is: hotelstays.ErrUnauthorized},
		{point: "enveloped 429 for too long", fault: fault{Kind: hotelstaystest.FaultStatus, Status: 429, RetryAfter: "61"},
			book: bookRefused, recover: recoveredError, sent: 1, is: hotelstays.ErrRateLimited},
		{point: "refused with HTTP 403", fault: status(403, ""), book: bookRefused, recover: recoveredError, sent: 1,
			is: hotelstays.ErrForbidden},
		{point: "rate moved", arrange: rateMoved, book: bookRefused, recover: recoveredError, sent: 1, is: hotelstays.ErrRateChanged},
		{point: "offer gone", arrange: offerGone, book: bookRefused, recover: recoveredError, sent: 1, is: hotelstays.ErrRateChanged},
		{point: "booked under another reference", arrange: twin, book: bookRefused, recover: recoveredError, sent: 1,
			is: hotelstays.ErrDuplicateBooking},
		{point: "unlisted code", fault: status(200, `{"code":100009999,"msg":"no"}`), book: bookUnknown, recover: recoveredRefused, sent: 1},
	},
	made("unlisted code", status(200, `{"code":100009999,"msg":"no"}`)),
)

// lost is the row of a fault that makes no order, made of one that makes it, and either has
// both. The caller of Book cannot know which.
func lost(point string, f fault) []faultPoint {
	return []faultPoint{{point: point, fault: f, book: bookUnknown, recover: recoveredAbsent, sent: 1}}
}

func made(point string, f fault) []faultPoint {
	f.Commit = true
	return []faultPoint{{point: point, made: true, fault: f, book: bookUnknown, recover: recoveredFound, sent: 1}}
}

func either(point string, f fault) []faultPoint { return append(lost(point, f), made(point, f)...) }

// ordered is the row of a fault through which Book returns the order.
func ordered(point string, f fault) []faultPoint {
	return []faultPoint{{point: point, made: true, fault: f, book: bookOrder, recover: recoveredFound, sent: 1}}
}

// failing adds an error that the caller can match to rows.
func failing(is error, rows []faultPoint) []faultPoint {
	for i := range rows {
		rows[i].is = is
	}
	return rows
}

func once(f fault) fault {
	f.Times = 1
	return f
}

func unreachable(s *faultScene) { s.failDials(1000) }

func unreachableTwice(s *faultScene) { s.failDials(2) }

// failDials gives the scene a client with a token whose next connections fail.
func (s *faultScene) failDials(failures int) {
	tr := s.Client().Transport.(*http.Transport).Clone()
	dial, down := tr.DialContext, false
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if down && failures > 0 {
			failures--
			return nil, &net.OpError{Op: "dial", Net: network, Err: errNoRoute}
		}
		return dial(ctx, network, addr)
	}
	s.client = testkit.NewClient(s.t, s.Server, ticketOf(s.Server), hotelstays.WithHTTPClient(&http.Client{Transport: tr}))
	_, err := s.client.CheckAvail(s.t.Context(), &hotelstays.CheckAvailRequest{SessionID: s.offer.Session, RatePkgID: s.offer.RatePkgID})
	require.NoError(s.t, err)
	s.client.CloseIdleConnections()
	synctest.Wait()
	down = true
}

func endedBefore(s *faultScene) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.ctx = ctx
}

// endsSoon ends ctx in a second.
func (s *faultScene) endsSoon() {
	ctx, cancel := context.WithCancel(s.ctx)
	timer := time.AfterFunc(time.Second, cancel)
	s.t.Cleanup(func() { timer.Stop() })
	s.ctx = ctx
}

func endsWaiting(s *faultScene) {
	s.client = s.restarted(s.t)                     // has no token yet
	s.t.Cleanup(func() { time.Sleep(time.Minute) }) // the fetch goes on
	s.Inject(fault{Operation: hotelstays.OpTicket, Kind: delay, Delay: 10 * time.Second})
	s.endsSoon()
}

func endsDuring(commit bool) func(*faultScene) {
	return func(s *faultScene) {
		s.Inject(bookFault(fault{Kind: delay, Delay: 10 * time.Second, Commit: commit}))
		s.endsSoon()
	}
}

func endsAfter(s *faultScene) { s.endsSoon() }

func revoked(s *faultScene) { s.RevokeTokens() }

func limitedThenCut(commit bool) func(*faultScene) {
	return func(s *faultScene) {
		s.Inject(bookFault(once(status(429, ""))))
		s.Inject(bookFault(fault{Kind: cut, Commit: commit}))
	}
}

func rateMoved(s *faultScene) { s.MoveRate(s.offer.RatePkgID, 10) }

func offerGone(s *faultScene) { s.CloseRate(s.offer.RatePkgID) }

// twin books the same stay under another reference.
func twin(s *faultScene) {
	_, err := s.client.Book(s.t.Context(), s.offer.Request("ref-0"))
	require.NoError(s.t, err)
}

// Over HTTP/2 the rows of answers run with HOTELSTAYS_LONG=1 alone.
func TestFaultPoints(t *testing.T) {
	t.Parallel()
	all := slices.Concat(connectionPoints, answerPoints)
	for _, row := range all {
		row.check(t, "HTTP/1.1")
	}
	for _, row := range all[:howMany(t, "rows over HTTP/2", len(all), len(connectionPoints), 0)] {
		row.check(t, "HTTP/2.0", hotelstaystest.Config{TLS: true})
	}
}

func (row faultPoint) check(t *testing.T, proto string, config ...hotelstaystest.Config) {
	name := proto + " " + row.point
	if row.made {
		name += ", made"
	}
	t.Run(name, func(t *testing.T) {
		for _, check := range []func(*testing.T, faultPoint, *faultScene){checkBook, checkBookAndRecover} {
			synctest.Test(t, func(t *testing.T) {
				s := &faultScene{newWorld(t, config...), t, t.Context()}
				if f := row.fault; f.Kind != "" {
					if f.Operation == "" {
						f.Operation = hotelstays.OpBook
					} else {
						s.client = s.restarted(t) // a fault of Ticket meets a client without a token
					}
					if f.Times == 0 {
						f.Times = -1
					}
					s.Inject(f)
				}
				if row.arrange != nil {
					row.arrange(s)
				}
				before := s.Ledger().Count(hotelstays.OpBook)
				check(t, row, s)
				s.checkLedger(row, before, proto)
			})
		}
	})
}

// checkBook checks how Book ends.
func checkBook(t *testing.T, row faultPoint, s *faultScene) {
	resp, err := s.client.Book(s.ctx, s.offer.Request("ref-1"))
	if row.is != nil {
		assert.ErrorIs(t, err, row.is)
	}
	assert.Equal(t, row.book, endOf(resp, err), "%v", err)
	if err == nil {
		assert.Equal(t, "ref-1", resp.HotelOrder.CustomerReferenceNo)
		return
	}
	assert.Nil(t, resp)
	saysAgain := strings.Contains(err.Error(), "safe to call again")
	saysNotAgain := strings.Contains(err.Error(), "do not send it again")
	assert.Equal(t, row.book == bookUnknown, saysNotAgain, "%v", err)
	assert.False(t, saysAgain && saysNotAgain, "%v", err)
	if row.book == bookUnknown {
		assert.NotErrorIs(t, err, hotelstays.ErrRateChanged)
		assert.NotErrorIs(t, err, hotelstays.ErrDuplicateBooking)
	}
}

// endOf returns which of the four ends of Book it is.
func endOf(resp *hotelstays.BookResponse, err error) bookEnd {
	var unknown *hotelstays.OutcomeUnknownError
	var refused *hotelstays.APIError
	var failed *hotelstays.TransportError
	switch {
	case err == nil && resp != nil && resp.HotelOrder != nil:
		return bookOrder
	case errors.As(err, &unknown) && unknown.CustomerReferenceNo == "ref-1" && unknown.Operation == hotelstays.OpBook:
		return bookUnknown
	case errors.As(err, &failed) && !failed.Sent && failed.Operation == hotelstays.OpBook:
		return bookUnsent
	case errors.As(err, &refused) && refused.Operation == hotelstays.OpBook:
		return bookRefused
	}
	return "undocumented"
}

// checkBookAndRecover checks how BookAndRecover ends; an open recovery is resumed.
func checkBookAndRecover(t *testing.T, row faultPoint, s *faultScene) {
	req := s.offer.Request("ref-1")
	outcome, err := s.client.BookAndRecover(s.ctx, req)
	switch row.recover {
	case recoveredError, recoveredRefused:
		assert.Nil(t, outcome)
		want := row.book
		if row.recover == recoveredRefused {
			want = bookRefused
		}
		assert.Equal(t, want, endOf(nil, err), "%v", err)
		if row.is != nil {
			assert.ErrorIs(t, err, row.is)
		}
		return
	case recoveredOpen:
		assert.ErrorIs(t, err, row.is)
		require.NotNil(t, outcome)
		assert.Equal(t, hotelstays.BookingOpen, outcome.State)
		want := hotelstays.BookingAbsent
		if row.made {
			want = hotelstays.BookingFound
		}
		outcome, err = s.restarted(t).RecoverBooking(t.Context(), outcome.Recovery)
		require.NoError(t, err)
		assert.Equal(t, want, outcome.State)
		return
	}
	require.NoError(t, err)
	require.NotNil(t, outcome)
	assert.Equal(t, string(row.recover), string(outcome.State))
	assert.Equal(t, row.made, outcome.State == hotelstays.BookingFound)
	assert.Equal(t, row.made, outcome.Order != nil)
}

// checkLedger checks what happened, and that the next Book leaves one order.
func (s *faultScene) checkLedger(row faultPoint, before int, proto string) {
	made := s.Ledger().OrdersFor("ref-1")
	assert.Len(s.t, made, map[bool]int{true: 1}[row.made])
	books := s.Ledger().Requests(hotelstays.OpBook)[before:]
	assert.Len(s.t, books, row.sent)
	for _, book := range books {
		assert.Equal(s.t, proto, book.Proto)
		if book.Fault != hotelstaystest.FaultCutBeforeRead {
			assert.Equal(s.t, books[0].BodySHA256, book.BodySHA256, "always with the same body")
		}
	}
	if row.book == bookRefused || row.recover == recoveredOpen {
		return
	}
	s.ClearFaults()
	again, err := s.restarted(s.t).BookAndRecover(s.t.Context(), s.offer.Request("ref-1"))
	require.NoError(s.t, err)
	assert.Equal(s.t, hotelstays.BookingFound, again.State)
	assert.Len(s.t, s.Ledger().Orders(), 1, "booked again, there is one order")
}
