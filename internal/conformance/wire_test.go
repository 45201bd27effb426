// The wire form of every operation: the exact request (method, URL, all headers, the bytes of the body), and an answer
// with every documented field.

package conformance_test

//lint:file-ignore SA1019 a deprecated operation is tested like any other

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/h2non/gock.v1"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	baseURL = "https://api.example.test/env"
	bearer  = "token-0001"
)

// headerGroup says which optional headers an operation sends.
type headerGroup int

const (
	noToken     headerGroup = iota // fetches the token: no Authorization, Market, User-Ref
	withToken                      // carries the token
	bookingFlow                    // carries the token, and may carry Session-Id, Currency, Test, Timeout-Milliseconds
)

type apiCall struct {
	req  any
	send func(ctx context.Context, c *hotelstays.Client, opts ...hotelstays.CallOption) (any, error)
}

func (c apiCall) err(ctx context.Context, client *hotelstays.Client, opts ...hotelstays.CallOption) error {
	_, err := c.send(ctx, client, opts...)
	return err
}

func callOf[Q, R any](method func(*hotelstays.Client, context.Context, *Q, ...hotelstays.CallOption) (*R, error), req *Q) apiCall {
	return apiCall{req, func(ctx context.Context, c *hotelstays.Client, opts ...hotelstays.CallOption) (any, error) {
		return method(c, ctx, req, opts...)
	}}
}

// callWith returns the call of an operation. encoding/json decodes its request from body.
func callWith(operation, body, session string) apiCall {
	method, _ := reflect.TypeFor[*hotelstays.Client]().MethodByName(operation)
	req := reflect.New(method.Type.In(2).Elem())
	if err := json.Unmarshal([]byte(body), req.Interface()); err != nil {
		panic(err)
	}
	if session != "" {
		req.Elem().FieldByName("SessionID").SetString(session)
	}
	return apiCall{req.Interface(), func(ctx context.Context, c *hotelstays.Client, opts ...hotelstays.CallOption) (any, error) {
		results := method.Func.CallSlice([]reflect.Value{reflect.ValueOf(c), reflect.ValueOf(ctx), req, reflect.ValueOf(opts)})
		err, _ := reflect.TypeAssert[error](results[1])
		return results[0].Interface(), err
	}}
}

type operation struct {
	name  string
	path  string
	group headerGroup
	// mutates is true for Book and Cancel, whose outcome may be unknown.
	mutates bool
	// hint is the Timeout-Milliseconds of a call whose ctx has no deadline.
	hint string
	// minimal has only the required fields, and full has every field. By default, minimal is decoded from minimalBody,
	// and full is decoded from fullBody.
	minimal, full               apiCall
	minimalBody, fullBody       string
	minimalSession, fullSession string
	data                        string // the data of the answer, with every documented field
	answerIsSecret              bool   // the JSON of the response hides a secret, so it differs from data
}

type sentRequest struct {
	method, url, body string
	header            map[string]string
}

// exchange makes one call against a mock. It returns the request and the response.
func exchange(t *testing.T, call apiCall, data string, options []hotelstays.Option, opts ...hotelstays.CallOption) (sentRequest, any) {
	t.Helper()
	return exchangeAnswered(t, call, `{"code":0,"msg":"success","data":`+data+`}`, nil, options, opts...)
}

func exchangeAnswered(t *testing.T, call apiCall, answer string, header map[string]string, options []hotelstays.Option,
	opts ...hotelstays.CallOption) (sentRequest, any) {
	t.Helper()
	client := &http.Client{Transport: http.DefaultTransport}
	gock.InterceptClient(client)
	defer gock.OffAll()
	defer gock.RestoreClient(client)

	var sent []sentRequest
	record := func(r *http.Request, _ *gock.Request) (bool, error) {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		one := sentRequest{r.Method, r.URL.String(), string(body), map[string]string{}}
		for name, values := range r.Header {
			one.header[name] = strings.Join(values, " | ")
		}
		sent = append(sent, one)
		return true, err
	}
	gock.New(baseURL).AddMatcher(record).Reply(200).SetHeaders(header).BodyString(answer)

	options = append([]hotelstays.Option{hotelstays.WithHTTPClient(client)}, options...)
	c, err := hotelstays.New(baseURL, bearerToken(bearer), options...)
	require.NoError(t, err)
	resp, err := call.send(t.Context(), c, opts...)
	require.NoError(t, err)
	require.Len(t, sent, 1, "one call is one request")
	return sent[0], resp
}

// headers returns the headers that a request of op must have. The parameters are further headers: all for every
// operation, token for operations that send a token, and flow for operations of the booking flow.
func (op *operation) headers(all, token, flow map[string]string) map[string]string {
	h := map[string]string{"Accept": "application/json", "Content-Type": "application/json"}
	maps.Copy(h, all)
	if op.group != noToken {
		h["Authorization"] = "Bearer " + bearer
		maps.Copy(h, token)
	}
	if op.group == bookingFlow {
		maps.Copy(h, flow)
	}
	return h
}

// madeUp checks the headers whose values the client makes up: User-Agent, Request-Id and Trace-Id. It returns these
// headers.
func (sent sentRequest) madeUp(t *testing.T) map[string]string {
	t.Helper()
	h := map[string]string{"User-Agent": sent.header["User-Agent"]}
	assert.True(t, strings.HasPrefix(h["User-Agent"], "hotelstays-go"), h["User-Agent"])
	for _, name := range []string{"Request-Id", "Trace-Id"} {
		h[name] = sent.header[name]
		id, err := uuid.Parse(h[name])
		require.NoError(t, err, name)
		assert.Equal(t, uuid.Version(4), id.Version(), name)
	}
	assert.NotEqual(t, sent.header["Request-Id"], sent.header["Trace-Id"])
	return h
}

// eachOperation runs a test for every operation. The clock does not advance, so Timeout-Milliseconds is exact.
func eachOperation(t *testing.T, test func(*testing.T, *operation)) {
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, &op) })
		})
	}
}

func TestMinimalRequestHasExactlyItsHeadersAndFields(t *testing.T) {
	eachOperation(t, func(t *testing.T, op *operation) {
		sent, _ := exchange(t, op.minimal, op.data, nil)
		op.checkSent(t, sent, op.minimalBody)
		want := op.headers(sent.madeUp(t), nil, map[string]string{"Timeout-Milliseconds": op.hint})
		if op.minimalSession != "" {
			want["Session-Id"] = op.minimalSession
		}
		assert.Equal(t, want, sent.header)
	})
}

// checkSent checks the request except for its headers.
func (op *operation) checkSent(t *testing.T, sent sentRequest, body string) {
	t.Helper()
	assert.Equal(t, []string{http.MethodPost, baseURL + op.path, body}, []string{sent.method, sent.url, sent.body})
}

var clientOptions = []hotelstays.Option{
	hotelstays.WithLanguage("en-GB"), hotelstays.WithMarket("AE"), hotelstays.WithUserRef("user-7"),
	hotelstays.WithClientIP("2001:db8::7"), hotelstays.WithCurrency("EUR"),
	hotelstays.WithTestFlags(map[string]string{"b": "2", "a": "1"}), hotelstays.WithTimeout(5 * time.Second),
}

// Only the operations that accept the header of a client's option send this header.
func TestFullRequestHasEveryFieldAndTheHeadersOfTheClientsOptions(t *testing.T) {
	eachOperation(t, func(t *testing.T, op *operation) {
		requireComplete(t, reflect.ValueOf(op.full.req).Elem(), op.name)
		sent, _ := exchange(t, op.full, op.data, clientOptions)
		op.checkSent(t, sent, op.fullBody)
		all := sent.madeUp(t)
		all["Language"], all["Ip"] = "en-GB", "2001:db8::7"
		assert.Equal(t, op.headers(all, map[string]string{"Market": "AE", "User-Ref": "user-7"}, map[string]string{
			"Session-Id": op.fullSession, "Currency": "EUR", "Test": "a=1&b=2", "Timeout-Milliseconds": "4500",
		}), sent.header)
	})
}

// Options of a call win over the client's options, and do not change the body.
func TestFullRequestHasTheHeadersOfTheCallsOptions(t *testing.T) {
	options := append(slices.Clone(clientOptions),
		hotelstays.WithHeader("user-agent", "agency/2.0"), hotelstays.WithHeader("X-Gateway", "client"), hotelstays.WithHeader("X-Zone", "a"))
	eachOperation(t, func(t *testing.T, op *operation) {
		opts := []hotelstays.CallOption{
			hotelstays.WithLanguage("ar"), hotelstays.WithClientIP("198.51.100.4"), hotelstays.WithTimeout(30 * time.Second),
			hotelstays.WithTraceID("trace-1"), hotelstays.WithHeader("x-gateway", "call"),
			hotelstays.WithClientRequestTimestamp(func(context.Context, time.Time) string { return "1766570400123" }),
		}
		if op.group != noToken {
			opts = append(opts, hotelstays.WithMarket("SA"), hotelstays.WithUserRef("user-8"))
		}
		if op.group == bookingFlow {
			opts = append(opts, hotelstays.WithCurrency("KWD"), hotelstays.WithTestFlags(map[string]string{"x": "y"}))
		}
		sent, _ := exchange(t, op.full, op.data, options, opts...)
		op.checkSent(t, sent, op.fullBody)
		assert.Equal(t, op.headers(map[string]string{
			"User-Agent": "agency/2.0", "X-Gateway": "call", "X-Zone": "a", "Language": "ar", "Ip": "198.51.100.4",
			"Request-Id": sent.header["Request-Id"], "Trace-Id": "trace-1", "Client-Request-Timestamp": "1766570400123",
		}, map[string]string{"Market": "SA", "User-Ref": "user-8"}, map[string]string{
			"Session-Id": op.fullSession, "Currency": "KWD", "Test": "x=y", "Timeout-Milliseconds": "29000",
		}), sent.header)
		assert.NoError(t, uuid.Validate(sent.header["Request-Id"]))
	})
}

func TestResponseHasEveryField(t *testing.T) {
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			want := op.want(t)
			requireComplete(t, reflect.ValueOf(want).Elem(), op.name)

			_, got := exchange(t, op.minimal, op.data, nil)

			reflect.ValueOf(got).Elem().FieldByName("Meta").SetZero()
			require.Equal(t, want, got)
			if op.answerIsSecret {
				return
			}
			again, err := json.Marshal(got)
			require.NoError(t, err)
			assert.JSONEq(t, op.data, string(again))
			for _, literal := range []string{"2150.50", "120.50", "0.00"} { // JSONEq compares floats, and accepts 120.5 for 120.50
				assert.Equal(t, strings.Count(op.data, literal), strings.Count(string(again), literal), literal)
			}
		})
	}
}

// want returns the response that encoding/json decodes from the data.
func (op *operation) want(t *testing.T) any {
	t.Helper()
	method, _ := reflect.TypeFor[*hotelstays.Client]().MethodByName(op.name)
	resp := reflect.New(method.Type.Out(0).Elem()).Interface()
	require.NoError(t, json.Unmarshal([]byte(op.data), resp))
	return resp
}

// requireComplete proves that a fixture is complete: no field of the wire is left out, and each field's name in Go
// begins with its name on the wire.
func requireComplete(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		require.False(t, v.IsNil(), "the fixture lacks %s", path)
		requireComplete(t, v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			// The client does not send the field Expect.
			if field := v.Type().Field(i); field.IsExported() && field.Tag.Get("json") != "-" && field.Name != "Expect" {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				assert.Truef(t, strings.HasPrefix(strings.ToLower(field.Name), strings.ToLower(strings.ReplaceAll(name, "_", ""))),
					"%s.%s has the name %q", path, field.Name, name)
				requireComplete(t, v.Field(i), path+"."+field.Name)
			}
		}
	case reflect.Slice:
		require.NotZero(t, v.Len(), "the fixture lacks %s", path)
		for i := range v.Len() {
			requireComplete(t, v.Index(i), path)
		}
	default:
		require.False(t, v.IsZero(), "the fixture lacks %s", path)
	}
}

// If a caller sets a field to a zero value, the body contains this value, because a missing field would mean something
// else. The client sends texts unchanged.
func TestBodyKeepsZeroValuesAndTexts(t *testing.T) {
	rows := []struct {
		name, body, data string
		call             apiCall
	}{
		{
			"HotelList",
			`{"destinationId":"d","checkIn":"2026-12-24","checkOut":"2026-12-27","roomOccupancies":[{"adultCount":1,` +
				`"childrenAges":[0]}],"cursor":0}`,
			`{"list":[],"basic":{"sessionId":"s"}}`,
			callOf((*hotelstays.Client).HotelList, &hotelstays.HotelListRequest{DestinationID: "d", CheckIn: "2026-12-24", CheckOut: "2026-12-27",
				RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1, ChildrenAges: []int{0}}}, Cursor: new(int64(0))}),
		},
		{
			"Book",
			`{"customerReferenceNo":"ref","ratePkgId":"pkg","holder":{"firstName":"Guest","lastName":"One"},` +
				`"guests":[{"roomIndex":1,"firstName":"Guest","lastName":"Two","age":0,"isChild":false}]}`,
			`{"hotelOrder":{"platformReferenceNo":"plat-0"}}`,
			callOf((*hotelstays.Client).Book, &hotelstays.BookRequest{SessionID: "s", CustomerReferenceNo: "ref", RatePkgID: "pkg",
				Holder: types.Holder{FirstName: "Guest", LastName: "One"},
				Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "Two", Age: new(0), IsChild: new(false)}}}),
		},
		{ // & < > are not escaped, other scripts are UTF-8
			"texts", `{"customerReferenceNo":"a&b","supplierReferenceNo":"<1>","reason":"計画変更 \"now\""}`, `{}`,
			callOf((*hotelstays.Client).Cancel, &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "a&b",
				SupplierReferenceNo: "<1>", Reason: "計画変更 \"now\""}),
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			sent, _ := exchange(t, row.call, row.data, nil)
			assert.Equal(t, row.body, sent.body)
		})
	}
}

func TestResponseMetaHasTheHeadersOfTheAnswer(t *testing.T) {
	call := callOf((*hotelstays.Client).CheckAvail, &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "pkg"})
	meta := func(t *testing.T, header map[string]string, opts ...hotelstays.CallOption) (hotelstays.ResponseMeta, sentRequest) {
		sent, resp := exchangeAnswered(t, call, `{"code":0,"msg":"success","data":{"status":1,"later":[1, 2]}}`, header, nil, opts...)
		return resp.(*hotelstays.CheckAvailResponse).Meta, sent
	}

	t.Run("every header", func(t *testing.T) {
		got, _ := meta(t, map[string]string{"Request-Id": "service-request", "Trace-Id": "trace-1", "Session-Id": "session-9",
			"Server-Cost-Milliseconds": "137", "X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "7", "X-RateLimit-Reset": "1",
		}, hotelstays.WithTraceID("trace-1"), hotelstays.WithRawData())
		assert.Equal(t, hotelstays.ResponseMeta{HTTPStatus: 200, Msg: "success", RequestID: "service-request", TraceID: "trace-1",
			SessionID: "session-9", ServerCost: 137 * time.Millisecond, Attempts: 1, Header: got.Header,
			RateLimit: &hotelstays.RateLimit{Limit: 10, Remaining: 7, Reset: time.Second},
			RawData:   json.RawMessage(`{"status":1,"later":[1, 2]}`)}, got)
		assert.Equal(t, "7", got.Header.Get("X-RateLimit-Remaining"))
	})
	t.Run("the service names another trace", func(t *testing.T) {
		got, _ := meta(t, map[string]string{"Trace-Id": "service-trace"}, hotelstays.WithTraceID("trace-1"))
		assert.Equal(t, "service-trace", got.TraceID)
	})
	t.Run("no header", func(t *testing.T) {
		got, sent := meta(t, nil)
		want := hotelstays.ResponseMeta{HTTPStatus: 200, Msg: "success", Attempts: 1, Header: http.Header{},
			RequestID: sent.header["Request-Id"], TraceID: sent.header["Trace-Id"]}
		assert.Equal(t, want, got)
	})
	t.Run("malformed values", func(t *testing.T) {
		for _, header := range []map[string]string{
			{"Server-Cost-Milliseconds": "soon", "X-RateLimit-Limit": "many"},
			{"Server-Cost-Milliseconds": "-7", "X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "-1", "X-RateLimit-Reset": "1"},
			{"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "7", "X-RateLimit-Reset": "9999999999"},
		} {
			got, _ := meta(t, header)
			assert.Zero(t, got.ServerCost)
			assert.Nil(t, got.RateLimit)
		}
	})
}

func TestWireTableHasEveryOperation(t *testing.T) {
	assert.ElementsMatch(t, testkit.Operations(), slices.Collect(maps.Keys(operationCalls)))
}

func operations() []operation {
	all := []operation{
		{
			name: "Ticket", path: "/api/auth/ticket", group: noToken,
			minimal:     callOf((*hotelstays.Client).Ticket, &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret("secret")}),
			minimalBody: `{"appKey":"key","appSecret":"secret"}`,
			full: callOf((*hotelstays.Client).Ticket, &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret("secret"),
				TTL: time.Hour}),
			fullBody:       `{"appKey":"key","appSecret":"secret","ttl":3600}`,
			data:           `{"ticket":"header.payload.signature"}`,
			answerIsSecret: true,
		},
		{
			name: "OAuthToken", path: "/api/v1/oauth/token", group: noToken,
			minimal: callOf((*hotelstays.Client).OAuthToken, &hotelstays.OAuthTokenRequest{ClientID: "id",
				ClientSecret: types.NewSecret("secret")}),
			minimalBody: `{"grant_type":"client_credentials","client_id":"id","client_secret":"secret"}`,
			full: callOf((*hotelstays.Client).OAuthToken, &hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret("secret"),
				Scopes: []types.Scope{types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead,
					types.ScopeBookingWrite, types.ScopeBookingCancel}}),
			fullBody: `{"grant_type":"client_credentials","client_id":"id","client_secret":"secret",` +
				`"scope":"search:read content:read booking:read booking:write booking:cancel"}`,
			data:           `{"access_token":"opaque"}`,
			answerIsSecret: true,
		},
		{
			name: "Destinations", path: "/api/search/destinations", group: withToken,
			minimalBody: `{}`,
			fullBody:    `{"countryCode":"AE","parentDestinationId":"dest-0","include":"details","filterEmptyCities":true,"minHotelCount":3}`,
			data:        `{"destinations":[` + destinationJSON + `]}`,
		},
		{
			name: "HotelsMetadata", path: "/api/search/hotelsMetadata", group: withToken,
			minimalBody: `{"destinationId":"dest-1"}`,
			fullBody:    `{"destinationId":"dest-1","countryCode":"AE","page":{"pageNum":2,"pageSize":100,"cursor":17}}`,
			data: `{"hotelsMetadata":[{"hotelId":"h-1","platformHotelId":"P-1","destinationId":"dest-1",` +
				`"name":{"en":"Hotel","zh":"酒店","ar":"فندق"},"rating":4.5,"address":{"en":"Street 1","zh":"一号街","ar":"شارع 1"},` +
				`"latlngCoordinator":` + latlngJSON + `,"logoURL":"https://img.example.test/1.png"}],"page":{"total":41,"hasMore":true}}`,
		},
		{
			name: "HotelStaticDetail", path: "/api/search/hotelStaticDetail", group: withToken,
			minimalBody: `{"hotelId":"h-1"}`,
			fullBody:    `{"hotelId":"P-1"}`,
			data:        `{"hotel":` + hotelJSON + `}`,
		},
		{
			name: "HotelIDList", path: "/api/search/hotelIdList", group: withToken,
			minimalBody: `{}`,
			fullBody:    `{"hotelIds":[7,9007199254740993],"regionCode":12,"regionName":"Region"}`,
			data:        `{"hotelIdList":[{"hotelId":"7"},{"hotelId":"8"}]}`,
		},
		{
			name: "HotelList", path: "/api/search/hotelList", group: bookingFlow, hint: "59000",
			minimalBody: `{"destinationName":"City","checkIn":"2026-12-24","checkOut":"2026-12-27","roomOccupancies":[{"adultCount":1}]}`,
			fullSession: "session-1",
			fullBody: `{"hotelIds":["P-1","h-2"],"destinationId":"dest-1","destinationName":"City","checkIn":"2026-12-24","checkOut":"2026-12-27",` +
				`"roomOccupancies":[{"adultCount":2,"childrenAges":[4,11]},{"adultCount":1,"childrenAges":[9]}],` +
				`"maxRatesPerHotel":1,"countryCode":"AE",` +
				`"residencyCode":"SA","nationalityCode":"CN","pageNum":2,"pageSize":200,"cursor":5,"sortBy":"distance-asc"}`,
			data: `{"list":[` + hotelJSON + `],"basic":{"destination":` + destinationJSON + `,"sessionId":"session-1",` +
				`"statusRemark":"Some properties are missing.","notices":["the expansion was capped"],` +
				`"emptyReason":{"code":"NO_SUPPLIER_ANSWERED","suppliers":[{"supplierCode":"S1","reason":"no answer"}]}},"total":3,"hasMore":true}`,
		},
		{
			name: "HotelRates", path: "/api/search/hotelRates", group: bookingFlow, hint: "59000",
			minimalSession: "session-1",
			minimalBody:    `{"hotelId":"P-1","checkIn":"2026-12-24","checkOut":"2026-12-27","roomOccupancies":[{"adultCount":1}]}`,
			fullSession:    "session-2",
			fullBody: `{"hotelId":"P-1","checkIn":"2026-12-24","checkOut":"2026-12-27","countryCode":"AE","residencyCode":"SA",` +
				`"nationalityCode":"CN","roomOccupancies":[{"adultCount":2,"childrenAges":[4,11]},{"adultCount":1,"childrenAges":[9]}]}`,
			data: `{"rooms":[` + roomJSON + `]}`,
		},
		{
			name: "CheckAvail", path: "/api/search/checkAvail", group: bookingFlow, hint: "59000",
			minimalSession: "session-1",
			minimalBody:    `{"ratePkgId":"pkg-1"}`,
			fullSession:    "session-2",
			fullBody:       `{"ratePkgId":"pkg-2"}`,
			data: `{"status":1,"roomRatePkg":` + pkgJSON + `,"exchangeRateSnapshot":{"date":"2026-11-20",` +
				`"usd":{"eur":0.91,"kwd":0.30712345678901234567}}}`,
		},
		{
			name: "Book", path: "/api/trade/book", group: bookingFlow, mutates: true, hint: "119000",
			minimalSession: "session-1",
			minimalBody: `{"customerReferenceNo":"ref-1","ratePkgId":"pkg-1","holder":{"firstName":"Guest","lastName":"One"},` +
				`"guests":[{"roomIndex":1,"firstName":"Guest","lastName":"One"}]}`,
			fullSession: "session-2",
			fullBody: `{"customerReferenceNo":"ref-1","ratePkgId":"pkg-1","holder":{"firstName":"Guest","lastName":"One",` +
				`"email":"guest.one@example.test","phone":{"countryCode":"AE","countryNumber":971,"number":"500000001"}},` +
				`"callbackUrl":"https://hooks.example.test/orders?a=1&b=2","guests":[` +
				`{"roomIndex":1,"firstName":"Guest","lastName":"One","nationalityCode":"AE","age":14,"isChild":true,` +
				`"gender":"FEMALE","dateOfBirth":"2012-02-29","passportNumber":"P0000001"},` +
				`{"roomIndex":2,"firstName":"Guest","lastName":"Two","nationalityCode":"SA","age":4,"isChild":true,"gender":"m",` +
				`"dateOfBirth":"2022-01-31","passportNumber":"P0000002"}]}`,
			data: `{"hotelOrder":` + orderJSON + `}`,
		},
		{
			name: "QueryOrders", path: "/api/trade/queryOrders", group: withToken,
			minimalBody: `{}`,
			fullBody: `{"customerReferenceNos":["ref-1","ref-2"],"supplierReferenceNos":["sup-1"],"checkInTimeWindow":{"start":"a1","end":"a2"},` +
				`"checkOutTimeWindow":{"start":"b1","end":"b2"},"bookingTimeWindow":{"start":"c1","end":"c2"},` +
				`"freeCancelTimeWindow":{"start":"d1","end":"d2"},` +
				`"cancelledTimeWindow":{"start":"e1","end":"e2"},"statusList":[1,"confirmed"]}`,
			data: `{"orders":[` + orderJSON + `,` + orderJSON + `]}`,
		},
		{
			name: "OrderVoucher", path: "/api/trade/orderVoucher", group: withToken,
			minimalBody: `{"platformReferenceNo":"plat-1"}`,
			fullBody:    `{"customerReferenceNo":"ref-1","platformReferenceNo":"plat-1","supplierReferenceNo":"sup-1","includeDocument":true}`,
			data: `{"customerReferenceNo":"ref-1","platformReferenceNo":"plat-1","supplierReferenceNo":"sup-1","status":"GENERATED","voucher":{` +
				`"voucherNumber":"V-1","version":2,"issuedAt":"2026-11-20T10:05:00Z","contentType":"application/pdf","byteSize":5,` +
				`"verifyUrl":"https://verify.example.test/V-1","downloadUrl":"https://files.example.test/V-1.pdf?sig=1","expiresIn":900,` +
				`"signature":{"alg":"HMAC-SHA256","keyId":"k-1","digest":"00ff","signature":"aa11","signedAt":"2026-11-20T10:05:01Z"},` +
				`"content":{"contentType":"application/pdf","byteSize":5,"base64":"JVBERi0="}}}`,
		},
		{
			name: "Cancel", path: "/api/trade/cancel", group: bookingFlow, mutates: true, hint: "119000",
			minimalSession: "session-1",
			minimalBody:    `{"customerReferenceNo":"ref-1","supplierReferenceNo":"sup-1"}`,
			fullSession:    "session-2",
			fullBody:       `{"customerReferenceNo":"ref-1","supplierReferenceNo":"sup-1","reason":"plans changed"}`,
			data:           `{"serviceFee":{"currency":"EUR","amount":120.50},"status":5}`,
		},
	}
	for i := range all {
		if op := &all[i]; op.minimal.send == nil {
			op.minimal, op.full = callWith(op.name, op.minimalBody, op.minimalSession), callWith(op.name, op.fullBody, op.fullSession)
		}
	}
	return all
}

const (
	latlngJSON = `{"google":{"lat":25.2,"lng":55.3},"gaode":{"lat":25.1,"lng":55.4}}`

	destinationJSON = `{"id":"dest-1","type":6,"name":{"en":"City","zh":"城市","ar":"مدينة"},` +
		`"nameFull":{"en":"City, Region","zh":"地区城市","ar":"مدينة، منطقة"},"countryCode":"AE",` +
		`"coordinates":{"centerLat":25.2,"centerLng":55.3,` +
		`"boundingPolygon":{"type":"MultiPolygon","coordinates":[[[[55.1,25.1],[55.2,25.2]]]]}},` +
		`"extra":{"cityName":{"en":"City","zh":"城市","ar":"مدينة"},"provinceName":{"en":"Region","zh":"地区","ar":"منطقة"},` +
		`"continentName":{"en":"Continent","zh":"大陆","ar":"قارة"},"hotelCount":12},` +
		`"countryName":{"en":"Country","zh":"国家","ar":"بلد"},"destinationName":{"en":"City","zh":"城市","ar":"مدينة"},` +
		`"parentDestinationName":{"en":"Region","zh":"地区","ar":"منطقة"},"parentDestinationId":"dest-0"}`

	rateJSON = `{"commissionableRate":{"currency":"EUR","amount":2000},"netRate":{"currency":"EUR","amount":2150.50},` +
		`"grossRate":{"currency":"EUR","amount":2400.1},"respectGrossRate":true}`

	// offerJSON has the fields that an offer and the room of an order share.
	offerJSON = `"ratePkgId":"pkg-1","refundableMode":"partial","refundableUntil":"2026-12-20T18:00:00Z",` +
		`"cancelFees":[{"until":"2026-12-20T18:00:00Z","fee":{"currency":"EUR","amount":0.00}},` +
		`{"until":"2026-12-23T18:00:00Z","fee":{"currency":"EUR","amount":120.50}}],` +
		`"originalRoomNaming":{"id":"DBL","name":"Double Room","supplier":44},"rate":` + rateJSON + `,"totalRate":` + rateJSON + `,` +
		`"rateComment":"No smoking.","includesPackaging":true,"checkIn":"2026-12-24","checkOut":"2026-12-27",` +
		`"board":{"boardId":"HB","boardName":{"en":"Half board","zh":"半膳","ar":"نصف إقامة"},` +
		`"boardDesc":{"en":"Two meals","zh":"两餐","ar":"وجبتان"}},` +
		`"tax":{"total":{"currency":"EUR","amount":31.00},"items":[{"taxType":"city","taxName":"City tax",` +
		`"amount":{"currency":"EUR","amount":31.00},"desc":"for each night"}]}`

	pkgJSON = `{` + offerJSON + `}`

	roomTypeJSON = `"roomTypeId":"rt-1","roomTypeName":{"en":"Double","zh":"双人间","ar":"غرفة مزدوجة"},` +
		`"hotelId":"h-1","rates":[` + pkgJSON + `]`

	roomJSON = `{` + roomTypeJSON + `}`

	hotelJSON = `{"id":"h-1","platformHotelId":"P-1","destinationId":"dest-1",` +
		`"name":{"en":"Hotel","zh":"酒店","ar":"فندق"},"rating":4.5,` +
		`"address":{"en":"Street 1","zh":"一号街","ar":"شارع 1"},"latlngCoordinator":` + latlngJSON +
		`,"logoURL":"https://img.example.test/1.png",` +
		`"minPrice":{"currency":"EUR","amount":2150.50},"minPricesByCurrency":[{"currency":"KWD","amount":700.125}],"isAvailable":true,` +
		`"rooms":[` + roomJSON + `]}`

	orderJSON = `{"status":1,"statusRemark":"In progress.","checkIn":"2026-12-24","checkOut":"2026-12-27","nightCount":3,"roomCount":2,` +
		`"bookingTime":"2026-11-20T10:00:00Z","hotelConfirmNo":"HC-1","holder":{"firstName":"Guest","lastName":"One",` +
		`"email":"guest.one@example.test","phone":{"countryCode":"AE","countryNumber":971,"number":"500000001"}},` +
		`"platformReferenceNo":"plat-1","customerReferenceNo":"ref-1","commissionableRate":{"currency":"EUR","amount":2000},` +
		`"netRate":{"currency":"EUR","amount":2150.50},"grossRate":{"currency":"EUR","amount":2400.1},"respectGrossRate":true,` +
		`"cancelTime":"2026-11-21T10:00:00Z","cancelReason":"plans changed","refundedPrice":{"currency":"EUR","amount":120.50},"supplier":44,` +
		`"supplierReferenceNo":"sup-1","hotel":{"hotelId":"h-1","destinationId":"dest-1",` +
		`"name":{"en":"Hotel","zh":"酒店","ar":"فندق"},"rating":4.5,` +
		`"address":{"en":"Street 1","zh":"一号街","ar":"شارع 1"},"latlngCoordinator":` + latlngJSON +
		`,"logoURL":"https://img.example.test/1.png"},` +
		`"rooms":[{` + roomTypeJSON + `,` + offerJSON + `,"roomIndex":1,"guests":[{"passportNumber":"0001","any":[1]}],` +
		`"refundInfo":[{"any":2}]}]}`
)
