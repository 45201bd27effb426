// Requests and options that the client refuses before it sends anything: values beyond a documented limit, missing
// fields, unknown enumeration values, and callback URLs that are not public.

package hotelstays_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

type noSend struct{ t *testing.T }

func (n noSend) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("sent %s", r.URL)
	return nil, errors.New("nothing should be sent")
}

// faultPaths returns the sorted paths of a *ValidationError, which err must be or wrap.
func faultPaths(t *testing.T, err error) []string {
	t.Helper()
	invalid := errorAs[*hotelstays.ValidationError](t, err)
	var paths []string
	for _, f := range invalid.Fields {
		paths = append(paths, f.Path)
		assert.NotEmpty(t, f.Problem, f.Path)
		assert.Contains(t, err.Error(), f.Path+": "+f.Problem)
	}
	slices.Sort(paths)
	return paths
}

func edited[Q any](good Q, change func(*Q)) *Q {
	change(&good)
	return &good
}

type (
	listReq  = hotelstays.HotelListRequest
	ratesReq = hotelstays.HotelRatesRequest
	bookReq  = hotelstays.BookRequest
)

func goodHotelList() listReq {
	return listReq{DestinationID: "d", CheckIn: "2026-12-24", CheckOut: "2026-12-27",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}
}

func goodBook() bookReq {
	return bookReq{SessionID: "s", CustomerReferenceNo: "ref-1", RatePkgID: "pkg",
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}}}
}

func hotelIDs(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("h", i)
	}
	return list
}

type validationRow struct {
	name   string
	req    any
	faults []string
}

var accepted []string

func faultsIn(paths ...string) []string { return paths }

func checkRows(t *testing.T, rows []validationRow) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			service := &fixedAnswer{Status: 403}
			err := send(t, clientWith(t, service, bearerToken("token")), row.req)
			if len(row.faults) > 0 {
				assert.Equal(t, row.faults, faultPaths(t, err))
				assert.Empty(t, service.Sent)
				return
			}
			assert.NotErrorAs(t, err, new(*hotelstays.ValidationError))
			assert.Len(t, service.Sent, 1)
		})
	}
}

func send(t *testing.T, client *hotelstays.Client, req any) error {
	op := strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Request")
	results := reflect.ValueOf(client).MethodByName(op).Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(req)})
	err, _ := reflect.TypeAssert[error](results[1])
	return err
}

func list(change func(*listReq)) *listReq { return edited(goodHotelList(), change) }
func book(change func(*bookReq)) *bookReq { return edited(goodBook(), change) }

func rates(change func(*ratesReq)) *ratesReq {
	return edited(ratesReq{SessionID: "s", HotelID: "h", CheckIn: "2026-12-24", CheckOut: "2026-12-27", RoomOccupancies: twoAdults()}, change)
}

func guest(change func(*types.Guest)) *bookReq {
	return book(func(r *bookReq) { change(&r.Guests[0]) })
}

func TestTokenRequestsAreValidated(t *testing.T) {
	ticket := func(secret string, ttl time.Duration) *hotelstays.TicketRequest {
		return &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret(secret), TTL: ttl}
	}
	oauth := func(secret string, scopes ...types.Scope) *hotelstays.OAuthTokenRequest {
		return &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret(secret), Scopes: scopes}
	}
	checkRows(t, []validationRow{
		{"Ticket: nothing set", &hotelstays.TicketRequest{}, faultsIn("appKey", "appSecret")},
		{"Ticket: blank key", &hotelstays.TicketRequest{AppKey: " ", AppSecret: types.NewSecret("s")}, faultsIn("appKey")},
		{"Ticket: no ttl", ticket("s", 0), accepted},
		{"Ticket: ttl of a second", ticket("s", time.Second), accepted},
		{"Ticket: the longest ttl", ticket("s", 31536000*time.Second), accepted},
		{"Ticket: a second more than the longest ttl", ticket("s", 31536001*time.Second), faultsIn("ttl")},
		{"Ticket: negative ttl", ticket("s", -time.Second), faultsIn("ttl")},
		{"Ticket: a part of a second", ticket("s", 1500*time.Millisecond), faultsIn("ttl")},
		{"Ticket: a secret masked by a log", ticket("[redacted]", 0), faultsIn("appSecret")},
		{"OAuthToken: nothing set", &hotelstays.OAuthTokenRequest{}, faultsIn("client_id", "client_secret")},
		{"OAuthToken: an undocumented scope", oauth("s", types.ScopeSearchRead, "search:write"), accepted},
		{"OAuthToken: two scopes in one, and empty scopes", oauth("s", "search:read content:read", "\t", ""),
			faultsIn("scope[0]", "scope[1]", "scope[2]")},
		{"OAuthToken: a secret masked by a log", oauth("[redacted]"), faultsIn("client_secret")},
	})
}

func TestContentRequestsAreValidated(t *testing.T) {
	places := func(country string, include types.DestinationsInclude) *hotelstays.DestinationsRequest {
		return &hotelstays.DestinationsRequest{CountryCode: country, Include: include}
	}
	catalogue := func(page types.PageReq) *hotelstays.HotelsMetadataRequest {
		return &hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &page}
	}
	checkRows(t, []validationRow{
		{"Destinations: nothing set", places("", ""), accepted},
		{"Destinations: country", places("AE", types.DestinationsIncludeStandard), accepted},
		{"Destinations: three letters", places("ARE", ""), faultsIn("countryCode")},
		{"Destinations: small letters", places("ae", types.DestinationsIncludeDetails), faultsIn("countryCode")},
		{"Destinations: two bytes, one letter", places("Ä", ""), faultsIn("countryCode")},
		{"Destinations: unknown include", places("", "everything"), faultsIn("include")},
		{"HotelsMetadata: no destination", &hotelstays.HotelsMetadataRequest{}, faultsIn("destinationId")},
		{"HotelsMetadata: largest page", catalogue(types.PageReq{PageSize: 100}), accepted},
		{"HotelsMetadata: a page size above the limit", catalogue(types.PageReq{PageSize: 101}), faultsIn("page.pageSize")},
		{"HotelsMetadata: negative page size", catalogue(types.PageReq{PageSize: -1}), faultsIn("page.pageSize")},
		{"HotelsMetadata: a page below 1", catalogue(types.PageReq{PageNum: -1}), accepted},
		{"HotelStaticDetail: nothing set", &hotelstays.HotelStaticDetailRequest{}, faultsIn("hotelId")},
		{"HotelIDList: nothing set", &hotelstays.HotelIDListRequest{}, accepted},
	})
}

// The dates are required, although the document has a default. The session is required except in HotelList, which opens
// a session.
func TestSearchRequestsAreValidated(t *testing.T) {
	noCountries := faultsIn("countryCode", "nationalityCode", "residencyCode")
	noStay := faultsIn("checkIn", "checkOut", "roomOccupancies")
	check := func(session string) *hotelstays.CheckAvailRequest {
		return &hotelstays.CheckAvailRequest{SessionID: session, RatePkgID: "p"}
	}
	checkRows(t, []validationRow{
		{"HotelList: by destination", list(func(r *listReq) {}), accepted},
		{"HotelList: by name", list(func(r *listReq) { r.DestinationID, r.DestinationName = "", "City" }), accepted},
		{"HotelList: by id", list(func(r *listReq) { r.DestinationID, r.HotelIDs = "", hotelIDs(1) }), accepted},
		{"HotelList: a blank destination", list(func(r *listReq) { r.DestinationID = " " }), faultsIn("hotelIds")},
		{"HotelList: 1000 ids", list(func(r *listReq) { r.HotelIDs = hotelIDs(1000) }), accepted},
		{"HotelList: 1001 ids", list(func(r *listReq) { r.HotelIDs = hotelIDs(1001) }), faultsIn("hotelIds")},
		{"HotelList: empty ids", list(func(r *listReq) { r.HotelIDs = []string{"a", "", "b", " "} }),
			faultsIn("hotelIds[1]", "hotelIds[3]")},
		{"HotelList: first and largest page", list(func(r *listReq) { r.PageNum, r.PageSize = 1, 200 }), accepted},
		{"HotelList: a page below 1", list(func(r *listReq) { r.PageNum = -1 }), faultsIn("pageNum")},
		{"HotelList: a page size above the limit", list(func(r *listReq) { r.PageSize = 201 }), faultsIn("pageSize")},
		{"HotelList: negative page size", list(func(r *listReq) { r.PageSize = -1 }), faultsIn("pageSize")},
		{"HotelList: no stay", list(func(r *listReq) { r.CheckIn, r.CheckOut, r.RoomOccupancies = "", "", nil }), noStay},
		{"HotelRates: no stay", rates(func(r *ratesReq) { r.CheckIn, r.CheckOut, r.RoomOccupancies = "", "", nil }), noStay},
		{"HotelList: a room without adults", list(func(r *listReq) { r.RoomOccupancies = append(twoAdults(), types.GuestPerRoom{}) }),
			faultsIn("roomOccupancies[1].adultCount")},
		{"HotelList: negative ages", list(func(r *listReq) { r.RoomOccupancies[0].ChildrenAges = []int{0, 17, -1} }),
			faultsIn("roomOccupancies[0].childrenAges[2]")},
		{"HotelList: many nights, rooms, guests and ages", list(func(r *listReq) {
			r.CheckOut, r.RoomOccupancies = "2066-12-24", slices.Repeat([]types.GuestPerRoom{{AdultCount: 30, ChildrenAges: []int{0, 45}}}, 50)
		}), accepted},
		{"HotelList: a stay of no night", list(func(r *listReq) { r.CheckOut = r.CheckIn }), faultsIn("checkOut")},
		{"HotelList: one night, over the end of a year", list(func(r *listReq) { r.CheckIn, r.CheckOut = "2026-12-31", "2027-01-01" }),
			accepted},
		{"HotelRates: check-out before check-in", rates(func(r *ratesReq) { r.CheckOut = "2026-12-23" }), faultsIn("checkOut")},
		{"HotelRates: dates", rates(func(r *ratesReq) { r.CheckIn, r.CheckOut = "24.12.2026", "2026-02-29" }),
			faultsIn("checkIn", "checkOut")},
		{"HotelList: no session", list(func(r *listReq) { r.SessionID = "" }), accepted},
		{"HotelRates: no session", rates(func(r *ratesReq) { r.SessionID = "" }), faultsIn("Session-Id")},
		{"CheckAvail: no session", check(""), faultsIn("Session-Id")},
		{"Book: no session", book(func(r *bookReq) { r.SessionID = "" }), faultsIn("Session-Id")},
		{"Cancel: no session", &hotelstays.CancelRequest{CustomerReferenceNo: "c", SupplierReferenceNo: "s"}, faultsIn("Session-Id")},
		{"CheckAvail: blank session", check("\t"), faultsIn("Session-Id")},
		{"CheckAvail: a session that no header can carry", check("s\r\nX: y"), faultsIn("Session-Id")},
		{"HotelList: a session that no header can carry", list(func(r *listReq) { r.SessionID = "s\n" }), faultsIn("Session-Id")},
		{"HotelList: nothing set", &listReq{}, faultsIn("checkIn", "checkOut", "hotelIds", "roomOccupancies")},
		{"HotelList: negative rates", list(func(r *listReq) { r.MaxRatesPerHotel = -1 }), faultsIn("maxRatesPerHotel")},
		{"HotelList: countries, and sortBy is free", list(func(r *listReq) {
			r.CountryCode, r.ResidencyCode, r.NationalityCode, r.SortBy = "AE", "SA", "CN", "stars-desc"
		}), accepted},
		{"HotelList: not a country", list(func(r *listReq) { r.CountryCode, r.ResidencyCode, r.NationalityCode = "ARE", "971", "C" }),
			noCountries},
		{"HotelRates: nothing set", &ratesReq{}, faultsIn("Session-Id", "checkIn", "checkOut", "hotelId", "roomOccupancies")},
		{"HotelRates: a valid request", rates(func(r *ratesReq) {}), accepted},
		{"HotelRates: not a country", rates(func(r *ratesReq) { r.CountryCode, r.ResidencyCode, r.NationalityCode = "ARE", "971", "C" }),
			noCountries},
	})
}

func TestBookingRequestsAreValidated(t *testing.T) {
	passport := func(number string) *bookReq {
		return guest(func(g *types.Guest) { g.PassportNumber = types.NewSecret(number) })
	}
	birth := faultsIn("guests[0].dateOfBirth")
	var genders []validationRow // four words and two letters are valid, in upper or lower case
	for gender, faults := range map[types.Gender][]string{"": nil, "MALE": nil, "female": nil, "Other": nil, "UNSPECIFIED": nil, "M": nil,
		"f": nil, "X": faultsIn("guests[0].gender"), " ": faultsIn("guests[0].gender")} {
		genders = append(genders, validationRow{"Book: gender " + string(gender), guest(func(g *types.Guest) { g.Gender = gender }), faults})
	}
	checkRows(t, append(genders, []validationRow{
		{"CheckAvail: nothing set", &hotelstays.CheckAvailRequest{}, faultsIn("Session-Id", "ratePkgId")},
		{"Book: nothing set", &bookReq{},
			faultsIn("Session-Id", "customerReferenceNo", "guests", "holder.firstName", "holder.lastName", "ratePkgId")},
		{"Book: a valid request", book(func(r *bookReq) {}), accepted},
		{"Book: an empty guest", book(func(r *bookReq) { r.Guests = append(r.Guests, types.Guest{}) }),
			faultsIn("guests[1].firstName", "guests[1].lastName", "guests[1].roomIndex")},
		{"Book: negative room", guest(func(g *types.Guest) { g.RoomIndex = -1 }), faultsIn("guests[0].roomIndex")},
		{"Book: a date of birth", guest(func(g *types.Guest) { g.DateOfBirth = "1986-02-28" }), accepted},
		{"Book: a date of birth in another form", guest(func(g *types.Guest) { g.DateOfBirth = "28/02/1986" }), birth},
		{"Book: a child without an age", guest(func(g *types.Guest) { g.IsChild = new(true) }), birth},
		{"Book: a child with an age", guest(func(g *types.Guest) { g.IsChild, g.Age = new(true), new(0) }), accepted},
		{"Book: a child with a date of birth", guest(func(g *types.Guest) { g.IsChild, g.DateOfBirth = new(true), "2020-02-29" }), accepted},
		{"Book: an adult without an age", guest(func(g *types.Guest) { g.IsChild = new(false) }), accepted},
		{"Book: passport of 50 characters, 150 bytes", passport(strings.Repeat("号", 50)), accepted},
		{"Book: passport of 51 characters", passport(strings.Repeat("A", 51)), faultsIn("guests[0].passportNumber")},
		{"Book: a passport number masked by a log", passport("[redacted]"), faultsIn("guests[0].passportNumber")},
		{"Book: a valid callback", book(func(r *bookReq) { r.CallbackURL = "https://hooks.example.test/x" }), accepted},
		{"Book: callback without TLS", book(func(r *bookReq) { r.CallbackURL = "http://hooks.example.test/x" }), faultsIn("callbackUrl")},
		{"Book: callback to this machine", book(func(r *bookReq) { r.CallbackURL = "https://127.0.0.1/x" }), faultsIn("callbackUrl")},
	}...))
}

// ValidateBook accepts the options of BookAndRecover.
func TestValidateBookFindsWhatBookRefuses(t *testing.T) {
	c := clientWith(t, noSend{t}, bearerToken("token"))
	bad := book(func(r *bookReq) { r.Guests, r.CallbackURL = nil, "http://127.0.0.1/x" })
	assert.Equal(t, faultsIn("callbackUrl", "guests"), faultPaths(t, c.ValidateBook(bad)))
	_, err := c.Book(t.Context(), bad)
	assert.Equal(t, err, c.ValidateBook(bad))
	assert.Equal(t, faultsIn("request"), faultPaths(t, c.ValidateBook(nil)))
	assert.Equal(t, faultsIn("WithMarket"), faultPaths(t, c.ValidateBook(new(goodBook()), hotelstays.WithMarket("Germany"))))
	assert.NoError(t, c.ValidateBook(new(goodBook())))
	assert.ErrorContains(t, (*hotelstays.Client)(nil).ValidateBook(new(goodBook())), "hotelstays.New")
}

// encoding/json would replace invalid UTF-8 by other characters. Then a search finds nothing, and Book names another guest.
func TestInvalidUTF8IsRefused(t *testing.T) {
	checkRows(t, []validationRow{
		{"HotelList: Latin-1", list(func(r *listReq) {
			r.DestinationID, r.DestinationName, r.HotelIDs = "\xe9", "M\xe1laga", []string{"a", "\xff"}
		}), faultsIn("destinationId", "destinationName", "hotelIds[1]")},
		{"HotelList: other scripts", list(func(r *listReq) { r.DestinationName = "Málaga دبي \ufffd" }), accepted},
		{"QueryOrders: Latin-1", &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"a", "\xff"},
			SupplierReferenceNos: []string{"\xff"}},
			faultsIn("customerReferenceNos[1]", "supplierReferenceNos[0]")},
		{"OrderVoucher: Latin-1",
			&hotelstays.OrderVoucherRequest{CustomerReferenceNo: "\xff", PlatformReferenceNo: "\xff", SupplierReferenceNo: "\xff"},
			faultsIn("customerReferenceNo", "platformReferenceNo", "supplierReferenceNo")},
		{"Book: names in Latin-1", guest(func(g *types.Guest) { g.FirstName, g.PassportNumber = "Jos\xe9", types.NewSecret("A\xe9") }),
			faultsIn("guests[0].firstName", "guests[0].passportNumber")},
	})
}

func TestOrderRequestsAreValidated(t *testing.T) {
	orders := func(statuses ...string) *hotelstays.QueryOrdersRequest {
		req := &hotelstays.QueryOrdersRequest{}
		for _, status := range statuses {
			req.StatusList = append(req.StatusList, types.StatusFilter{Raw: json.RawMessage(status)})
		}
		return req
	}
	checkRows(t, []validationRow{
		{"QueryOrders: nothing set", orders(), accepted},
		{"QueryOrders: statuses", orders(`1`, `"x"`, `{"a":1}`), accepted},
		{"QueryOrders: not JSON", orders(`1`, `confirmed`, ``, `1 2`), faultsIn("statusList[1]", "statusList[2]", "statusList[3]")},
		{"OrderVoucher: no reference", &hotelstays.OrderVoucherRequest{IncludeDocument: true},
			faultsIn("platformReferenceNo")},
		{"OrderVoucher: a blank reference", &hotelstays.OrderVoucherRequest{CustomerReferenceNo: " "}, faultsIn("platformReferenceNo")},
		{"OrderVoucher: by customer reference", &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c"}, accepted},
		{"OrderVoucher: by platform reference", &hotelstays.OrderVoucherRequest{PlatformReferenceNo: "p"}, accepted},
		{"OrderVoucher: by supplier reference", &hotelstays.OrderVoucherRequest{SupplierReferenceNo: "s"}, accepted},
		{"Cancel: nothing set", &hotelstays.CancelRequest{}, faultsIn("Session-Id", "customerReferenceNo", "supplierReferenceNo")},
		{"Cancel: no reason", &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "c", SupplierReferenceNo: "p"}, accepted},
	})
}

func TestNilRequestIsRefused(t *testing.T) {
	client := clientWith(t, noSend{t}, bearerToken("token"))
	for _, op := range testkit.Operations() {
		method, _ := reflect.TypeFor[*hotelstays.Client]().MethodByName(string(op))
		assert.Equal(t, []string{"request"}, faultPaths(t, send(t, client, reflect.Zero(method.Type.In(2)).Interface())), op)
	}
}

// The same rules apply to the options of a client and of a call.
func TestOptionValuesAreValidated(t *testing.T) {
	for _, row := range []struct {
		name, path string
		opt        hotelstays.CallOption
	}{
		{"empty language", "WithLanguage", hotelstays.WithLanguage("")},
		{"language in words", "WithLanguage", hotelstays.WithLanguage("British English")},
		{"market of three letters", "WithMarket", hotelstays.WithMarket("ARE")},
		{"blank user", "WithUserRef", hotelstays.WithUserRef("  ")},
		{"user with a line break", "WithUserRef", hotelstays.WithUserRef("a\r\nX-Evil: 1")},
		{"user with a DEL", "WithUserRef", hotelstays.WithUserRef("a\x7f")},
		{"user with outer spaces", "WithUserRef", hotelstays.WithUserRef(" a")},
		{"currency of two letters", "WithCurrency", hotelstays.WithCurrency("EU")},
		{"host name", "WithClientIP", hotelstays.WithClientIP("host.example.test")},
		{"address and zone", "WithClientIP", hotelstays.WithClientIP("fe80::1%eth0")},
		{"flag without a name", "WithTestFlags", hotelstays.WithTestFlags(map[string]string{"": "1"})},
		{"flag with &", "WithTestFlags", hotelstays.WithTestFlags(map[string]string{"a": "1&b=2"})},
		{"flag with =", "WithTestFlags", hotelstays.WithTestFlags(map[string]string{"a=b": "1"})},
		{"negative timeout", "WithTimeout", hotelstays.WithTimeout(-time.Second)},
		{"trace with a line break", "WithTraceID", hotelstays.WithTraceID("a\nb")},
		{"header without a value", "WithHeader", hotelstays.WithHeader("X-Zone", "")},
		{"header with a line break", "WithHeader", hotelstays.WithHeader("X-Zone", "a\r\nX-Evil: 1")},
		{"no attempts", "WithMaxAttempts", hotelstays.WithMaxAttempts(0)},
		{"too many attempts", "WithMaxAttempts", hotelstays.WithMaxAttempts(101)},
		{"no function for ids", "WithRequestID", hotelstays.WithRequestID(nil)},
		{"no function for times", "WithClientRequestTimestamp", hotelstays.WithClientRequestTimestamp(nil)},
		{"an unreadable status as cancelled", "WithServiceFacts",
			withStates(hotelstays.StatusMeanings{Cancelled: []types.OrderStatus{types.OrderStatusUnreadable}})},
		{"a status in two lists", "WithServiceFacts", withStates(hotelstays.StatusMeanings{
			Confirmed: []types.OrderStatus{2}, Pending: []types.OrderStatus{4}, Cancelled: []types.OrderStatus{2}})},
		{"the code of a success as a refusal", "WithServiceFacts", refusing(hotelstays.OpBook, 7, 0)},
		{"a negative refusal code", "WithServiceFacts", refusing(hotelstays.OpCancel, -1)},
		{"refusal codes of an unknown operation", "WithServiceFacts", refusing("book", 7)},
		{"refusal codes of an operation that only reads", "WithServiceFacts", refusing(hotelstays.OpQueryOrders, 7)},
		{"an open status as confirmed", "WithServiceFacts", withStates(hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2, 1}})},
		{"an open status as cancelled", "WithServiceFacts", withStates(hotelstays.StatusMeanings{Cancelled: []types.OrderStatus{0}})},
		{"nil", "opts", nil},
	} {
		err := operationCalls[hotelstays.OpBook](t.Context(), clientWith(t, noSend{t}, bearerToken("token")), row.opt)
		assert.Equal(t, []string{row.path}, faultPaths(t, err), row.name)

		if shared, ok := row.opt.(hotelstays.Option); ok {
			_, err = hotelstays.New("https://api.example.test", bearerToken("token"), shared)
			assert.Equal(t, []string{row.path}, faultPaths(t, err), row.name)
		}
	}
}

// The index in the path of a fault counts the ids of the whole request, not the ids of a batch.
func TestHotelListBatchesValidatesAllIDsBeforeTheFirstCall(t *testing.T) {
	for _, row := range []struct{ ids, faults []string }{
		{[]string{"a", "", "b", "\xff"}, faultsIn("hotelIds[1]", "hotelIds[3]")},
		{nil, faultsIn("hotelIds")},
	} {
		req := edited(goodHotelList(), func(r *hotelstays.HotelListRequest) { r.DestinationID, r.HotelIDs = "", row.ids })
		_, errs := collect(clientWith(t, noSend{t}, bearerToken("token")).HotelListBatches(t.Context(), req, hotelstays.WithBatchSize(3)))
		require.Len(t, errs, 1)
		assert.Equal(t, row.faults, faultPaths(t, errs[0]))
	}
}

func TestCallbackURLMustBePublic(t *testing.T) {
	good := strings.FieldsSeq(`
		https://hooks.example.com https://hooks.example.com:8443/orders?x=1&y=2#z HTTPS://HOOKS.EXAMPLE.COM/
		https://hooks.example.com./orders https://hooks_1.Example.com/x%20y https://hooks.example.com:65535/x
		https://xn--bcher-kva.example/x https://internal.example.com/x https://local.example.com/x https://localhost.example.com/x
		https://10.example.com/x https://8.8.8.8/x https://100.63.255.255/x https://100.128.0.1/x https://172.15.0.1/x https://172.32.0.1/x
		https://192.0.1.1/x https://192.0.3.1/x https://198.17.255.255/x https://198.20.0.1/x https://203.0.114.1/x
		https://[2a00:1450:4001:81b::200e]/x https://[2001:200::1]/x https://[::ffff:8.8.8.8]/x`)
	for raw := range good {
		assert.NoError(t, hotelstays.ValidateCallbackURL(raw), raw)
	}
	bad := []string{
		"", " ", "https://hooks example.com/x", " https://hooks.example.com/x", "https://hooks.example.com/x ",
		"https://hooks.example.com/or ders",
		"https://hooks.example.com/x?a= b", "https://hooks.example.com\n/x", "https://127.0.0.1\\@hooks.example.com/x",
		"https://hooks.example.com\\@127.0.0.1/x",
		"https://boo\u212Aing.example/x", "https://\u0130nternational.example/x", // a check after strings.ToLower would see k and i
	}
	bad = append(bad, strings.Fields(`
		hooks.example.com //hooks.example.com/x /orders https: https:// https:///x https:hooks.example.com https://:443/x
		http://hooks.example.com/x HTTP://hooks.example.com/x ftp://hooks.example.com/x file:///etc/passwd javascript:alert(1) data:,x
		https://hooks.example.com:port/x https://hooks.example.com:65536/x https://8.8.8.8:99999999999999999999/x
		https://hooks.example.com/%zz https://[::1/x`)...)
	for _, hosts := range map[string]string{
		"no host":  "%31%32%37.0.0.1 [not-an-address] hooks..example.com .example.com localhost.. hooks.internal.. .",
		"loopback": "127.0.0.1 127.255.255.254 127.0.0.1:8443 [::1] [0:0:0:0:0:0:0:1] 127.0.0.1.",
		"private": "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 " +
			"[fc00::1] [fd12:3456:789a::1] [fec0::1]",
		"shared":         "100.64.0.0 100.64.0.1 100.100.100.200 100.127.255.255",
		"documentation":  "192.0.2.1 198.51.100.255 203.0.113.9 [2001:db8::1] [3fff:fff::1]",
		"other reserved": "198.18.0.1 198.19.255.255 192.88.99.1 [2001:1::1] [2001:2::1] [2001:10::1] [2001:1ff::1]",
		"link-local":     "169.254.169.254 169.254.0.1 [fe80::1] [febf::1]",
		"no single host": "0.0.0.0 0.1.2.3 192.0.0.192 [::] 255.255.255.255 224.0.0.1 [ff02::1] 240.0.0.1",
		"IPv4 in another notation": "2130706433 0x7f000001 0X7F000001 017700000001 0x7f.0.0.1 0177.0.0.1 127.1 127.0.1 10.1 0 0x0 " +
			"127.0.0.01 127.0.0.0x1 1.2.3.4.5 256.1.1.1",
		"IPv4 inside IPv6": "[::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [::ffff:100.64.0.1] [::127.0.0.1] [::7f00:1] " +
			"[64:ff9b::127.0.0.1] [64:ff9b::a00:1] [64:ff9b::6440:1] [64:ff9b::a9fe:a9fe] [64:ff9b::808:808] [64:ff9b:1::7f00:1] " +
			"[2002:7f00:1::1] [2002:a00:1::1] [2002:c0a8:101::1] [2002:808:808::1] [2001::1] [2001:0:7f00:1::] [::ffff:0:127.0.0.1]",
		"IPv6 with a zone": "[fe80::1%25eth0] [2a00:1450:4001:81b::200e%25eth0] [::1%25lo] [::ffff:8.8.8.8%25eth0]",
		"a name that is not public": "localhost LOCALHOST localhost. localhost:8443 app.localhost app.LocalHost. intranet intranet. hooks:8443 " +
			"hooks.internal a.b.internal hooks.INTERNAL hooks.internal. printer.local a.b.Local printer.local.",
		"characters of no host": "hooks<1>.example a,b.example hooks.example! $hooks.example",
		"a look-alike":          "ｌocalhost １２７.0.0.1 127。0。0。1 127%E3%80%820%E3%80%820%E3%80%821 hooks.ınternal",
		"behind userinfo":       "hooks.example.com@127.0.0.1 hooks.example.com:443@10.0.0.1 hooks.example.com%2F@localhost @127.0.0.1",
	} {
		for host := range strings.FieldsSeq(hosts) {
			bad = append(bad, "https://"+host+"/x")
		}
	}
	for _, raw := range bad {
		err := hotelstays.ValidateCallbackURL(raw)
		if assert.Error(t, err, raw) {
			assert.Equal(t, []string{"callbackUrl"}, faultPaths(t, err), raw)
		}
	}
}

// A token of TokenCredential may be a ticket. An OAuth token is not a ticket.
func TestOnlyAnOAuthCredentialForbidsACallbackURL(t *testing.T) {
	oauth := hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s"), Scopes: []types.Scope{types.ScopeBookingWrite}}
	req := book(func(r *bookReq) { r.CallbackURL = "https://hooks.example.test/x" })

	for _, cred := range []hotelstays.Credential{oauth, &oauth} {
		_, err := clientWith(t, noSend{t}, cred).Book(t.Context(), req)
		assert.Equal(t, []string{"callbackUrl"}, faultPaths(t, err), "%T", cred)

		service := &fixedAnswer{Status: 403} // the client fetches a token only if the request is valid
		_, err = clientWith(t, service, cred).Book(t.Context(), new(goodBook()))
		require.Error(t, err)
		assert.Len(t, service.Sent, 1, "%T", cred)
	}
	service := &fixedAnswer{Status: 403}
	_, err := clientWith(t, service, hotelstays.TokenCredential{Token: types.NewSecret("t")}).Book(t.Context(), req)
	require.Error(t, err)
	assert.Len(t, service.Sent, 1)
}

// A client of a loopback base URL still refuses all other private addresses.
func TestLoopbackClientMayUseLoopbackCallbacks(t *testing.T) {
	for _, row := range []struct {
		base, callback string
		ok             bool
	}{
		{"http://127.0.0.1:8080", "http://127.0.0.1:9000/x", true},
		{"http://localhost:8080", "http://[::1]:9000/x", true},
		{"https://[::1]:8443", "https://localhost/x", true},
		{"http://127.0.0.1:8080", "https://hooks.example.test/x", true},
		{"http://127.0.0.1:8080", "http://hooks.example.test/x", false},
		{"http://127.0.0.1:8080", "http://10.0.0.1/x", false},
		{"http://127.0.0.1:8080", "https://intranet/x", false},
		{"http://127.0.0.1:8080", "http://localhost@hooks.example.test/x", false},
		{"http://127.0.0.1:8080", "ftp://localhost/x", false},
		{"https://api.example.test", "http://127.0.0.1:9000/x", false},
		{"https://api.example.test", "https://127.0.0.1:9000/x", false},
		{"https://api.example.test", "https://localhost/x", false},
		{"https://10.0.0.1", "https://10.0.0.2/x", false},
	} {
		service := &fixedAnswer{Status: 403}
		c := clientAt(t, row.base, bearerToken("t"), service, hotelstays.WithMaxAttempts(1))
		_, err := c.Book(t.Context(), book(func(r *bookReq) { r.CallbackURL = row.callback }))
		assert.Len(t, service.Sent, map[bool]int{true: 1}[row.ok], row)
		if !row.ok {
			assert.Equal(t, []string{"callbackUrl"}, faultPaths(t, err), row)
		}
	}
}

// net/http accepts each URL that ValidateCallbackURL accepts. The URL is https, and its host has more than one label.
func FuzzCallbackURL(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw string) {
		err := hotelstays.ValidateCallbackURL(raw)
		if err != nil {
			if _, ok := errors.AsType[*hotelstays.ValidationError](err); !ok {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		req, err := http.NewRequest(http.MethodPost, raw, nil)
		if err != nil || req.URL.Scheme != "https" || !strings.ContainsAny(req.URL.Hostname(), ".:") {
			t.Fatalf("%q is accepted: %v", raw, err)
		}
	})
}
