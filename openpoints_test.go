// The places that the API's document leaves open stay open: docs/open-points.md
// names a test for each, and those that no other file holds are here.

package hotelstays

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/types"
)

// Every row of the page names a test that exists.
func TestOpenPointsNameTheirTests(t *testing.T) {
	page, err := os.ReadFile("docs/open-points.md")
	require.NoError(t, err)
	tests := testNames(t)
	rows := regexp.MustCompile(`(?m)^\| .* \| (Test\w+) \|$`).FindAllSubmatch(page, -1)
	lines := regexp.MustCompile(`(?m)^\| [^|]`).FindAll(page, -1)
	assert.Len(t, rows, len(lines)-strings.Count(string(page), "\n| open |"), "each row names a test")
	for _, row := range rows {
		assert.True(t, slices.Contains(tests, string(row[1])), "%s does not exist", row[1])
	}
}

func testNames(t *testing.T) []string {
	var names []string
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	more, err := filepath.Glob("*/*_test.go")
	require.NoError(t, err)
	for _, file := range append(files, more...) {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// Enumerations have constants for the documented values and no others.
func TestOpenEnumerations(t *testing.T) {
	want := map[string][]string{
		"OrderStatus":        {"0", "1"},
		"AvailabilityStatus": nil,
		"VoucherStatus":      {`"CANCELLED"`, `"FAILED"`, `"GENERATED"`, `"NOT_GENERATED"`, `"PENDING"`},
		"RefundableMode":     {`"full"`, `"no"`, `"partial"`},
		"Gender":             {`"FEMALE"`, `"MALE"`, `"OTHER"`, `"UNSPECIFIED"`},
		"EmptyReasonCode":    {`"ALL_SUPPLIERS_EXCLUDED"`, `"NO_SUPPLIER_ANSWERED"`, `"NO_SUPPLIER_ENABLED"`, `"NO_SUPPLIER_PERMITTED"`},
		"BoardID":            {`"AI"`, `"BB"`, `"BD"`, `"BI"`, `"BL"`, `"DI"`, `"FB"`, `"HB"`, `"LD"`, `"LU"`, `"RO"`, `"TI"`},
		"DestinationType":    {"0", "1", "10", "11", "12", "2", "3", "4", "5", "6", "7", "8", "9"},
	}
	got := constants(t, "types")
	for name, values := range want {
		slices.Sort(got[name])
		assert.Equal(t, values, got[name], name)
	}
	assert.ElementsMatch(t, []string{`"standard"`, `"details"`}, constants(t, ".")["DestinationsInclude"])

	for _, number := range []string{"2", "5", "77"} {
		var order types.Order
		require.NoError(t, json.Unmarshal([]byte(`{"status":`+number+`}`), &order))
		back, err := json.Marshal(order)
		require.NoError(t, err)
		assert.Contains(t, string(back), `"status":`+number, "a number without a name survives")
	}
}

// constants returns the values of the typed constants of a package, by type.
func constants(t *testing.T, dir string) map[string][]string {
	found := map[string][]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 {
				return true
			}
			kind, isName := spec.Type.(*ast.Ident)
			value, isLiteral := spec.Values[0].(*ast.BasicLit)
			if isName && isLiteral {
				found[kind.Name] = append(found[kind.Name], value.Value)
			}
			return true
		})
	}
	return found
}

func TestOpenFieldsStayJSON(t *testing.T) {
	raw, rawList := reflect.TypeFor[json.RawMessage](), reflect.TypeFor[[]json.RawMessage]()
	assert.Equal(t, rawList, reflect.TypeOf(types.OrderRoom{}.Guests))
	assert.Equal(t, rawList, reflect.TypeOf(types.OrderRoom{}.RefundInfo))
	assert.Equal(t, rawList, reflect.TypeOf(QueryOrdersRequest{}.StatusList))
	assert.Equal(t, raw, reflect.TypeOf(types.BoundingPolygon{}.Coordinates))
	assert.Equal(t, reflect.String, reflect.TypeOf(types.TimeWindow{}.Start).Kind())
	assert.Equal(t, reflect.String, reflect.TypeOf(types.TimeWindow{}.End).Kind())
	assert.Equal(t, reflect.String, reflect.TypeOf(types.ExchangeRateSnapshot{}.Date).Kind())
	assert.Equal(t, reflect.TypeFor[map[string]json.Number](), reflect.TypeOf(types.ExchangeRateSnapshot{}.USD))
}

// Where the document names no field, the types have none: these are all that
// they have.
func TestOpenPlacesHaveNoField(t *testing.T) {
	for _, c := range []struct {
		of   any
		want string
	}{
		{CheckAvailResponse{}, "status roomRatePkg exchangeRateSnapshot"},
		{DestinationsRequest{}, "countryCode parentDestinationId include filterEmptyCities minHotelCount"},
		{DestinationsResponse{}, "destinations"},
		{HotelStaticDetailResponse{}, "hotel"},
		{HotelIDListRequest{}, "hotelIds regionCode regionName"},
		{HotelListRequest{}, "hotelIds destinationId destinationName checkIn checkOut roomOccupancies maxRatesPerHotel countryCode residencyCode nationalityCode pageNum pageSize cursor sortBy"},
		{HotelListResponse{}, "list basic total hasMore"},
		{QueryOrdersRequest{}, "customerReferenceNos supplierReferenceNos checkInTimeWindow checkOutTimeWindow bookingTimeWindow freeCancelTimeWindow cancelledTimeWindow statusList"},
		{QueryOrdersResponse{}, "orders"},
		{CancelRequest{}, "customerReferenceNo supplierReferenceNo reason"},
		{types.PageResp{}, "total hasMore"},
		{OAuthTokenResponse{}, "access_token"},
		{TicketResponse{}, "ticket"},
	} {
		assert.Equal(t, c.want, strings.Join(jsonNames(reflect.TypeOf(c.of)), " "), "%T", c.of)
	}
}

func jsonNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" && t.Field(i).IsExported() {
			names = append(names, name)
		}
	}
	return names
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	c := answering(t, `{"code":0,"msg":"","extra":1,"data":{"orders":[{"status":1,"newField":{"deep":[1]}}],"alsoNew":true}}`)
	resp, err := c.QueryOrders(t.Context(), &QueryOrdersRequest{})
	require.NoError(t, err)
	assert.Equal(t, types.OrderConfirming, resp.Orders[0].Status)
	assert.Zero(t, resp.Meta.MismatchCount)
}

// answering returns a client whose service gives one answer to everything.
func answering(t *testing.T, body string) *Client {
	return asking(t, func(*http.Request) string { return body })
}

func asking(t *testing.T, answer func(*http.Request) string) *Client {
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer(r))), ContentLength: -1}, nil
	})
	c, err := New("http://127.0.0.1:1", TokenCredential{Token: types.NewSecret("token")}, WithHTTPClient(&http.Client{Transport: rt}))
	require.NoError(t, err)
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What the document does not limit is sent as it is.
func TestUnstatedLimitsAreTheServices(t *testing.T) {
	sent := 0
	c := asking(t, func(*http.Request) string { sent++; return `{"code":0,"data":{"list":[],"basic":{"sessionId":"s"}}}` })
	rooms := make([]types.GuestPerRoom, 50)
	for i := range rooms {
		rooms[i] = types.GuestPerRoom{AdultCount: 30, ChildrenAges: []int{0, 17, 45}}
	}
	_, err := c.HotelList(t.Context(), &HotelListRequest{
		DestinationName: "Anywhere", CheckIn: "2000-01-02", CheckOut: "2030-01-01", RoomOccupancies: rooms, SortBy: "stars-desc",
	})
	require.NoError(t, err)
	assert.Equal(t, 1, sent, "neither the length of a stay, rooms, guests nor order have a stated limit")

	_, err = c.HotelList(t.Context(), &HotelListRequest{
		DestinationName: "Anywhere", CheckIn: "2030-01-02", CheckOut: "2030-01-02", RoomOccupancies: []types.GuestPerRoom{{ChildrenAges: []int{-1}}},
	})
	require.ErrorContains(t, err, "checkOut")
	require.ErrorContains(t, err, "roomOccupancies[0].adultCount")
	require.ErrorContains(t, err, "roomOccupancies[0].childrenAges[0]")
	assert.Equal(t, 1, sent, "what cannot be meant is not sent")
}

// Which page comes without a pageNum is not documented for HotelList: iterators ask for
// the first by its number, and a call of its own sends none.
func TestIteratorsSendTheFirstPage(t *testing.T) {
	var body string
	c := asking(t, func(r *http.Request) string {
		sent, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		body = string(sent)
		return `{"code":0,"data":{"list":[],"basic":{"sessionId":"s"},"hotelsMetadata":[],"page":{}}}`
	})
	search := &HotelListRequest{HotelIDs: []string{"h"}, CheckIn: "2030-01-02", CheckOut: "2030-01-03", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}
	for range c.HotelListPages(t.Context(), search) {
		assert.Contains(t, body, `"pageNum":1`)
	}
	for _, err := range c.HotelsMetadataAll(t.Context(), &HotelsMetadataRequest{DestinationID: "d"}) {
		require.NoError(t, err)
	}
	assert.Contains(t, body, `"pageNum":1`)
	_, err := c.HotelList(t.Context(), search)
	require.NoError(t, err)
	assert.NotContains(t, body, "pageNum")
}

// The operations that fetch a token carry neither token, market nor user; what
// the caller's clock says is sent as the caller wrote it.
func TestHeadersOfTokenOperations(t *testing.T) {
	var got http.Header
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		got = r.Header
		return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1,
			Body: io.NopCloser(strings.NewReader(`{"code":0,"data":{"ticket":"t","access_token":"t"}}`))}, nil
	})
	c, err := New("http://127.0.0.1:1", TokenCredential{Token: types.NewSecret("token")}, WithHTTPClient(&http.Client{Transport: rt}),
		WithMarket("AE"), WithUserRef("user-1"), WithCurrency("EUR"), WithLanguage("ar"), WithClientIP("192.0.2.1"))
	require.NoError(t, err)
	calls := map[Operation]func() error{
		OpTicket: func() error {
			_, err := c.Ticket(t.Context(), &TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s")}, WithClientRequestTimestamp("1790000000"))
			return err
		},
		OpOAuthToken: func() error {
			_, err := c.OAuthToken(t.Context(), &OAuthTokenRequest{ClientID: "k", ClientSecret: types.NewSecret("s")}, WithClientRequestTimestamp("1790000000"))
			return err
		},
	}
	for op, call := range calls {
		require.NoError(t, call(), op)
		for _, absent := range []string{"Authorization", "Market", "User-Ref", "Currency", "Session-Id", "Test", "Timeout-Milliseconds"} {
			assert.NotContains(t, got, absent, op)
		}
		assert.Equal(t, "1790000000", got.Get("Client-Request-Timestamp"))
		assert.Equal(t, "ar", got.Get("Language"))
		assert.Equal(t, "192.0.2.1", got.Get("IP"))
	}
}

func TestTestFlags(t *testing.T) {
	var got string
	c := asking(t, func(r *http.Request) string { got = r.Header.Get("Test"); return `{"code":0,"data":{"status":1}}` })
	req := &CheckAvailRequest{SessionID: "s", RatePkgID: "r"}
	_, err := c.CheckAvail(t.Context(), req, WithTestFlags(map[string]string{"slow": "1", "empty": "yes"}))
	require.NoError(t, err)
	assert.Equal(t, "empty=yes&slow=1", got, "in a fixed order")
	for _, bad := range []map[string]string{{"a&b": "1"}, {"a": "1=2"}, {"": "1"}, {}} {
		_, err := c.CheckAvail(t.Context(), req, WithTestFlags(bad))
		var invalid *ValidationError
		require.ErrorAs(t, err, &invalid, "%v", bad)
		assert.Equal(t, "WithTestFlags", invalid.Fields[0].Path)
	}
}

func TestOperationsWithoutACeiling(t *testing.T) {
	limiter := newProcessLimiter(0)
	for _, op := range []Operation{OpOAuthToken, OpHotelIDList} {
		for range 1000 {
			permit, err := limiter.Acquire(context.Background(), op)
			require.NoError(t, err)
			permit.Sent()
			permit.Done(PermitResult{})
		}
	}
}

// A code that the document does not list is kept, and the HTTP status says what
// kind of failure it is.
func TestUndocumentedCodes(t *testing.T) {
	for status, want := range map[int]error{400: ErrParam, 401: ErrUnauthorized, 403: ErrForbidden, 404: ErrNotFound, 429: ErrRateLimited, 504: ErrUpstreamTimeout} {
		err := &APIError{Operation: OpQueryOrders, HTTPStatus: status, Code: 123}
		assert.ErrorIs(t, err, want)
		assert.Contains(t, err.Error(), "code 123")
	}
	assert.NotErrorIs(t, &APIError{HTTPStatus: 400, Code: CodeRateChanged}, ErrParam, "a documented code decides")
}

func TestExpiredLinkAnswers(t *testing.T) {
	v := &types.Voucher{VoucherNumber: "v", ByteSize: 1, Signature: &types.VoucherSignature{}, DownloadURL: "http://127.0.0.1:1/v"}
	for status, expired := range map[int]bool{401: true, 403: true, 404: true, 410: true, 302: false, 400: false, 500: false} {
		rt := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}, nil
		})
		c, err := New("http://127.0.0.1:1", TokenCredential{Token: types.NewSecret("token")}, WithHTTPClient(&http.Client{Transport: rt}))
		require.NoError(t, err)
		err = c.DownloadVoucher(t.Context(), v, io.Discard)
		require.Error(t, err)
		assert.Equal(t, expired, errors.Is(err, ErrVoucherLinkExpired), "%d: %v", status, err)
	}
}
