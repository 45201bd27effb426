// Options: which calls take which, what they send, and that helpers pass them on.

package hotelstays_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
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

// A call with an option compiles where the option's type is assignable to the call's: the
// table has every option and every call of the package.
func TestMisplacedOptionsDoNotCompile(t *testing.T) {
	call := []any{hotelstays.WithTraceID, hotelstays.WithRequestID, hotelstays.WithClientRequestTimestamp, hotelstays.WithRawData,
		hotelstays.JoinCallOptions,
		hotelstays.WithLanguage, hotelstays.WithMarket, hotelstays.WithUserRef, hotelstays.WithCurrency, hotelstays.WithClientIP,
		hotelstays.WithTestFlags, hotelstays.WithTimeout, hotelstays.WithServiceFacts}
	own := map[string]any{"parallelism": hotelstays.WithParallelism, "batch size": hotelstays.WithBatchSize, "wake-up": hotelstays.WithWakeup,
		"save": hotelstays.WithSaveRecovery, "unsigned": hotelstays.WithUnsignedVouchers, "bytes": hotelstays.WithMaxVoucherBytes,
		"logger": hotelstays.WithLogger}
	takes := map[string][]string{
		"WalkDestinations": {"parallelism"}, "HotelsMetadataAll": {"parallelism"},
		"HotelListBatches": {"parallelism", "batch size"},
		"AwaitOrder":       {"wake-up"}, "AwaitVoucher": {"wake-up"},
		"BookAndRecover": {"wake-up", "save"}, "RecoverBooking": {"wake-up", "save"},
		"SaveVoucher": {"unsigned", "bytes"}, "OpenVoucher": {"unsigned", "bytes"}, "DownloadVoucher": {"unsigned", "bytes"},
	}
	client, calls := reflect.TypeFor[*hotelstays.Client](), 0
	for method := range client.Methods() {
		if !method.Type.IsVariadic() || method.Name == "WithCredential" { // no call
			continue
		}
		calls++
		taken := method.Type.In(method.Type.NumIn() - 1).Elem()
		compiles := func(option any) bool { return reflect.TypeOf(option).Out(0).AssignableTo(taken) }
		for _, option := range call {
			assert.True(t, compiles(option), "%s takes a %s", method.Name, reflect.TypeOf(option).Out(0))
		}
		for name, option := range own {
			assert.Equal(t, slices.Contains(takes[method.Name], name), compiles(option), "%s, %s", method.Name, name)
		}
		delete(takes, method.Name)
	}
	assert.Empty(t, takes)
	assert.Greater(t, calls, 20)
}

// What a helper is given, all its calls are sent with; options after the first do not undo it.
func TestHelpersHandCallOptionsOn(t *testing.T) {
	traced := hotelstays.JoinCallOptions(hotelstays.WithTraceID("trace-1"), hotelstays.WithMarket("AE"), hotelstays.WithRawData(),
		hotelstays.WithTimeout(7*time.Second))
	service := serviceOf(nil, serving(voucherDoc))
	var calls []*http.Request
	client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
		calls = append(calls, r)
		return service.RoundTrip(r)
	}))

	_, err := client.SaveVoucher(t.Context(), voucherRef, filepath.Join(t.TempDir(), "voucher.pdf"), hotelstays.WithMaxVoucherBytes(1<<20),
		traced)
	require.NoError(t, err)
	resp, err := client.AwaitVoucher(t.Context(), voucherRef, hotelstays.WithWakeup(make(chan struct{})), traced)
	require.NoError(t, err)
	assert.NotEmpty(t, resp.Meta.RawData)
	require.NoError(t, client.DownloadVoucher(t.Context(), resp.Voucher, io.Discard, traced))

	require.Len(t, calls, 4)
	for i, download := range []bool{false, true, false, true} {
		deadline, _ := calls[i].Context().Deadline()
		assert.InDelta(t, 7, time.Until(deadline).Seconds(), 2, "a timeout bounds call and download alike")
		if download {
			assert.Empty(t, calls[i].Header.Get("Trace-Id")+calls[i].Header.Get("Market"), "the link may be another host's")
			continue
		}
		assert.Equal(t, "trace-1", calls[i].Header.Get("Trace-Id"))
		assert.Equal(t, "AE", calls[i].Header.Get("Market"))
	}
}

// A header that no call of the helper takes is refused, and a nil option wherever it is.
func TestFaultyOptionsOfHelpers(t *testing.T) {
	client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { panic("sent") }))
	ctx, currency := t.Context(), hotelstays.WithCurrency("USD")
	recovery := client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
	path := filepath.Join(t.TempDir(), "voucher.pdf")
	for name, call := range map[string]func() error{
		"AwaitOrder":     func() error { _, err := client.AwaitOrder(ctx, "ref-1", currency); return err },
		"FindOrder":      func() error { _, err := client.FindOrder(ctx, "ref-1", currency); return err },
		"AwaitVoucher":   func() error { _, err := client.AwaitVoucher(ctx, voucherRef, currency); return err },
		"RecoverBooking": func() error { _, err := client.RecoverBooking(ctx, recovery, currency); return err },
		"SaveVoucher":    func() error { _, err := client.SaveVoucher(ctx, voucherRef, path, currency); return err },
		"OpenVoucher":    func() error { _, err := client.OpenVoucher(ctx, voucherRef, currency); return err },
		"nil in joined":  func() error { _, err := client.AwaitOrder(ctx, "ref-1", hotelstays.JoinCallOptions(nil)); return err },
		"nil to wait":    func() error { _, err := client.AwaitOrder(ctx, "ref-1", nil); return err },
		"nil to recover": func() error { _, err := client.RecoverBooking(ctx, recovery, nil); return err },
		"nil channel":    func() error { _, err := client.AwaitOrder(ctx, "ref-1", hotelstays.WithWakeup(nil)); return err },
		"nil save": func() error {
			_, err := client.RecoverBooking(ctx, recovery, hotelstays.WithSaveRecovery(nil))
			return err
		},
		"nil to a walk": func() error {
			_, errs := collect(client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, nil))
			return errs[0]
		},
		"currency, a walk": func() error {
			_, errs := collect(client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, currency))
			return errs[0]
		},
	} {
		var invalid *hotelstays.ValidationError
		assert.ErrorAs(t, call(), &invalid, name)
	}
}

// JoinCallOptions keeps the caller's slice apart from what it made of it.
func TestJoinedOptionsAreACopy(t *testing.T) {
	var sent http.Header
	client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
		sent = r.Header
		return reply(200, `{"code":0,"data":{"orders":[]}}`), nil
	}))
	opts := []hotelstays.CallOption{hotelstays.WithTraceID("first"), hotelstays.WithMarket("AE")}
	joined := hotelstays.JoinCallOptions(opts...)
	opts[0] = hotelstays.WithTraceID("changed")
	_, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}, joined, hotelstays.WithMarket("FR"))
	require.NoError(t, err)
	assert.Equal(t, "first", sent.Get("Trace-Id"))
	assert.Equal(t, "FR", sent.Get("Market"), "the later option wins")
}

// Each attempt has the id and the time that the caller's functions make for it, and so have
// the calls that fetch tokens.
func TestRequestIDAndTimestampOfEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		n := 0
		client := newClient(t, srv, ticketOf(srv),
			hotelstays.WithRequestID(func() string { n++; return fmt.Sprintf("id-%d", n) }),
			hotelstays.WithClientRequestTimestamp(func(sent time.Time) string { return strconv.FormatInt(sent.UnixMilli(), 10) }))
		fault := status(429, "")
		fault.Operation, fault.Times = hotelstaystest.OpDestinations, 2
		fault.Header.Set("Retry-After", "3")
		srv.Inject(fault)
		resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
		require.NoError(t, err)
		assert.Equal(t, "id-4", resp.Meta.RequestID)
		requests := srv.Ledger().Requests("")
		require.Len(t, requests, 4)
		for i, r := range requests {
			assert.Equal(t, fmt.Sprintf("id-%d", i+1), r.RequestID)
			assert.Equal(t, strconv.FormatInt(r.Arrived.UnixMilli(), 10), r.Header.Get("Client-Request-Timestamp"))
		}
		assert.GreaterOrEqual(t, requests[3].Arrived.Sub(requests[0].Arrived), 6*time.Second)

		resp, err = client.Destinations(t.Context(), &hotelstays.DestinationsRequest{},
			hotelstays.WithRequestID(func() string { return "own" }))
		require.NoError(t, err)
		assert.Equal(t, "own", resp.Meta.RequestID, "an option of the call wins")
	})
}

// What a header cannot carry is not sent, nor is an id a second time, and a slot of the rate
// limit is free again. A Book before which nothing was carried out has no unknown outcome.
func TestUnusableRequestIDsAndTimestamps(t *testing.T) {
	id := func(text string) hotelstays.Option { return hotelstays.WithRequestID(func() string { return text }) }
	stamp := func(text string) hotelstays.Option {
		return hotelstays.WithClientRequestTimestamp(func(time.Time) string { return text })
	}
	for name, row := range map[string]struct {
		opt     hotelstays.Option
		sent    int
		problem string
	}{
		"empty id":       {id(""), 0, "the value from WithRequestID is empty"},
		"id of lines":    {id("a\r\nEvil: 1"), 0, "the value from WithRequestID contains"},
		"constant id":    {id("one"), 1, "the Request-Id is that of the attempt before"},
		"empty time":     {stamp(" "), 0, "the value from WithClientRequestTimestamp is empty"},
		"time of lines":  {stamp("1\n2"), 0, "the value from WithClientRequestTimestamp contains"},
		"panicking id":   {hotelstays.WithRequestID(func() string { panic("boom") }), 0, ""},
		"panicking time": {hotelstays.WithClientRequestTimestamp(func(time.Time) string { panic("boom") }), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
					sent++
					resp := reply(429, `{"code":100000429}`)
					resp.Header.Set("Retry-After", "0")
					return resp, nil
				}), row.opt, hotelstays.WithMaxAttempts(4))
				start, calls := time.Now(), 2*hotelstays.OpBook.RateLimit()
				if row.sent > 0 {
					calls = 1
				}
				for range calls {
					if row.problem == "" {
						assert.PanicsWithValue(t, "boom", func() { _ = operationCalls[hotelstays.OpBook](t.Context(), client) })
						continue
					}
					err := operationCalls[hotelstays.OpBook](t.Context(), client)
					var failed *hotelstays.TransportError
					require.ErrorAs(t, err, &failed)
					assert.ErrorContains(t, err, row.problem)
					assert.False(t, failed.Sent)
					assert.Equal(t, row.sent, failed.Attempts)
					assert.NotErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
				}
				assert.Equal(t, row.sent, sent)
				if row.sent == 0 {
					assert.Zero(t, time.Since(start), "nothing held a slot")
				}
			})
		})
	}
}

// An amount is held with the very digits of the answer, whatever decimals its
// currency has.
func TestCurrency(t *testing.T) {
	for _, tc := range []struct {
		currency, want string
		digits         string
	}{
		{"", "USD", `^\d+\.\d\d$`},
		{"EUR", "EUR", `^\d+\.\d\d$`},
		{"JPY", "JPY", `^\d+$`},
		{"KWD", "KWD", `^\d+\.\d\d\d$`},
	} {
		t.Run(tc.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t)
				opts := []hotelstays.CallOption{hotelstays.WithRawData()}
				if tc.currency != "" {
					opts = append(opts, hotelstays.WithCurrency(tc.currency))
				}
				resp, err := client.HotelList(t.Context(), searchCity(srv), opts...)
				require.NoError(t, err)
				roundTripped := 0
				for _, hotel := range resp.List {
					assert.Equal(t, tc.want, hotel.MinPrice.Currency)
					for _, room := range hotel.Rooms {
						for _, rate := range room.Rates {
							net := rate.TotalRate.NetRate
							assert.Equal(t, tc.want, net.Currency)
							assert.Regexp(t, tc.digits, string(net.Amount))
							literal := fmt.Sprintf(`"totalRate":{"commissionableRate":%%s"netRate":{"currency":%q,"amount":%s}`, tc.want, net.Amount)
							if rate.TotalRate.CommissionableRate == nil {
								literal = fmt.Sprintf(`"totalRate":{"netRate":{"currency":%q,"amount":%s}`, tc.want, net.Amount)
							} else {
								c := rate.TotalRate.CommissionableRate
								literal = fmt.Sprintf(literal, fmt.Sprintf(`{"currency":%q,"amount":%s},`, c.Currency, c.Amount))
							}
							assert.True(t, bytes.Contains(resp.Meta.RawData, []byte(literal)), literal)
							roundTripped++
						}
					}
				}
				assert.Equal(t, 12*12, roundTripped)

				empty, err := client.HotelList(t.Context(), searchCity(srv), hotelstays.WithCurrency("XXX"))
				require.NoError(t, err)
				assert.Equal(t, types.AllSuppliersExcluded, empty.Basic.EmptyReason.Code)
			})
		})
	}
}

// An offer keeps its currency from search to order; a call that names another
// one gets that.
func TestCurrencyThroughTheFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithCurrency("KWD"))
		o := findOffer(t, srv, client, 0)
		kuwaiti := regexp.MustCompile(`^\d+\.\d{3}$`)
		assert.Regexp(t, kuwaiti, string(o.TotalRate.NetRate.Amount))
		yen, err := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: o.session, RatePkgID: o.RatePkgID},
			hotelstays.WithCurrency("JPY"))
		require.NoError(t, err)
		assert.Equal(t, "JPY", yen.RoomRatePkg.TotalRate.NetRate.Currency, "a call's own option wins")
		assert.Equal(t, json.Number("151.250000"), yen.ExchangeRateSnapshot.USD["jpy"])
		order := o.book(t, client, "ref-1")
		assert.Equal(t, o.TotalRate.NetRate, order.NetRate)
		cancelled, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.session, CustomerReferenceNo: "ref-1",
			SupplierReferenceNo: order.SupplierReferenceNo})
		require.NoError(t, err)
		assert.Equal(t, "KWD", cancelled.ServiceFee.Currency)
	})
}

// An account with a market restriction refuses every call without a market of
// its own; the token is fetched without one.
func TestMarketRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, plain := newSandbox(t, hotelstaystest.WithMarkets("AE", "SA"))
		inFrance := newClient(t, srv, ticketOf(srv), hotelstays.WithMarket("FR"))
		inDubai := newClient(t, srv, ticketOf(srv), hotelstays.WithMarket("AE"))
		checkAccountRule(t, srv, "Market", []ruleCase{
			{"none", plain, nil, false},
			{"another on the client", inFrance, nil, false},
			{"its own on the client", inDubai, nil, true},
			{"its own on the call", plain, hotelstays.WithMarket("SA"), true},
			{"the call's wins over the client's", inFrance, hotelstays.WithMarket("SA"), true},
			{"also when it is wrong", inDubai, hotelstays.WithMarket("FR"), false},
		})
	})
}

// Once named users are authorised, every call must name one.
func TestUserRefRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, plain := newSandbox(t, hotelstaystest.WithUserRefs(map[string][]string{
			"agent-1": hotelstaystest.AllScopes(), "agent-2": {hotelstaystest.ScopeContentRead}, "agent-3": {}}))
		anyone := newClient(t, srv, ticketOf(srv), hotelstays.WithUserRef("nobody"))
		agent := newClient(t, srv, ticketOf(srv), hotelstays.WithUserRef("agent-1"))
		checkAccountRule(t, srv, "User-Ref", []ruleCase{
			{"none", plain, nil, false},
			{"an unknown user", anyone, nil, false},
			{"a user on the client", agent, nil, true},
			{"a user on the call", plain, hotelstays.WithUserRef("agent-1"), true},
			{"the call's wins over the client's", anyone, hotelstays.WithUserRef("agent-1"), true},
			{"a user without scopes", agent, hotelstays.WithUserRef("agent-3"), false},
		})
		_, err := plain.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithUserRef("agent-2"))
		assert.NoError(t, err)
		_, err = plain.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}, hotelstays.WithUserRef("agent-2"))
		assert.ErrorIs(t, err, hotelstays.ErrForbidden, "the user's scopes count as well as the key's")
	})
}

// ruleCase is a way to send a header that an account requires.
type ruleCase struct {
	name    string
	client  *hotelstays.Client
	opt     hotelstays.CallOption // nil: none
	allowed bool
}

// checkAccountRule calls every operation that carries a token in each way.
func checkAccountRule(t *testing.T, srv *hotelstaystest.Server, header string, cases []ruleCase) {
	t.Helper()
	for op, call := range operationCalls {
		if op == hotelstays.OpTicket || op == hotelstays.OpOAuthToken {
			continue
		}
		for _, tc := range cases {
			var opts []hotelstays.CallOption
			if tc.opt != nil {
				opts = append(opts, tc.opt)
			}
			err := call(t.Context(), tc.client, opts...)
			if tc.allowed {
				assert.NotErrorIs(t, err, hotelstays.ErrForbidden, "%s: %s", op, tc.name)
			} else {
				assert.ErrorIs(t, err, hotelstays.ErrForbidden, "%s: %s", op, tc.name)
			}
		}
	}
	assert.NotZero(t, srv.Ledger().TicketsIssued())
	for _, r := range srv.Ledger().Requests(hotelstaystest.OpTicket) {
		assert.NotContains(t, r.Header, header, "a token is fetched without it")
	}
}
