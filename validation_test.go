// What is refused before anything is sent: every documented limit, required field,
// enumeration, form and selector, all faults at once. What lies on a limit goes out.

package hotelstays_test

import (
	"context"
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
	"github.com/hotelstays/hotelstays-go/internal/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// apiCall is a request and the method that sends it.
type apiCall struct {
	req  any
	send func(ctx context.Context, c *hotelstays.Client, opts ...hotelstays.CallOption) (any, error)
}

func callOf[Q, R any](method func(*hotelstays.Client, context.Context, *Q, ...hotelstays.CallOption) (*R, error), req *Q) apiCall {
	return apiCall{req, func(ctx context.Context, c *hotelstays.Client, opts ...hotelstays.CallOption) (any, error) {
		return method(c, ctx, req, opts...)
	}}
}

// noSend fails the test when anything is sent.
type noSend struct{ t *testing.T }

func (n noSend) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("sent %s", r.URL)
	return nil, errors.New("nothing should be sent")
}

// countedRequests counts requests and refuses each of them.
type countedRequests struct{ sent int }

func (c *countedRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent++
	return nil, errors.New("counted")
}

// faultPaths are the places that err names, sorted; it fails when err is not a
// *ValidationError.
func faultPaths(t *testing.T, err error) []string {
	t.Helper()
	var invalid *hotelstays.ValidationError
	require.ErrorAs(t, err, &invalid)
	var paths []string
	for _, f := range invalid.Fields {
		paths = append(paths, f.Path)
		assert.NotEmpty(t, f.Problem, f.Path)
		assert.Contains(t, err.Error(), f.Path+": "+f.Problem)
	}
	slices.Sort(paths)
	return paths
}

// edited returns a good request, changed.
func edited[Q any](good Q, change func(*Q)) *Q {
	change(&good)
	return &good
}

func goodHotelList() hotelstays.HotelListRequest {
	return hotelstays.HotelListRequest{DestinationID: "d", CheckIn: "2026-12-24", CheckOut: "2026-12-27",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}
}

func goodHotelRates() hotelstays.HotelRatesRequest {
	return hotelstays.HotelRatesRequest{SessionID: "s", HotelID: "h", CheckIn: "2026-12-24", CheckOut: "2026-12-27",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}
}

func goodBook() hotelstays.BookRequest {
	return hotelstays.BookRequest{SessionID: "s", CustomerReferenceNo: "ref", RatePkgID: "pkg",
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

// validationRow is a request and the places where it is at fault; with none it is sent.
type validationRow struct {
	name   string
	call   apiCall
	faults []string
}

// accepted marks a request that goes out.
var accepted []string

func faultsIn(paths ...string) []string { return paths }

func checkRows(t *testing.T, rows []validationRow) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			counted := &countedRequests{}
			var rt http.RoundTripper = counted
			if len(row.faults) > 0 {
				rt = noSend{t}
			}
			_, err := row.call.send(t.Context(), clientWith(t, rt, bearerToken("token")))
			if len(row.faults) > 0 {
				assert.Equal(t, row.faults, faultPaths(t, err))
				return
			}
			assert.NotErrorAs(t, err, new(*hotelstays.ValidationError))
			assert.Equal(t, 1, counted.sent)
		})
	}
}

func ticketCall(r hotelstays.TicketRequest) apiCall { return callOf((*hotelstays.Client).Ticket, &r) }

func oauthCall(r hotelstays.OAuthTokenRequest) apiCall {
	return callOf((*hotelstays.Client).OAuthToken, &r)
}

func destinationsCall(r hotelstays.DestinationsRequest) apiCall {
	return callOf((*hotelstays.Client).Destinations, &r)
}

func metadataCall(r hotelstays.HotelsMetadataRequest) apiCall {
	return callOf((*hotelstays.Client).HotelsMetadata, &r)
}

func checkAvailCall(r hotelstays.CheckAvailRequest) apiCall {
	return callOf((*hotelstays.Client).CheckAvail, &r)
}

func queryOrdersCall(r hotelstays.QueryOrdersRequest) apiCall {
	return callOf((*hotelstays.Client).QueryOrders, &r)
}

func voucherCall(r hotelstays.OrderVoucherRequest) apiCall {
	return callOf((*hotelstays.Client).OrderVoucher, &r)
}

func cancelCall(r hotelstays.CancelRequest) apiCall { return callOf((*hotelstays.Client).Cancel, &r) }

func hotelListCall(change func(*hotelstays.HotelListRequest)) apiCall {
	return callOf((*hotelstays.Client).HotelList, edited(goodHotelList(), change))
}

func hotelRatesCall(change func(*hotelstays.HotelRatesRequest)) apiCall {
	return callOf((*hotelstays.Client).HotelRates, edited(goodHotelRates(), change))
}

func bookCall(change func(*hotelstays.BookRequest)) apiCall {
	return callOf((*hotelstays.Client).Book, edited(goodBook(), change))
}

func guestCall(change func(*types.Guest)) apiCall {
	return bookCall(func(r *hotelstays.BookRequest) { change(&r.Guests[0]) })
}

func TestValidationOfTokens(t *testing.T) {
	checkRows(t, []validationRow{
		{"Ticket: nothing set", ticketCall(hotelstays.TicketRequest{}), faultsIn("appKey", "appSecret")},
		{"Ticket: blank key", ticketCall(hotelstays.TicketRequest{AppKey: " ", AppSecret: types.NewSecret("s")}), faultsIn("appKey")},
		{"Ticket: no ttl", ticketCall(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s")}), accepted},
		{"Ticket: ttl of a second", ticketCall(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: time.Second}),
			accepted},
		{"Ticket: the longest ttl", ticketCall(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"),
			TTL: 31536000 * time.Second}), accepted},
		{"Ticket: a second more", ticketCall(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: 31536001 * time.Second}),
			faultsIn("ttl")},
		{"Ticket: negative ttl", ticketCall(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: -time.Second}),
			faultsIn("ttl")},
		{"Ticket: a part of a second", ticketCall(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"),
			TTL: 1500 * time.Millisecond}), faultsIn("ttl")},
		{"Ticket: a secret that was logged", ticketCall(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("[redacted]")}),
			faultsIn("appSecret")},
		{"OAuthToken: nothing set", oauthCall(hotelstays.OAuthTokenRequest{}), faultsIn("client_id", "client_secret")},
		{"OAuthToken: all scopes", oauthCall(hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("s"),
			Scopes: []types.Scope{
				"search:read", "content:read", "booking:read", "booking:write", "booking:cancel"}}), accepted},
		{"OAuthToken: a scope that the document does not name", oauthCall(hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("s"),
			Scopes: []types.Scope{"search:read", "search:write"}}), nil},
		{"OAuthToken: two scopes in one", oauthCall(hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("s"),
			Scopes: []types.Scope{"search:read content:read", "\t", ""}}), faultsIn("scope[0]", "scope[1]", "scope[2]")},
		{"OAuthToken: a secret that was logged", oauthCall(hotelstays.OAuthTokenRequest{ClientID: "i",
			ClientSecret: types.NewSecret("[redacted]")}), faultsIn("client_secret")},
	})
}

func TestValidationOfContent(t *testing.T) {
	checkRows(t, []validationRow{
		{"Destinations: nothing set", destinationsCall(hotelstays.DestinationsRequest{}), accepted},
		{"Destinations: country", destinationsCall(hotelstays.DestinationsRequest{CountryCode: "AE"}), accepted},
		{"Destinations: three letters", destinationsCall(hotelstays.DestinationsRequest{CountryCode: "ARE"}), faultsIn("countryCode")},
		{"Destinations: small letters", destinationsCall(hotelstays.DestinationsRequest{CountryCode: "ae"}), faultsIn("countryCode")},
		{"Destinations: one letter", destinationsCall(hotelstays.DestinationsRequest{CountryCode: "A"}), faultsIn("countryCode")},
		{"Destinations: not letters", destinationsCall(hotelstays.DestinationsRequest{CountryCode: "A1"}), faultsIn("countryCode")},
		{"Destinations: two bytes, one letter", destinationsCall(hotelstays.DestinationsRequest{CountryCode: "Ä"}), faultsIn("countryCode")},
		{"Destinations: standard", destinationsCall(hotelstays.DestinationsRequest{Include: "standard"}), accepted},
		{"Destinations: details", destinationsCall(hotelstays.DestinationsRequest{Include: "details"}), accepted},
		{"Destinations: unknown include", destinationsCall(hotelstays.DestinationsRequest{Include: "everything"}), faultsIn("include")},
		{"HotelsMetadata: no destination", metadataCall(hotelstays.HotelsMetadataRequest{}), faultsIn("destinationId")},
		{"HotelsMetadata: largest page", metadataCall(hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{PageSize: 100}}),
			accepted},
		{"HotelsMetadata: one more", metadataCall(hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{PageSize: 101}}),
			faultsIn("page.pageSize")},
		{"HotelsMetadata: negative page size", metadataCall(hotelstays.HotelsMetadataRequest{DestinationID: "d",
			Page: &types.PageReq{PageSize: -1}}), faultsIn("page.pageSize")},
		{"HotelsMetadata: a page below 1 is the first", metadataCall(hotelstays.HotelsMetadataRequest{DestinationID: "d",
			Page: &types.PageReq{PageNum: -1}}), accepted},
		{"HotelStaticDetail: nothing set", callOf((*hotelstays.Client).HotelStaticDetail, &hotelstays.HotelStaticDetailRequest{}),
			faultsIn("hotelId")},
		{"HotelStaticDetail: id", callOf((*hotelstays.Client).HotelStaticDetail, &hotelstays.HotelStaticDetailRequest{HotelID: "h"}), accepted},
		{"HotelIDList: nothing set", callOf((*hotelstays.Client).HotelIDList, &hotelstays.HotelIDListRequest{}), accepted},
	})
}

// What to search, and which page of it.
func TestSelectorsAndPages(t *testing.T) {
	checkRows(t, []validationRow{
		{"HotelList: nothing to search", hotelListCall(func(r *hotelstays.HotelListRequest) { r.DestinationID = "" }), faultsIn("hotelIds")},
		{"HotelList: by destination", hotelListCall(func(r *hotelstays.HotelListRequest) {}), accepted},
		{"HotelList: by name", hotelListCall(func(r *hotelstays.HotelListRequest) { r.DestinationID, r.DestinationName = "", "City" }), accepted},
		{"HotelList: by id", hotelListCall(func(r *hotelstays.HotelListRequest) { r.DestinationID, r.HotelIDs = "", hotelIDs(1) }), accepted},
		{"HotelList: a blank destination is none", hotelListCall(func(r *hotelstays.HotelListRequest) { r.DestinationID = " " }),
			faultsIn("hotelIds")},
		{"HotelList: 1000 ids", hotelListCall(func(r *hotelstays.HotelListRequest) { r.HotelIDs = hotelIDs(1000) }), accepted},
		{"HotelList: 1001 ids", hotelListCall(func(r *hotelstays.HotelListRequest) { r.HotelIDs = hotelIDs(1001) }), faultsIn("hotelIds")},
		{"HotelList: empty ids", hotelListCall(func(r *hotelstays.HotelListRequest) { r.HotelIDs = []string{"a", "", "b", " "} }),
			faultsIn("hotelIds[1]", "hotelIds[3]")},
		{"HotelList: first page", hotelListCall(func(r *hotelstays.HotelListRequest) { r.PageNum = 1 }), accepted},
		{"HotelList: a page below 1", hotelListCall(func(r *hotelstays.HotelListRequest) { r.PageNum = -1 }), faultsIn("pageNum")},
		{"HotelList: largest page", hotelListCall(func(r *hotelstays.HotelListRequest) { r.PageSize = 200 }), accepted},
		{"HotelList: one more", hotelListCall(func(r *hotelstays.HotelListRequest) { r.PageSize = 201 }), faultsIn("pageSize")},
		{"HotelList: negative page size", hotelListCall(func(r *hotelstays.HotelListRequest) { r.PageSize = -1 }), faultsIn("pageSize")},
	})
}

// Dates and rooms are required, although a default is documented for the dates.
func TestStayIsRequired(t *testing.T) {
	checkRows(t, []validationRow{
		{"HotelList: no dates", hotelListCall(func(r *hotelstays.HotelListRequest) { r.CheckIn, r.CheckOut = "", "" }),
			faultsIn("checkIn", "checkOut")},
		{"HotelRates: no dates", hotelRatesCall(func(r *hotelstays.HotelRatesRequest) { r.CheckIn, r.CheckOut = "", "" }),
			faultsIn("checkIn", "checkOut")},
		{"HotelList: no rooms", hotelListCall(func(r *hotelstays.HotelListRequest) { r.RoomOccupancies = nil }), faultsIn("roomOccupancies")},
		{"HotelRates: no rooms", hotelRatesCall(func(r *hotelstays.HotelRatesRequest) { r.RoomOccupancies = nil }), faultsIn("roomOccupancies")},
		{"HotelList: a room without adults", hotelListCall(func(r *hotelstays.HotelListRequest) {
			r.RoomOccupancies = append(r.RoomOccupancies, types.GuestPerRoom{})
		}), faultsIn("roomOccupancies[1].adultCount")},
		{"HotelList: negative ages", hotelListCall(func(r *hotelstays.HotelListRequest) { r.RoomOccupancies[0].ChildrenAges = []int{0, 17, -1} }),
			faultsIn("roomOccupancies[0].childrenAges[2]")},
		{"HotelList: a stay of no night", hotelListCall(func(r *hotelstays.HotelListRequest) { r.CheckOut = r.CheckIn }), faultsIn("checkOut")},
		{"HotelList: one night, over the end of a year", hotelListCall(func(r *hotelstays.HotelListRequest) {
			r.CheckIn,
				r.CheckOut = "2026-12-31", "2027-01-01"
		}), accepted},
		{"HotelRates: check-out before check-in", hotelRatesCall(func(r *hotelstays.HotelRatesRequest) { r.CheckOut = "2026-12-23" }),
			faultsIn("checkOut")},
		{"HotelRates: dates", hotelRatesCall(func(r *hotelstays.HotelRatesRequest) { r.CheckIn, r.CheckOut = "24.12.2026", "tomorrow" }),
			faultsIn("checkIn", "checkOut")},
		{"HotelRates: rooms", hotelRatesCall(func(r *hotelstays.HotelRatesRequest) { r.RoomOccupancies[0].AdultCount = -1 }),
			faultsIn("roomOccupancies[0].adultCount")},
	})
}

// The booking flow needs its session; only the search that opens it may do without.
func TestSessionIsRequired(t *testing.T) {
	checkRows(t, []validationRow{
		{"HotelList: a search opens its own", hotelListCall(func(r *hotelstays.HotelListRequest) { r.SessionID = "" }), accepted},
		{"HotelRates: none", hotelRatesCall(func(r *hotelstays.HotelRatesRequest) { r.SessionID = "" }), faultsIn("Session-Id")},
		{"CheckAvail: none", checkAvailCall(hotelstays.CheckAvailRequest{RatePkgID: "p"}), faultsIn("Session-Id")},
		{"Book: none", bookCall(func(r *hotelstays.BookRequest) { r.SessionID = "" }), faultsIn("Session-Id")},
		{"Cancel: none", cancelCall(hotelstays.CancelRequest{CustomerReferenceNo: "c", SupplierReferenceNo: "s"}), faultsIn("Session-Id")},
		{"CheckAvail: blank session", checkAvailCall(hotelstays.CheckAvailRequest{SessionID: "\t", RatePkgID: "p"}), faultsIn("Session-Id")},
		{"CheckAvail: a session that no header can carry", checkAvailCall(hotelstays.CheckAvailRequest{SessionID: "s\r\nX: y", RatePkgID: "p"}),
			faultsIn("Session-Id")},
		{"HotelList: a session that no header can carry", hotelListCall(func(r *hotelstays.HotelListRequest) { r.SessionID = "s\n" }),
			faultsIn("Session-Id")},
	})
}

func TestValidationOfSearch(t *testing.T) {
	checkRows(t, []validationRow{
		{"HotelList: nothing set", callOf((*hotelstays.Client).HotelList, &hotelstays.HotelListRequest{}),
			faultsIn("checkIn", "checkOut", "hotelIds", "roomOccupancies")},
		{"HotelList: all rates", hotelListCall(func(r *hotelstays.HotelListRequest) { r.MaxRatesPerHotel = 0 }), accepted},
		{"HotelList: negative rates", hotelListCall(func(r *hotelstays.HotelListRequest) { r.MaxRatesPerHotel = -1 }),
			faultsIn("maxRatesPerHotel")},
		{"HotelList: countries", hotelListCall(func(r *hotelstays.HotelListRequest) {
			r.CountryCode, r.ResidencyCode, r.NationalityCode = "AE", "SA", "CN"
		}), accepted},
		{"HotelList: no countries", hotelListCall(func(r *hotelstays.HotelListRequest) {
			r.CountryCode, r.ResidencyCode, r.NationalityCode = "ARE", "971", "C"
		}), faultsIn("countryCode", "nationalityCode", "residencyCode")},
		{"HotelList: sortBy is free", hotelListCall(func(r *hotelstays.HotelListRequest) { r.SortBy = "stars-desc" }), accepted},
		{"HotelRates: nothing set", callOf((*hotelstays.Client).HotelRates, &hotelstays.HotelRatesRequest{}),
			faultsIn("Session-Id", "checkIn", "checkOut", "hotelId", "roomOccupancies")},
		{"HotelRates: good", hotelRatesCall(func(r *hotelstays.HotelRatesRequest) {}), accepted},
		{"HotelRates: countries", hotelRatesCall(func(r *hotelstays.HotelRatesRequest) {
			r.CountryCode, r.ResidencyCode, r.NationalityCode = "ARE", "971", "C"
		}), faultsIn("countryCode", "nationalityCode", "residencyCode")},
	})
}

func TestValidationOfBooking(t *testing.T) {
	checkRows(t, []validationRow{
		{"CheckAvail: nothing set", checkAvailCall(hotelstays.CheckAvailRequest{}), faultsIn("Session-Id", "ratePkgId")},
		{"CheckAvail: good", checkAvailCall(hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "p"}), accepted},
		{"Book: nothing set", callOf((*hotelstays.Client).Book, &hotelstays.BookRequest{}),
			faultsIn("Session-Id", "customerReferenceNo", "guests", "holder.firstName", "holder.lastName", "ratePkgId")},
		{"Book: good", bookCall(func(r *hotelstays.BookRequest) {}), accepted},
		{"Book: an empty guest", bookCall(func(r *hotelstays.BookRequest) { r.Guests = append(r.Guests, types.Guest{}) }),
			faultsIn("guests[1].firstName", "guests[1].lastName", "guests[1].roomIndex")},
		{"Book: rooms count from 1", guestCall(func(g *types.Guest) { g.RoomIndex = 0 }), faultsIn("guests[0].roomIndex")},
		{"Book: negative room", guestCall(func(g *types.Guest) { g.RoomIndex = -1 }), faultsIn("guests[0].roomIndex")},
		{"Book: a date of birth", guestCall(func(g *types.Guest) { g.DateOfBirth = "1986-02-28" }), accepted},
		{"Book: no date of birth", guestCall(func(g *types.Guest) { g.DateOfBirth = "28/02/1986" }), faultsIn("guests[0].dateOfBirth")},
		{"Book: a child without an age", guestCall(func(g *types.Guest) { g.IsChild = new(true) }), faultsIn("guests[0].dateOfBirth")},
		{"Book: a child with an age", guestCall(func(g *types.Guest) { g.IsChild, g.Age = new(true), new(0) }), accepted},
		{"Book: a child with a date of birth", guestCall(func(g *types.Guest) { g.IsChild, g.DateOfBirth = new(true), "2020-02-29" }), accepted},
		{"Book: an adult of no stated age", guestCall(func(g *types.Guest) { g.IsChild = new(false) }), accepted},
		{"Book: passport of 50", guestCall(func(g *types.Guest) { g.PassportNumber = types.NewSecret(strings.Repeat("A", 50)) }), accepted},
		{"Book: passport of 51", guestCall(func(g *types.Guest) { g.PassportNumber = types.NewSecret(strings.Repeat("A", 51)) }),
			faultsIn("guests[0].passportNumber")},
		{"Book: passport of 50 characters, 150 bytes", guestCall(func(g *types.Guest) {
			g.PassportNumber = types.NewSecret(strings.Repeat("号",
				50))
		}), accepted},
		{"Book: passport of 51 characters, 153 bytes", guestCall(func(g *types.Guest) {
			g.PassportNumber = types.NewSecret(strings.Repeat("号",
				51))
		}), faultsIn("guests[0].passportNumber")},
		{"Book: a passport that was logged", guestCall(func(g *types.Guest) { g.PassportNumber = types.NewSecret("[redacted]") }),
			faultsIn("guests[0].passportNumber")},
		{"Book: callback", bookCall(func(r *hotelstays.BookRequest) { r.CallbackURL = "https://hooks.example.test/x" }), accepted},
		{"Book: callback without TLS", bookCall(func(r *hotelstays.BookRequest) { r.CallbackURL = "http://hooks.example.test/x" }),
			faultsIn("callbackUrl")},
		{"Book: callback to this machine", bookCall(func(r *hotelstays.BookRequest) { r.CallbackURL = "https://127.0.0.1/x" }),
			faultsIn("callbackUrl")},
	})
}

// ValidateBook finds in a request what Book finds, and sends nothing. Its options are those of BookAndRecover.
func TestValidateBook(t *testing.T) {
	c := clientWith(t, noSend{t}, bearerToken("token"))
	bad := edited(goodBook(), func(r *hotelstays.BookRequest) { r.Guests, r.CallbackURL = nil, "http://127.0.0.1/x" })
	assert.Equal(t, faultsIn("callbackUrl", "guests"), faultPaths(t, c.ValidateBook(bad)))
	_, err := c.Book(t.Context(), bad)
	assert.Equal(t, err, c.ValidateBook(bad))
	assert.Equal(t, faultsIn("request"), faultPaths(t, c.ValidateBook(nil)))
	assert.Equal(t, faultsIn("WithMarket"), faultPaths(t, c.ValidateBook(new(goodBook()), hotelstays.WithMarket("Germany"))))
	assert.NoError(t, c.ValidateBook(new(goodBook())))
	assert.ErrorContains(t, (*hotelstays.Client)(nil).ValidateBook(new(goodBook())), "hotelstays.New")
}

// What is not UTF-8 would be sent as another text: it would find nothing, or book for
// somebody else.
func TestValidationOfText(t *testing.T) {
	checkRows(t, []validationRow{
		{"HotelList: Latin-1", hotelListCall(func(r *hotelstays.HotelListRequest) {
			r.DestinationID, r.DestinationName, r.HotelIDs = "\xe9", "M\xe1laga", []string{"a", "\xff"}
		}), faultsIn("destinationId", "destinationName", "hotelIds[1]")},
		{"HotelList: other scripts", hotelListCall(func(r *hotelstays.HotelListRequest) { r.DestinationName = "Málaga دبي \ufffd" }), accepted},
		{"QueryOrders: Latin-1", queryOrdersCall(hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"a", "\xff"},
			SupplierReferenceNos: []string{"\xff"}}),
			faultsIn("customerReferenceNos[1]", "supplierReferenceNos[0]")},
		{"OrderVoucher: Latin-1", voucherCall(hotelstays.OrderVoucherRequest{CustomerReferenceNo: "\xff", PlatformReferenceNo: "\xff",
			SupplierReferenceNo: "\xff"}),
			faultsIn("customerReferenceNo", "platformReferenceNo", "supplierReferenceNo")},
		{"Book: names in Latin-1", guestCall(func(g *types.Guest) { g.FirstName = "Jos\xe9" }), faultsIn("guests[0].firstName")},
		{"Book: a passport in Latin-1", guestCall(func(g *types.Guest) { g.PassportNumber = types.NewSecret("A\xe9") }),
			faultsIn("guests[0].passportNumber")},
	})
}

// Four genders in any case, and two short forms. Any other value is refused here.
func TestGenders(t *testing.T) {
	checkRows(t, []validationRow{
		{"Book: no gender", guestCall(func(g *types.Guest) { g.Gender = "" }), accepted},
		{"Book: MALE", guestCall(func(g *types.Guest) { g.Gender = "MALE" }), accepted},
		{"Book: female", guestCall(func(g *types.Guest) { g.Gender = "female" }), accepted},
		{"Book: Other", guestCall(func(g *types.Guest) { g.Gender = "Other" }), accepted},
		{"Book: UNSPECIFIED", guestCall(func(g *types.Guest) { g.Gender = "UNSPECIFIED" }), accepted},
		{"Book: M", guestCall(func(g *types.Guest) { g.Gender = "M" }), accepted},
		{"Book: f", guestCall(func(g *types.Guest) { g.Gender = "f" }), accepted},
		{"Book: X", guestCall(func(g *types.Guest) { g.Gender = "X" }), faultsIn("guests[0].gender")},
		{"Book: blank gender", guestCall(func(g *types.Guest) { g.Gender = " " }), faultsIn("guests[0].gender")},
	})
}

func TestValidationOfOrders(t *testing.T) {
	checkRows(t, []validationRow{
		{"QueryOrders: nothing set", queryOrdersCall(hotelstays.QueryOrdersRequest{}), accepted},
		{"QueryOrders: statuses", queryOrdersCall(hotelstays.QueryOrdersRequest{StatusList: []types.StatusFilter{{Raw: json.RawMessage(`1`)},
			{Raw: json.RawMessage(`"x"`)}, {Raw: json.RawMessage(`{"a":1}`)}}}), accepted},
		{"QueryOrders: not JSON", queryOrdersCall(hotelstays.QueryOrdersRequest{StatusList: []types.StatusFilter{{Raw: json.RawMessage(`1`)},
			{Raw: json.RawMessage(`confirmed`)}, {}, {Raw: json.RawMessage(`1 2`)}}}),
			faultsIn("statusList[1]", "statusList[2]", "statusList[3]")},
		{"OrderVoucher: nothing set", voucherCall(hotelstays.OrderVoucherRequest{}), faultsIn("platformReferenceNo")},
		{"OrderVoucher: the document alone names no order", voucherCall(hotelstays.OrderVoucherRequest{IncludeDocument: true}),
			faultsIn("platformReferenceNo")},
		{"OrderVoucher: a blank reference is none", voucherCall(hotelstays.OrderVoucherRequest{CustomerReferenceNo: " "}),
			faultsIn("platformReferenceNo")},
		{"OrderVoucher: by customer reference", voucherCall(hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c"}), accepted},
		{"OrderVoucher: by platform reference", voucherCall(hotelstays.OrderVoucherRequest{PlatformReferenceNo: "p"}), accepted},
		{"OrderVoucher: by supplier reference", voucherCall(hotelstays.OrderVoucherRequest{SupplierReferenceNo: "s"}), accepted},
		{"Cancel: nothing set", cancelCall(hotelstays.CancelRequest{}), faultsIn("Session-Id", "customerReferenceNo", "supplierReferenceNo")},
		{"Cancel: one reference is not enough", cancelCall(hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "c"}),
			faultsIn("supplierReferenceNo")},
		{"Cancel: no reason", cancelCall(hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "c", SupplierReferenceNo: "p"}), accepted},
	})
}

func TestValidationOfNoRequest(t *testing.T) {
	client := reflect.ValueOf(clientWith(t, noSend{t}, bearerToken("token")))
	for _, op := range testkit.Operations() {
		method := client.MethodByName(string(op))
		results := method.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.Zero(method.Type().In(1))})
		err, _ := reflect.TypeAssert[error](results[1])
		assert.Equal(t, []string{"request"}, faultPaths(t, err), op)
	}
}

func TestValidationDates(t *testing.T) {
	for date, ok := range map[types.Date]bool{
		"2026-12-24": true, "2028-02-29": true,
		"2026-02-29": false, "2026-13-01": false, "2026-00-10": false, "2026-12-32": false,
		"2026-1-2": false, "20261224": false, "24-12-2026": false, "2026/12/24": false,
		"2026-12-24T00:00:00Z": false, " 2026-12-24": false, "2026-12-24 ": false, "26-12-24": false, "today": false,
	} {
		t.Run(string(date), func(t *testing.T) {
			counted := &countedRequests{}
			req := edited(goodHotelList(), func(r *hotelstays.HotelListRequest) { r.CheckIn, r.CheckOut = date, "2029-01-01" })
			_, err := clientWith(t, counted, bearerToken("token")).HotelList(t.Context(), req)
			if ok {
				assert.Equal(t, 1, counted.sent)
				return
			}
			assert.Equal(t, []string{"checkIn"}, faultPaths(t, err))
			assert.Zero(t, counted.sent)
		})
	}
}

// A request and its options are judged together, and the caller sees every fault.
func TestValidationAllFaultsAtOnce(t *testing.T) {
	c := clientWith(t, noSend{t}, hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s"),
		Scopes: []types.Scope{types.ScopeBookingWrite}})
	req := &hotelstays.BookRequest{
		Holder: types.Holder{LastName: "One"},
		Guests: []types.Guest{
			{RoomIndex: 1, FirstName: "Guest", LastName: "One"},
			{FirstName: "Guest", LastName: "Two", IsChild: new(true), Gender: "?", PassportNumber: types.NewSecret(strings.Repeat("A", 51))},
		},
		CallbackURL: "http://10.0.0.1/x",
	}
	_, err := c.Book(t.Context(), req, hotelstays.WithMarket("United Arab Emirates"), nil, hotelstays.WithTimeout(-1))
	assert.Equal(t, []string{
		"Session-Id", "WithMarket", "WithTimeout", "callbackUrl", "callbackUrl", "customerReferenceNo",
		"guests[1].dateOfBirth", "guests[1].gender", "guests[1].passportNumber", "guests[1].roomIndex",
		"holder.firstName", "opts", "ratePkgId",
	}, faultPaths(t, err))
	var invalid *hotelstays.ValidationError
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, hotelstays.OpBook, invalid.Operation)
}

func TestValidationErrorText(t *testing.T) {
	_, err := clientWith(t, noSend{t}, bearerToken("token")).CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: "s"})
	assert.EqualError(t, err, "hotelstays: CheckAvail: nothing was sent: ratePkgId: is required")
}

// The request is the caller's: checking and sending it change nothing in it.
func TestValidationLeavesTheRequestAlone(t *testing.T) {
	req, same := goodBook(), goodBook()
	req.Guests[0].PassportNumber, same.Guests[0].PassportNumber = types.NewSecret("P1"), types.NewSecret("P1")
	_, err := clientWith(t, &countedRequests{}, bearerToken("token")).Book(t.Context(), &req)
	require.Error(t, err)
	assert.Equal(t, same, req)
}

// untouchedHooks fails the test when a call gets as far as the limiter or the observer.
type untouchedHooks struct{ t *testing.T }

func (w untouchedHooks) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	w.t.Error("a slot was asked for")
	return nil, errors.New("none")
}

func (w untouchedHooks) Pause(hotelstays.RateLimitKey, time.Time) { w.t.Error("paused") }

func (w untouchedHooks) CallStart(ctx context.Context, _ hotelstays.CallStart) context.Context {
	w.t.Error("a call was reported")
	return ctx
}

func (w untouchedHooks) CallEnd(context.Context, hotelstays.CallInfo) {
	w.t.Error("a call was reported")
}

func TestValidationComesFirst(t *testing.T) {
	w := untouchedHooks{t}
	c := clientWith(t, noSend{t}, hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s")}, hotelstays.WithRateLimiter(w),
		hotelstays.WithObserver(hotelstays.Observer{CallStart: w.CallStart, CallEnd: w.CallEnd}))
	_, err := c.Cancel(t.Context(), &hotelstays.CancelRequest{})
	assert.Len(t, faultPaths(t, err), 3)
}

// The values of options are checked the same way on a client and on a call.
func TestValidationOptionValues(t *testing.T) {
	many := strings.Repeat("x", 9)
	rows := []struct {
		name, path string
		opt        hotelstays.CallOption
	}{
		{"empty language", "WithLanguage", hotelstays.WithLanguage("")},
		{"language in words", "WithLanguage", hotelstays.WithLanguage("British English")},
		{"language with an underscore", "WithLanguage", hotelstays.WithLanguage("en_US")},
		{"language with a long part", "WithLanguage", hotelstays.WithLanguage("en-" + many)},
		{"empty market", "WithMarket", hotelstays.WithMarket("")},
		{"market of three letters", "WithMarket", hotelstays.WithMarket("ARE")},
		{"market in small letters", "WithMarket", hotelstays.WithMarket("ae")},
		{"market of digits", "WithMarket", hotelstays.WithMarket("97")},
		{"empty user", "WithUserRef", hotelstays.WithUserRef("")},
		{"blank user", "WithUserRef", hotelstays.WithUserRef("  ")},
		{"user with a line break", "WithUserRef", hotelstays.WithUserRef("a\r\nX-Evil: 1")},
		{"user with a DEL", "WithUserRef", hotelstays.WithUserRef("a\x7f")},
		{"user with outer spaces", "WithUserRef", hotelstays.WithUserRef(" a")},
		{"empty currency", "WithCurrency", hotelstays.WithCurrency("")},
		{"currency of two letters", "WithCurrency", hotelstays.WithCurrency("EU")},
		{"currency in small letters", "WithCurrency", hotelstays.WithCurrency("eur")},
		{"currency sign", "WithCurrency", hotelstays.WithCurrency("€")},
		{"empty address", "WithClientIP", hotelstays.WithClientIP("")},
		{"host name", "WithClientIP", hotelstays.WithClientIP("host.example.test")},
		{"address and port", "WithClientIP", hotelstays.WithClientIP("192.0.2.1:80")},
		{"address and zone", "WithClientIP", hotelstays.WithClientIP("fe80::1%eth0")},
		{"no flags", "WithTestFlags", hotelstays.WithTestFlags(nil)},
		{"flag without a name", "WithTestFlags", hotelstays.WithTestFlags(map[string]string{"": "1"})},
		{"flag with &", "WithTestFlags", hotelstays.WithTestFlags(map[string]string{"a": "1&b=2"})},
		{"flag with =", "WithTestFlags", hotelstays.WithTestFlags(map[string]string{"a=b": "1"})},
		{"flag with a line break", "WithTestFlags", hotelstays.WithTestFlags(map[string]string{"a": "1\n"})},
		{"no timeout", "WithTimeout", hotelstays.WithTimeout(0)},
		{"negative timeout", "WithTimeout", hotelstays.WithTimeout(-time.Second)},
		{"empty trace", "WithTraceID", hotelstays.WithTraceID("")},
		{"trace with a line break", "WithTraceID", hotelstays.WithTraceID("a\nb")},
		{"header without a value", "WithHeader", hotelstays.WithHeader("X-Zone", "")},
		{"header with a line break", "WithHeader", hotelstays.WithHeader("X-Zone", "a\r\nX-Evil: 1")},
		{"no attempts", "WithMaxAttempts", hotelstays.WithMaxAttempts(0)},
		{"too many attempts", "WithMaxAttempts", hotelstays.WithMaxAttempts(101)},
		{"no function for ids", "WithRequestID", hotelstays.WithRequestID(nil)},
		{"no function for times", "WithClientRequestTimestamp", hotelstays.WithClientRequestTimestamp(nil)},
		{"a state of two meanings", "WithServiceFacts", hotelstays.WithServiceFacts(hotelstays.ServiceFacts{OrderStates: hotelstays.OrderStates{
			Confirmed: []types.OrderStatus{2}, Pending: []types.OrderStatus{4}, Cancelled: []types.OrderStatus{2}}})},
		{"a state named twice", "WithServiceFacts", hotelstays.WithServiceFacts(hotelstays.ServiceFacts{OrderStates: hotelstays.OrderStates{
			Confirmed: []types.OrderStatus{2, 2}}})},
		{"the code of a success", "WithServiceFacts", refusing(hotelstays.OpBook, 7, 0)},
		{"a negative code", "WithServiceFacts", refusing(hotelstays.OpCancel, -1)},
		{"codes of no operation", "WithServiceFacts", refusing("book", 7)},
		{"codes of a read", "WithServiceFacts", refusing(hotelstays.OpQueryOrders, 7)},
		{"an open state as confirmed", "WithServiceFacts", withStates(hotelstays.OrderStates{Confirmed: []types.OrderStatus{2, 1}})},
		{"an open state as cancelled", "WithServiceFacts", withStates(hotelstays.OrderStates{Cancelled: []types.OrderStatus{0}})},
		{"nil", "opts", nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			err := operationCalls[hotelstays.OpBook](t.Context(), clientWith(t, noSend{t}, bearerToken("token")), row.opt)
			assert.Equal(t, []string{row.path}, faultPaths(t, err))

			if shared, ok := row.opt.(hotelstays.Option); ok {
				_, err = hotelstays.New("https://api.example.test", bearerToken("token"), shared)
				assert.Equal(t, []string{row.path}, faultPaths(t, err))
			}
		})
	}
}

func TestValidationBatchOptions(t *testing.T) {
	req := edited(goodHotelList(), func(r *hotelstays.HotelListRequest) { r.HotelIDs = hotelIDs(3) })
	for _, row := range []struct {
		path string
		opt  hotelstays.CallOption
	}{
		{"WithBatchSize", hotelstays.WithBatchSize(0)}, {"WithBatchSize", hotelstays.WithBatchSize(1001)},
		{"WithParallelism", hotelstays.WithParallelism(0)}, {"WithParallelism", hotelstays.WithParallelism(-1)},
	} {
		for _, err := range clientWith(t, noSend{t}, bearerToken("token")).HotelListBatches(t.Context(), req, row.opt) {
			assert.Equal(t, []string{row.path}, faultPaths(t, err))
		}
	}
	for _, own := range []func(*hotelstays.HotelListRequest){
		func(r *hotelstays.HotelListRequest) { r.PageNum = 1 }, func(r *hotelstays.HotelListRequest) { r.Cursor = new(int64(1)) },
	} {
		for _, err := range clientWith(t, noSend{t}, bearerToken("token")).HotelListBatches(t.Context(), edited(*req, own)) {
			assert.Equal(t, []string{"pageNum"}, faultPaths(t, err))
		}
	}
}

// Ids are told of once, wherever they stand among the batches.
func TestValidationOfBatchIDs(t *testing.T) {
	for _, row := range []struct{ ids, faults []string }{
		{[]string{"a", "", "b", "\xff"}, faultsIn("hotelIds[1]", "hotelIds[3]")},
		{nil, faultsIn("hotelIds")},
	} {
		req := edited(goodHotelList(), func(r *hotelstays.HotelListRequest) { r.DestinationID, r.HotelIDs = "", row.ids })
		told := 0
		for _, err := range clientWith(t, noSend{t}, bearerToken("token")).HotelListBatches(t.Context(), req, hotelstays.WithBatchSize(3)) {
			assert.Equal(t, row.faults, faultPaths(t, err))
			told++
		}
		assert.Equal(t, 1, told)
	}
}
