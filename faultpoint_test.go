// What this table proves: at whatever point a Book breaks off, the caller of Book
// and of BookAndRecover is told what is known and no more, and what it may do next
// is safe. The ledger says what truly happened.
//
// An order is made in the rows marked "made", and in no other. Every row is run
// over HTTP/1.1 and HTTP/2.

package hotelstays_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// toldOf is what Book tells its caller.
type toldOf string

const (
	toldOrder   toldOf = "order"   // here it is
	toldUnknown toldOf = "unknown" // *OutcomeUnknownError: ask, do not book again
	toldRefused toldOf = "refused" // *APIError: nothing was booked
	toldUnsent  toldOf = "unsent"  // *TransportError, not sent: nothing was booked; may book again
)

// recovered is what BookAndRecover makes of it.
type recovered string

const (
	recoveredFound   recovered = "found"   // the order
	recoveredAbsent  recovered = "absent"  // may book again, after CheckAvail
	recoveredError   recovered = "error"   // the error of Book, and no outcome
	recoveredRefused recovered = "refused" // the refusal, once it was known that there is no order
	recoveredOpen    recovered = "open"    // an error, and the recovery to go on with
)

// faultPoint is a row of the table.
type faultPoint struct {
	point string
	made  bool // the order exists afterwards

	fault   hotelstaystest.Fault
	arrange func(*faultScene) // instead of a fault

	book    toldOf
	recover recovered
	sent    int // how many requests of Book arrive; 0 where none does
	is      error
}

// faultScene is what arrange may change before the Book.
type faultScene struct {
	*recoveryWorld
	t   *testing.T
	ctx context.Context
}

var errNoRoute = errors.New("no route")

// The rows. fault is repeated for every request of Book; "once" rows say so.
var faultPoints = []faultPoint{
	{point: "no fault", made: true, book: toldOrder, recover: recoveredFound, sent: 1},

	// The connection.
	{point: "dial failure", arrange: unreachable, book: toldUnsent, recover: recoveredError, is: errNoRoute},
	{point: "dial failure, twice", made: true, arrange: unreachableTwice, book: toldOrder, recover: recoveredFound, sent: 1},
	{point: "no token", fault: hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultCut}, book: toldUnsent, recover: recoveredError},
	{point: "cut before the request is read", fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultCutBeforeRead}, book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "cut after reading", fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultCut}, book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "cut after reading", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Commit: true}, book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "cut in the middle of the response", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultCutMidResponse}, book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "stream reset", fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultResetStream}, book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "stream reset", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultResetStream, Commit: true}, book: toldUnknown, recover: recoveredFound, sent: 1},

	// Failures of the service, or of what stands before it.
	{point: "504", fault: status(504, ""), book: toldUnknown, recover: recoveredAbsent, sent: 1, is: hotelstays.ErrUpstreamTimeout},
	{point: "504", made: true, fault: committed(status(504, "")), book: toldUnknown, recover: recoveredFound, sent: 1, is: hotelstays.ErrUpstreamTimeout},
	{point: "504 with the code of a refusal", made: true, fault: committed(status(504, `{"code":100001111,"msg":"moved"}`)), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "500", fault: status(500, ""), book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "500", made: true, fault: committed(status(500, "")), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "502 of a proxy", fault: status(502, "<html>"), book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "502 of a proxy", made: true, fault: committed(status(502, "<html>")), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "503", fault: status(503, ""), book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "503", made: true, fault: committed(status(503, "")), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "redirect", fault: status(307, ""), book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "redirect", made: true, fault: committed(status(302, "<html>")), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "401 of a proxy", fault: status(401, "<html>"), book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "401 of a proxy", made: true, fault: committed(status(401, "<html>")), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "403 of a proxy", made: true, fault: committed(status(403, "<html>")), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "429 of a proxy", fault: status(429, "<html>"), book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "429 of a proxy", made: true, fault: committed(status(429, "<html>")), book: toldUnknown, recover: recoveredFound, sent: 1},

	// Answers that cannot be read.
	{point: "garbage", fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage}, book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "garbage", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage, Commit: true}, book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "half of the JSON", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultTruncatedBody}, book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "empty body", fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultEmptyBody}, book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "empty body", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultEmptyBody, Commit: true}, book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "data of a wrong type", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultWrongType}, book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "code of a wrong type", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultWrongType, Field: "code"}, book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "order of a wrong type", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultWrongType, Field: "data.hotelOrder"}, book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "field of a wrong type", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultWrongType, Field: "data.hotelOrder.status"}, book: toldOrder, recover: recoveredFound, sent: 1},
	{point: "success without an order", fault: status(200, `{"code":0,"data":{}}`), book: toldUnknown, recover: recoveredAbsent, sent: 1},
	{point: "success without data", made: true, fault: committed(status(200, `{"code":0,"msg":"ok"}`)), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "no code", made: true, fault: committed(status(200, `{}`)), book: toldUnknown, recover: recoveredFound, sent: 1},

	// Time.
	{point: "slow answer", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultSlowBody, Delay: time.Minute}, book: toldOrder, recover: recoveredFound, sent: 1},
	{point: "late answer", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Minute}, book: toldOrder, recover: recoveredFound, sent: 1},
	{point: "answer after the time-out", fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Minute}, book: toldUnknown, recover: recoveredAbsent, sent: 1, is: context.DeadlineExceeded},
	{point: "answer after the time-out", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Minute, Commit: true}, book: toldUnknown, recover: recoveredFound, sent: 1, is: context.DeadlineExceeded},
	{point: "answer slower than the time-out", made: true, fault: hotelstaystest.Fault{Kind: hotelstaystest.FaultSlowBody, Delay: 3 * time.Minute}, book: toldUnknown, recover: recoveredFound, sent: 1, is: context.DeadlineExceeded},
	{point: "ctx ended before", arrange: endedBefore, book: toldUnsent, recover: recoveredError, is: context.Canceled},
	{point: "ctx ends while it waits for a token", arrange: endsWaiting, book: toldUnsent, recover: recoveredError, is: context.Canceled},
	{point: "ctx ends while Book is under way", arrange: endsWhile(false), book: toldUnknown, recover: recoveredOpen, sent: 1, is: context.Canceled},
	{point: "ctx ends while Book is under way", made: true, arrange: endsWhile(true), book: toldUnknown, recover: recoveredOpen, sent: 1, is: context.Canceled},
	{point: "ctx ends after the answer", made: true, arrange: endsAfter, book: toldOrder, recover: recoveredFound, sent: 1},

	// The service says that it did nothing.
	{point: "enveloped 401, once", made: true, fault: once(status(401, "")), book: toldOrder, recover: recoveredFound, sent: 2},
	{point: "enveloped 401", fault: status(401, ""), book: toldRefused, recover: recoveredError, sent: 2, is: hotelstays.ErrUnauthorized},
	{point: "revoked token", made: true, arrange: revoked, book: toldOrder, recover: recoveredFound, sent: 2},
	{point: "enveloped 429, once", made: true, fault: once(status(429, "")), book: toldOrder, recover: recoveredFound, sent: 2},
	{point: "enveloped 429", fault: status(429, ""), book: toldRefused, recover: recoveredError, sent: 4, is: hotelstays.ErrRateLimited},
	{point: "enveloped 429, then cut", arrange: limitedThenCut(false), book: toldUnknown, recover: recoveredAbsent, sent: 2},
	{point: "enveloped 429, then cut", made: true, arrange: limitedThenCut(true), book: toldUnknown, recover: recoveredFound, sent: 2},
	{point: "parameter refused", fault: status(400, ""), book: toldRefused, recover: recoveredError, sent: 1, is: hotelstays.ErrParam},
	{point: "rate moved", arrange: func(s *faultScene) { s.MoveRate(s.offer.RatePkgID, 10) }, book: toldRefused, recover: recoveredError, sent: 1, is: hotelstays.ErrRateChanged},
	{point: "offer gone", arrange: func(s *faultScene) { s.CloseRate(s.offer.RatePkgID) }, book: toldRefused, recover: recoveredError, sent: 1, is: hotelstays.ErrRateChanged},
	{point: "booked under another reference", arrange: twin, book: toldRefused, recover: recoveredError, sent: 1, is: hotelstays.ErrDuplicateBooking},
	{point: "refused without a known code", fault: status(200, `{"code":100009999,"msg":"no"}`), book: toldUnknown, recover: recoveredRefused, sent: 1},
	{point: "refused without a known code", made: true, fault: committed(status(200, `{"code":100009999,"msg":"no"}`)), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "HTTP 408", fault: status(408, ""), book: toldUnknown, recover: recoveredRefused, sent: 1},
	{point: "HTTP 408", made: true, fault: committed(status(408, "")), book: toldUnknown, recover: recoveredFound, sent: 1},
	{point: "refused with HTTP 403", fault: status(403, ""), book: toldRefused, recover: recoveredError, sent: 1, is: hotelstays.ErrForbidden},
}

func committed(f hotelstaystest.Fault) hotelstaystest.Fault {
	f.Commit = true
	return f
}

func once(f hotelstaystest.Fault) hotelstaystest.Fault {
	f.Times = 1
	return f
}

// unreachable cuts the client off from the service.
func unreachable(s *faultScene) { s.dialing(1000) }

func unreachableTwice(s *faultScene) { s.dialing(2) }

// dialing gives the scene a client with a token whose next connections fail.
func (s *faultScene) dialing(failures int) {
	tr := s.Client().Transport.(*http.Transport).Clone()
	dial, down := tr.DialContext, false
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if down && failures > 0 {
			failures--
			return nil, &net.OpError{Op: "dial", Net: network, Err: errNoRoute}
		}
		return dial(ctx, network, addr)
	}
	client, err := hotelstays.New(s.URL, s.cred, hotelstays.WithHTTPClient(&http.Client{Transport: tr}))
	require.NoError(s.t, err)
	s.t.Cleanup(client.CloseIdleConnections)
	_, err = client.CheckAvail(s.t.Context(), &hotelstays.CheckAvailRequest{SessionID: s.offer.session, RatePkgID: s.offer.RatePkgID})
	require.NoError(s.t, err)
	client.CloseIdleConnections()
	synctest.Wait()
	s.client, down = client, true
}

func endedBefore(s *faultScene) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.ctx = ctx
}

// endsIn ends ctx after a time.
func (s *faultScene) endsIn(d time.Duration) {
	ctx, cancel := context.WithCancel(s.ctx)
	at(s.t, d.Seconds(), cancel)
	s.ctx = ctx
}

func endsWaiting(s *faultScene) {
	s.client = s.restarted(s.t)                     // has no token yet
	s.t.Cleanup(func() { time.Sleep(time.Minute) }) // which is fetched on
	s.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultDelay, Delay: 10 * time.Second})
	s.endsIn(time.Second)
}

func endsWhile(commit bool) func(*faultScene) {
	return func(s *faultScene) {
		s.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 10 * time.Second, Commit: commit})
		s.endsIn(time.Second)
	}
}

func endsAfter(s *faultScene) { s.endsIn(time.Second) }

func revoked(s *faultScene) { s.RevokeTokens() }

func limitedThenCut(commit bool) func(*faultScene) {
	return func(s *faultScene) {
		limit := bookFault(once(status(429, "")))
		s.Inject(limit)
		s.Inject(bookFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Commit: commit}))
	}
}

// twin books the same stay under another reference, from another client's hands.
func twin(s *faultScene) { s.offer.book(s.t, s.client, "ref-0") }

func TestFaultPoints(t *testing.T) {
	t.Parallel()
	protocols := []struct {
		name string
		opts []hotelstaystest.Option
	}{{"HTTP/1.1", nil}, {"HTTP/2.0", []hotelstaystest.Option{hotelstaystest.WithTLS()}}}
	for _, proto := range protocols[:howMany(t, "protocols", 2, 2, 1)] {
		for _, row := range faultPoints {
			name := proto.name + " " + row.point
			if row.made {
				name += ", made"
			}
			t.Run(name, func(t *testing.T) {
				for _, check := range []func(*testing.T, faultPoint, *faultScene){checkBook, checkBookAndRecover} {
					synctest.Test(t, func(t *testing.T) {
						s := &faultScene{newRecoveryWorld(t, proto.opts...), t, t.Context()}
						if row.fault.Kind != "" {
							fault := row.fault
							if fault.Operation == "" {
								fault.Operation = hotelstaystest.OpBook
							} else {
								s.client = s.restarted(t) // a fault of Ticket meets a client without a token
							}
							if fault.Times == 0 {
								fault.Times = -1
							}
							s.Inject(fault)
						}
						if row.arrange != nil {
							row.arrange(s)
						}
						before := s.Ledger().Count(hotelstaystest.OpBook)
						check(t, row, s)
						s.checkLedger(row, before, proto.name)
					})
				}
			})
		}
	}
}

// checkBook is what the caller of Book is told.
func checkBook(t *testing.T, row faultPoint, s *faultScene) {
	resp, err := s.client.Book(s.ctx, s.offer.request("ref-1"))
	if row.is != nil {
		assert.ErrorIs(t, err, row.is)
	}
	assert.Equal(t, row.book, told(resp, err), "%v", err)
	if err == nil {
		assert.Equal(t, "ref-1", resp.HotelOrder.CustomerReferenceNo)
		return
	}
	assert.Nil(t, resp)
	saysAgain := strings.Contains(err.Error(), "safe to call again")
	saysNotAgain := strings.Contains(err.Error(), "do not send it again")
	assert.Equal(t, row.book == toldUnknown, saysNotAgain, "%v", err)
	assert.False(t, saysAgain && saysNotAgain, "%v", err)
	if row.book == toldUnknown {
		assert.NotErrorIs(t, err, hotelstays.ErrRateChanged)
		assert.NotErrorIs(t, err, hotelstays.ErrDuplicateBooking)
	}
}

// told reads the kind of an end of Book: exactly one of the four.
func told(resp *hotelstays.BookResponse, err error) toldOf {
	var unknown *hotelstays.OutcomeUnknownError
	var refused *hotelstays.APIError
	var failed *hotelstays.TransportError
	switch {
	case err == nil && resp != nil && resp.HotelOrder != nil:
		return toldOrder
	case errors.As(err, &unknown) && unknown.CustomerReferenceNo == "ref-1" && unknown.Operation == hotelstays.OpBook:
		return toldUnknown
	case errors.As(err, &failed) && !failed.Sent && failed.Operation == hotelstays.OpBook:
		return toldUnsent
	case errors.As(err, &refused) && refused.Operation == hotelstays.OpBook:
		return toldRefused
	}
	return "nothing that is documented"
}

// checkBookAndRecover is what the caller of BookAndRecover is told. Then it does
// what it may do, which must end with the one order, or with the same refusal.
func checkBookAndRecover(t *testing.T, row faultPoint, s *faultScene) {
	req := s.offer.request("ref-1")
	outcome, err := s.client.BookAndRecover(s.ctx, req)
	switch row.recover {
	case recoveredError, recoveredRefused:
		assert.Nil(t, outcome)
		want := row.book
		if row.recover == recoveredRefused {
			want = toldRefused
		}
		assert.Equal(t, want, told(nil, err), "%v", err)
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
		outcome, err = s.restarted(t).RecoverBooking(t.Context(), stored(t, outcome.Recovery))
		require.NoError(t, err)
		assert.Equal(t, want, outcome.State)
		return
	}
	require.NoError(t, err)
	require.NotNil(t, outcome)
	assert.Equal(t, string(row.recover), outcome.State.String())
	assert.Equal(t, row.made, outcome.State == hotelstays.BookingFound)
	assert.Equal(t, row.made, outcome.Order != nil)
}

// checkLedger is what truly happened, and that the next Book, which the caller may
// send now, leaves one order.
func (s *faultScene) checkLedger(row faultPoint, before int, proto string) {
	made := s.Ledger().OrdersFor("ref-1")
	assert.Len(s.t, made, map[bool]int{true: 1}[row.made])
	books := s.Ledger().Requests(hotelstaystest.OpBook)[before:]
	assert.Len(s.t, books, row.sent)
	for _, book := range books {
		assert.Equal(s.t, proto, book.Proto)
		if book.Fault != hotelstaystest.FaultCutBeforeRead {
			assert.Equal(s.t, books[0].BodySHA256, book.BodySHA256, "always with the same body")
		}
	}
	if row.book == toldRefused || row.recover == recoveredOpen {
		return
	}
	s.ClearFaults()
	again, err := s.restarted(s.t).BookAndRecover(s.t.Context(), s.offer.request("ref-1"))
	require.NoError(s.t, err)
	assert.Equal(s.t, hotelstays.BookingFound, again.State)
	assert.Len(s.t, s.Ledger().Orders(), 1, "booked again, there is one order")
}
