// The booking handler of the README, and its answer to each kind of fault.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The variables and functions that the reader of the guide declares.
var (
	patience time.Duration
	booking  *hotelstays.BookRequest
	texts    = map[hotelstays.ErrorKind]string{
		hotelstays.KindRateChanged:     "the offer has changed: please look at it again",
		hotelstays.KindReferenceReused: "we are checking this booking: please do not book again",
	}
)

func bookingOf(*http.Request) *hotelstays.BookRequest { return booking }

func answer(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	fmt.Fprint(w, text)
}

func serveBookings(client *hotelstays.Client) {
	mux.HandleFunc("POST /bookings", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
		defer cancel()
		req := bookingOf(r)
		outcome, err := client.BookAndRecover(ctx, req, hotelstays.WithSaveRecovery(save))
		if err != nil { // the log shows err as a group: kind, status, code, request id, text
			slog.WarnContext(ctx, "booking", "reference", req.CustomerReferenceNo, "err", err)
		}
		if refused, ok := errors.AsType[*hotelstays.APIError](err); ok && refused.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(refused.RetryAfter.Seconds())))
		}
		invalid := new(hotelstays.ValidationError)
		switch kind := hotelstays.KindOf(err); {
		case outcome != nil && outcome.State == hotelstays.BookingFound && kind != hotelstays.KindReferenceReused:
			answer(w, http.StatusCreated, outcome.Order.PlatformReferenceNo)
		case outcome != nil && outcome.State == hotelstays.BookingAbsent:
			answer(w, http.StatusConflict, "nothing was booked: please look at the offer again")
		case err == nil, kind == hotelstays.KindOutcomeUnknown: // RecoverBooking continues with what save has stored
			answer(w, http.StatusAccepted, "we are finding out: please do not book again")
		case errors.As(err, &invalid):
			answer(w, kind.HTTPStatus(), "please correct "+invalid.Fields[0].Path)
		case hotelstays.Retryable(err):
			answer(w, kind.HTTPStatus(), "please try again in a moment")
		default: // the manual proposes a text for each kind
			answer(w, kind.HTTPStatus(), texts[kind])
		}
	})
}

func TestHandlerAnswersEveryOutcome(t *testing.T) {
	book := func(f hotelstaystest.Fault) hotelstaystest.Fault {
		f.Operation, f.Times = hotelstays.OpBook, -1
		return f
	}
	refused := func(status, code int) hotelstaystest.Fault {
		return book(hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: status, Code: code})
	}
	lost := book(hotelstaystest.Fault{Kind: hotelstaystest.FaultCut})
	made := book(hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Commit: true})
	polls := func(f hotelstaystest.Fault) hotelstaystest.Fault {
		f.Operation, f.Times = hotelstays.OpQueryOrders, -1
		return f
	}
	for name, row := range map[string]struct {
		faults     []hotelstaystest.Fault
		change     func(*hotelstays.BookRequest)
		patience   time.Duration
		left       bool // the traveller leaves the page before the answer
		status     int
		text       string // the text of the answer; "" stands for the number of the order
		orders     int
		retryAfter string
	}{
		"booked":               {status: 201, orders: 1},
		"the traveller leaves": {left: true, status: 201, orders: 1},
		"the answer is lost":   {faults: []hotelstaystest.Fault{made}, status: 201, orders: 1},
		"the request is lost, and the polls find nothing in time": {faults: []hotelstaystest.Fault{lost}, status: 202,
			text: "we are finding out: please do not book again"},
		"the request is lost, and the polls are refused": {faults: []hotelstaystest.Fault{lost, polls(hotelstaystest.Fault{
			Kind: hotelstaystest.FaultStatus, Status: 403, Code: 7})}, status: 202, text: "we are finding out: please do not book again"},
		"the request is lost, and absence is proven": {faults: []hotelstaystest.Fault{lost}, patience: time.Hour, status: 409,
			text: "nothing was booked: please look at the offer again"},
		"the offer changed": {faults: []hotelstaystest.Fault{refused(400, types.CodeRateChanged)}, status: 409,
			text: texts[hotelstays.KindRateChanged]},
		"the account may not book": {faults: []hotelstaystest.Fault{refused(403, 7)}, status: 502},
		"the reference has an order for other dates": {change: func(r *hotelstays.BookRequest) { r.Expect.CheckIn = "2040-01-01" }, status: 409,
			text: texts[hotelstays.KindReferenceReused], orders: 1},
		"a request without guests": {change: func(r *hotelstays.BookRequest) { r.Guests = nil }, status: 400, text: "please correct guests"},
		"too many requests": {faults: []hotelstaystest.Fault{book(hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 429,
			Code: types.CodeRateLimited, RetryAfter: "90"})}, status: 503, text: "please try again in a moment", retryAfter: "90"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := hotelstaystest.NewServer(&hotelstaystest.Config{InMemory: true})
				defer srv.Close()
				client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
					hotelstays.WithHTTPClient(srv.Client()))
				require.NoError(t, err)
				defer client.CloseIdleConnections()
				require.NoError(t, pickOffer(t.Context(), client, srv.CityName(0)))
				mux, saved, patience = http.NewServeMux(), nil, max(row.patience, 30*time.Second)
				booking = &hotelstays.BookRequest{SessionID: session, RatePkgID: seen.RatePkgID, CustomerReferenceNo: reference, Expect: seen,
					Holder: types.Holder{FirstName: "Guest", LastName: "One"}, Guests: []types.Guest{
						{RoomIndex: 1, FirstName: "Guest", LastName: "One"}, {RoomIndex: 1, FirstName: "Guest", LastName: "Two"}}}
				if row.change != nil {
					row.change(booking)
				}
				serveBookings(client)
				for _, fault := range row.faults {
					srv.Inject(fault)
				}
				w := httptest.NewRecorder()
				caller, leave := context.WithCancel(t.Context())
				defer leave()
				if row.left {
					leave()
				}
				mux.ServeHTTP(w, httptest.NewRequestWithContext(caller, http.MethodPost, "/bookings", http.NoBody))
				orders := srv.Ledger().Orders()
				require.Len(t, orders, row.orders)
				if row.status == http.StatusCreated {
					row.text = orders[0].PlatformReferenceNo
				}
				assert.Equal(t, []any{row.status, row.text, row.retryAfter}, []any{w.Code, w.Body.String(), w.Header().Get("Retry-After")})
			})
		})
	}
}
