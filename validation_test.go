// Proves what is refused before anything is sent: every documented limit, required
// field, enumeration, form and selector, all faults at once, and that what lies
// exactly on a limit still goes out.

package hotelstays_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// validNoSend fails the test when anything is sent.
type validNoSend struct{ t *testing.T }

func (n validNoSend) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("sent %s", r.URL)
	return nil, errors.New("nothing should be sent")
}

// validCounted counts requests and refuses each of them.
type validCounted struct{ sent int }

func (c *validCounted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent++
	return nil, errors.New("counted")
}

func validClient(t *testing.T, rt http.RoundTripper, cred hotelstays.Credential, options ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	options = append([]hotelstays.Option{hotelstays.WithHTTPClient(&http.Client{Transport: rt}), hotelstays.WithMaxAttempts(1)}, options...)
	c, err := hotelstays.New("https://api.example.test", cred, options...)
	require.NoError(t, err)
	return c
}

// validPaths are the places that err names, sorted; it fails when err is not a
// *ValidationError.
func validPaths(t *testing.T, err error) []string {
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

// validEdit returns a good request, changed.
func validEdit[Q any](good Q, change func(*Q)) *Q {
	change(&good)
	return &good
}

func validHotelList() hotelstays.HotelListRequest {
	return hotelstays.HotelListRequest{DestinationID: "d", CheckIn: "2026-12-24", CheckOut: "2026-12-27", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}
}

func validHotelRates() hotelstays.HotelRatesRequest {
	return hotelstays.HotelRatesRequest{SessionID: "s", HotelID: "h", CheckIn: "2026-12-24", CheckOut: "2026-12-27", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}
}

func validBook() hotelstays.BookRequest {
	return hotelstays.BookRequest{SessionID: "s", CustomerReferenceNo: "ref", RatePkgID: "pkg", Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}}}
}

func validIDs(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("h", i)
	}
	return list
}

// validRow is a request and the places where it is at fault; with none it is sent.
type validRow struct {
	name   string
	call   wireCall
	faults []string
}

// validSent marks a request that goes out.
var validSent []string

func faultsAt(paths ...string) []string { return paths }

func validRun(t *testing.T, rows []validRow) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			counted := &validCounted{}
			var rt http.RoundTripper = counted
			if len(row.faults) > 0 {
				rt = validNoSend{t}
			}
			_, err := row.call.send(t.Context(), validClient(t, rt, hotelstays.TokenCredential{Token: types.NewSecret("token")}))
			if len(row.faults) > 0 {
				assert.Equal(t, row.faults, validPaths(t, err))
				return
			}
			assert.NotErrorAs(t, err, new(*hotelstays.ValidationError))
			assert.Equal(t, 1, counted.sent)
		})
	}
}

// Calls of each operation: with a request, or with a good one that is changed.

func validTicket(r hotelstays.TicketRequest) wireCall { return wireOf((*hotelstays.Client).Ticket, &r) }
func validOAuth(r hotelstays.OAuthTokenRequest) wireCall {
	return wireOf((*hotelstays.Client).OAuthToken, &r)
}
func validPlaces(r hotelstays.DestinationsRequest) wireCall {
	return wireOf((*hotelstays.Client).Destinations, &r)
}
func validMetadata(r hotelstays.HotelsMetadataRequest) wireCall {
	return wireOf((*hotelstays.Client).HotelsMetadata, &r)
}
func validAvail(r hotelstays.CheckAvailRequest) wireCall {
	return wireOf((*hotelstays.Client).CheckAvail, &r)
}
func validOrders(r hotelstays.QueryOrdersRequest) wireCall {
	return wireOf((*hotelstays.Client).QueryOrders, &r)
}
func validVoucher(r hotelstays.OrderVoucherRequest) wireCall {
	return wireOf((*hotelstays.Client).OrderVoucher, &r)
}
func validCancel(r hotelstays.CancelRequest) wireCall { return wireOf((*hotelstays.Client).Cancel, &r) }

func validList(change func(*hotelstays.HotelListRequest)) wireCall {
	return wireOf((*hotelstays.Client).HotelList, validEdit(validHotelList(), change))
}

func validRates(change func(*hotelstays.HotelRatesRequest)) wireCall {
	return wireOf((*hotelstays.Client).HotelRates, validEdit(validHotelRates(), change))
}

func validBooking(change func(*hotelstays.BookRequest)) wireCall {
	return wireOf((*hotelstays.Client).Book, validEdit(validBook(), change))
}

func validGuest(change func(*types.Guest)) wireCall {
	return validBooking(func(r *hotelstays.BookRequest) { change(&r.Guests[0]) })
}

func TestValidationOfTokens(t *testing.T) {
	validRun(t, []validRow{
		{"Ticket: nothing set", validTicket(hotelstays.TicketRequest{}), faultsAt("appKey", "appSecret")},
		{"Ticket: blank key", validTicket(hotelstays.TicketRequest{AppKey: " ", AppSecret: types.NewSecret("s")}), faultsAt("appKey")},
		{"Ticket: no ttl", validTicket(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s")}), validSent},
		{"Ticket: ttl of a second", validTicket(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: time.Second}), validSent},
		{"Ticket: the longest ttl", validTicket(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: 31536000 * time.Second}), validSent},
		{"Ticket: a second more", validTicket(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: 31536001 * time.Second}), faultsAt("ttl")},
		{"Ticket: negative ttl", validTicket(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: -time.Second}), faultsAt("ttl")},
		{"Ticket: a part of a second", validTicket(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: 1500 * time.Millisecond}), faultsAt("ttl")},
		{"Ticket: a secret that was logged", validTicket(hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("[redacted]")}), faultsAt("appSecret")},
		{"OAuthToken: nothing set", validOAuth(hotelstays.OAuthTokenRequest{}), faultsAt("client_id", "client_secret")},
		{"OAuthToken: all scopes", validOAuth(hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("s"), Scopes: []hotelstays.Scope{
			"search:read", "content:read", "booking:read", "booking:write", "booking:cancel"}}), validSent},
		{"OAuthToken: unknown scope", validOAuth(hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("s"), Scopes: []hotelstays.Scope{"search:read", "search:write"}}), faultsAt("scope[1]")},
		{"OAuthToken: two scopes in one", validOAuth(hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("s"), Scopes: []hotelstays.Scope{"search:read content:read"}}), faultsAt("scope[0]")},
		{"OAuthToken: a secret that was logged", validOAuth(hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("[redacted]")}), faultsAt("client_secret")},
	})
}

func TestValidationOfContent(t *testing.T) {
	validRun(t, []validRow{
		{"Destinations: nothing set", validPlaces(hotelstays.DestinationsRequest{}), validSent},
		{"Destinations: country", validPlaces(hotelstays.DestinationsRequest{CountryCode: "AE"}), validSent},
		{"Destinations: three letters", validPlaces(hotelstays.DestinationsRequest{CountryCode: "ARE"}), faultsAt("countryCode")},
		{"Destinations: small letters", validPlaces(hotelstays.DestinationsRequest{CountryCode: "ae"}), faultsAt("countryCode")},
		{"Destinations: one letter", validPlaces(hotelstays.DestinationsRequest{CountryCode: "A"}), faultsAt("countryCode")},
		{"Destinations: not letters", validPlaces(hotelstays.DestinationsRequest{CountryCode: "A1"}), faultsAt("countryCode")},
		{"Destinations: two bytes, one letter", validPlaces(hotelstays.DestinationsRequest{CountryCode: "Ä"}), faultsAt("countryCode")},
		{"Destinations: standard", validPlaces(hotelstays.DestinationsRequest{Include: "standard"}), validSent},
		{"Destinations: details", validPlaces(hotelstays.DestinationsRequest{Include: "details"}), validSent},
		{"Destinations: unknown include", validPlaces(hotelstays.DestinationsRequest{Include: "everything"}), faultsAt("include")},
		{"HotelsMetadata: no destination", validMetadata(hotelstays.HotelsMetadataRequest{}), faultsAt("destinationId")},
		{"HotelsMetadata: largest page", validMetadata(hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{PageSize: 100}}), validSent},
		{"HotelsMetadata: one more", validMetadata(hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{PageSize: 101}}), faultsAt("page.pageSize")},
		{"HotelsMetadata: negative page size", validMetadata(hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{PageSize: -1}}), faultsAt("page.pageSize")},
		{"HotelsMetadata: a page below 1 is the first", validMetadata(hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{PageNum: -1}}), validSent},
		{"HotelStaticDetail: nothing set", wireOf((*hotelstays.Client).HotelStaticDetail, &hotelstays.HotelStaticDetailRequest{}), faultsAt("hotelId")},
		{"HotelStaticDetail: id", wireOf((*hotelstays.Client).HotelStaticDetail, &hotelstays.HotelStaticDetailRequest{HotelID: "h"}), validSent},
		{"HotelIDList: nothing set", wireOf((*hotelstays.Client).HotelIDList, &hotelstays.HotelIDListRequest{}), validSent},
	})
}

// What to search, and which page of it.
func TestSelectorsAndPages(t *testing.T) {
	validRun(t, []validRow{
		{"HotelList: nothing to search", validList(func(r *hotelstays.HotelListRequest) { r.DestinationID = "" }), faultsAt("hotelIds")},
		{"HotelList: by destination", validList(func(r *hotelstays.HotelListRequest) {}), validSent},
		{"HotelList: by name", validList(func(r *hotelstays.HotelListRequest) { r.DestinationID, r.DestinationName = "", "City" }), validSent},
		{"HotelList: by id", validList(func(r *hotelstays.HotelListRequest) { r.DestinationID, r.HotelIDs = "", validIDs(1) }), validSent},
		{"HotelList: a blank destination is none", validList(func(r *hotelstays.HotelListRequest) { r.DestinationID = " " }), faultsAt("hotelIds")},
		{"HotelList: 1000 ids", validList(func(r *hotelstays.HotelListRequest) { r.HotelIDs = validIDs(1000) }), validSent},
		{"HotelList: 1001 ids", validList(func(r *hotelstays.HotelListRequest) { r.HotelIDs = validIDs(1001) }), faultsAt("hotelIds")},
		{"HotelList: empty ids", validList(func(r *hotelstays.HotelListRequest) { r.HotelIDs = []string{"a", "", "b", " "} }), faultsAt("hotelIds[1]", "hotelIds[3]")},
		{"HotelList: first page", validList(func(r *hotelstays.HotelListRequest) { r.PageNum = 1 }), validSent},
		{"HotelList: a page below 1", validList(func(r *hotelstays.HotelListRequest) { r.PageNum = -1 }), faultsAt("pageNum")},
		{"HotelList: largest page", validList(func(r *hotelstays.HotelListRequest) { r.PageSize = 200 }), validSent},
		{"HotelList: one more", validList(func(r *hotelstays.HotelListRequest) { r.PageSize = 201 }), faultsAt("pageSize")},
		{"HotelList: negative page size", validList(func(r *hotelstays.HotelListRequest) { r.PageSize = -1 }), faultsAt("pageSize")},
	})
}

// Dates and rooms are required, although a default is documented for the dates.
func TestStayIsRequired(t *testing.T) {
	validRun(t, []validRow{
		{"HotelList: no dates", validList(func(r *hotelstays.HotelListRequest) { r.CheckIn, r.CheckOut = "", "" }), faultsAt("checkIn", "checkOut")},
		{"HotelRates: no dates", validRates(func(r *hotelstays.HotelRatesRequest) { r.CheckIn, r.CheckOut = "", "" }), faultsAt("checkIn", "checkOut")},
		{"HotelList: no rooms", validList(func(r *hotelstays.HotelListRequest) { r.RoomOccupancies = nil }), faultsAt("roomOccupancies")},
		{"HotelRates: no rooms", validRates(func(r *hotelstays.HotelRatesRequest) { r.RoomOccupancies = nil }), faultsAt("roomOccupancies")},
		{"HotelList: a room without adults", validList(func(r *hotelstays.HotelListRequest) {
			r.RoomOccupancies = append(r.RoomOccupancies, types.GuestPerRoom{})
		}), faultsAt("roomOccupancies[1].adultCount")},
		{"HotelList: negative ages", validList(func(r *hotelstays.HotelListRequest) { r.RoomOccupancies[0].ChildrenAges = []int{0, 17, -1} }), faultsAt("roomOccupancies[0].childrenAges[2]")},
		{"HotelList: a stay of no night", validList(func(r *hotelstays.HotelListRequest) { r.CheckOut = r.CheckIn }), faultsAt("checkOut")},
		{"HotelList: one night, over the end of a year", validList(func(r *hotelstays.HotelListRequest) { r.CheckIn, r.CheckOut = "2026-12-31", "2027-01-01" }), validSent},
		{"HotelRates: check-out before check-in", validRates(func(r *hotelstays.HotelRatesRequest) { r.CheckOut = "2026-12-23" }), faultsAt("checkOut")},
		{"HotelRates: dates", validRates(func(r *hotelstays.HotelRatesRequest) { r.CheckIn, r.CheckOut = "24.12.2026", "tomorrow" }), faultsAt("checkIn", "checkOut")},
		{"HotelRates: rooms", validRates(func(r *hotelstays.HotelRatesRequest) { r.RoomOccupancies[0].AdultCount = -1 }), faultsAt("roomOccupancies[0].adultCount")},
	})
}

// The booking flow needs its session; only the search that opens it may do without.
func TestSessionIsRequired(t *testing.T) {
	validRun(t, []validRow{
		{"HotelList: a search opens its own", validList(func(r *hotelstays.HotelListRequest) { r.SessionID = "" }), validSent},
		{"HotelRates: none", validRates(func(r *hotelstays.HotelRatesRequest) { r.SessionID = "" }), faultsAt("Session-Id")},
		{"CheckAvail: none", validAvail(hotelstays.CheckAvailRequest{RatePkgID: "p"}), faultsAt("Session-Id")},
		{"Book: none", validBooking(func(r *hotelstays.BookRequest) { r.SessionID = "" }), faultsAt("Session-Id")},
		{"Cancel: none", validCancel(hotelstays.CancelRequest{CustomerReferenceNo: "c", SupplierReferenceNo: "s"}), faultsAt("Session-Id")},
		{"CheckAvail: blank session", validAvail(hotelstays.CheckAvailRequest{SessionID: "\t", RatePkgID: "p"}), faultsAt("Session-Id")},
		{"CheckAvail: a session that no header can carry", validAvail(hotelstays.CheckAvailRequest{SessionID: "s\r\nX: y", RatePkgID: "p"}), faultsAt("Session-Id")},
		{"HotelList: a session that no header can carry", validList(func(r *hotelstays.HotelListRequest) { r.SessionID = "s\n" }), faultsAt("Session-Id")},
	})
}

func TestValidationOfSearch(t *testing.T) {
	validRun(t, []validRow{
		{"HotelList: nothing set", wireOf((*hotelstays.Client).HotelList, &hotelstays.HotelListRequest{}), faultsAt("checkIn", "checkOut", "hotelIds", "roomOccupancies")},
		{"HotelList: all rates", validList(func(r *hotelstays.HotelListRequest) { r.MaxRatesPerHotel = 0 }), validSent},
		{"HotelList: negative rates", validList(func(r *hotelstays.HotelListRequest) { r.MaxRatesPerHotel = -1 }), faultsAt("maxRatesPerHotel")},
		{"HotelList: countries", validList(func(r *hotelstays.HotelListRequest) {
			r.CountryCode, r.ResidencyCode, r.NationalityCode = "AE", "SA", "CN"
		}), validSent},
		{"HotelList: no countries", validList(func(r *hotelstays.HotelListRequest) {
			r.CountryCode, r.ResidencyCode, r.NationalityCode = "ARE", "971", "C"
		}), faultsAt("countryCode", "nationalityCode", "residencyCode")},
		{"HotelList: sortBy is free", validList(func(r *hotelstays.HotelListRequest) { r.SortBy = "stars-desc" }), validSent},
		{"HotelRates: nothing set", wireOf((*hotelstays.Client).HotelRates, &hotelstays.HotelRatesRequest{}), faultsAt("Session-Id", "checkIn", "checkOut", "hotelId", "roomOccupancies")},
		{"HotelRates: good", validRates(func(r *hotelstays.HotelRatesRequest) {}), validSent},
		{"HotelRates: countries", validRates(func(r *hotelstays.HotelRatesRequest) {
			r.CountryCode, r.ResidencyCode, r.NationalityCode = "ARE", "971", "C"
		}), faultsAt("countryCode", "nationalityCode", "residencyCode")},
	})
}

func TestValidationOfBooking(t *testing.T) {
	validRun(t, []validRow{
		{"CheckAvail: nothing set", validAvail(hotelstays.CheckAvailRequest{}), faultsAt("Session-Id", "ratePkgId")},
		{"CheckAvail: good", validAvail(hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "p"}), validSent},
		{"Book: nothing set", wireOf((*hotelstays.Client).Book, &hotelstays.BookRequest{}), faultsAt("Session-Id", "customerReferenceNo", "guests", "holder.firstName", "holder.lastName", "ratePkgId")},
		{"Book: good", validBooking(func(r *hotelstays.BookRequest) {}), validSent},
		{"Book: an empty guest", validBooking(func(r *hotelstays.BookRequest) { r.Guests = append(r.Guests, types.Guest{}) }), faultsAt("guests[1].firstName", "guests[1].lastName", "guests[1].roomIndex")},
		{"Book: rooms count from 1", validGuest(func(g *types.Guest) { g.RoomIndex = 0 }), faultsAt("guests[0].roomIndex")},
		{"Book: negative room", validGuest(func(g *types.Guest) { g.RoomIndex = -1 }), faultsAt("guests[0].roomIndex")},
		{"Book: a date of birth", validGuest(func(g *types.Guest) { g.DateOfBirth = "1986-02-28" }), validSent},
		{"Book: no date of birth", validGuest(func(g *types.Guest) { g.DateOfBirth = "28/02/1986" }), faultsAt("guests[0].dateOfBirth")},
		{"Book: a child without an age", validGuest(func(g *types.Guest) { g.IsChild = new(true) }), faultsAt("guests[0].dateOfBirth")},
		{"Book: a child with an age", validGuest(func(g *types.Guest) { g.IsChild, g.Age = new(true), new(0) }), validSent},
		{"Book: a child with a date of birth", validGuest(func(g *types.Guest) { g.IsChild, g.DateOfBirth = new(true), "2020-02-29" }), validSent},
		{"Book: passport of 50", validGuest(func(g *types.Guest) { g.PassportNumber = types.NewSecret(strings.Repeat("A", 50)) }), validSent},
		{"Book: passport of 51", validGuest(func(g *types.Guest) { g.PassportNumber = types.NewSecret(strings.Repeat("A", 51)) }), faultsAt("guests[0].passportNumber")},
		{"Book: passport of 50 characters, 150 bytes", validGuest(func(g *types.Guest) { g.PassportNumber = types.NewSecret(strings.Repeat("号", 50)) }), validSent},
		{"Book: passport of 51 characters, 153 bytes", validGuest(func(g *types.Guest) { g.PassportNumber = types.NewSecret(strings.Repeat("号", 51)) }), faultsAt("guests[0].passportNumber")},
		{"Book: a passport that was logged", validGuest(func(g *types.Guest) { g.PassportNumber = types.NewSecret("[redacted]") }), faultsAt("guests[0].passportNumber")},
		{"Book: callback", validBooking(func(r *hotelstays.BookRequest) { r.CallbackURL = "https://hooks.example.test/x" }), validSent},
		{"Book: callback without TLS", validBooking(func(r *hotelstays.BookRequest) { r.CallbackURL = "http://hooks.example.test/x" }), faultsAt("callbackUrl")},
		{"Book: callback to this machine", validBooking(func(r *hotelstays.BookRequest) { r.CallbackURL = "https://127.0.0.1/x" }), faultsAt("callbackUrl")},
	})
}

// What is not UTF-8 would be sent as another text: it would find nothing, or book for
// somebody else.
func TestValidationOfText(t *testing.T) {
	validRun(t, []validRow{
		{"HotelList: Latin-1", validList(func(r *hotelstays.HotelListRequest) {
			r.DestinationID, r.DestinationName, r.HotelIDs = "\xe9", "M\xe1laga", []string{"a", "\xff"}
		}), faultsAt("destinationId", "destinationName", "hotelIds[1]")},
		{"HotelList: other scripts", validList(func(r *hotelstays.HotelListRequest) { r.DestinationName = "Málaga دبي \ufffd" }), validSent},
		{"QueryOrders: Latin-1", validOrders(hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"a", "\xff"}, SupplierReferenceNos: []string{"\xff"}}),
			faultsAt("customerReferenceNos[1]", "supplierReferenceNos[0]")},
		{"OrderVoucher: Latin-1", validVoucher(hotelstays.OrderVoucherRequest{CustomerReferenceNo: "\xff", PlatformReferenceNo: "\xff", SupplierReferenceNo: "\xff"}),
			faultsAt("customerReferenceNo", "platformReferenceNo", "supplierReferenceNo")},
		{"Book: names in Latin-1", validGuest(func(g *types.Guest) { g.FirstName = "Jos\xe9" }), faultsAt("guests[0].firstName")},
		{"Book: a passport in Latin-1", validGuest(func(g *types.Guest) { g.PassportNumber = types.NewSecret("A\xe9") }), faultsAt("guests[0].passportNumber")},
	})
}

// Four genders in any case, and two short forms. Any other value is refused here.
func TestGenders(t *testing.T) {
	validRun(t, []validRow{
		{"Book: no gender", validGuest(func(g *types.Guest) { g.Gender = "" }), validSent},
		{"Book: MALE", validGuest(func(g *types.Guest) { g.Gender = "MALE" }), validSent},
		{"Book: female", validGuest(func(g *types.Guest) { g.Gender = "female" }), validSent},
		{"Book: Other", validGuest(func(g *types.Guest) { g.Gender = "Other" }), validSent},
		{"Book: UNSPECIFIED", validGuest(func(g *types.Guest) { g.Gender = "UNSPECIFIED" }), validSent},
		{"Book: M", validGuest(func(g *types.Guest) { g.Gender = "M" }), validSent},
		{"Book: f", validGuest(func(g *types.Guest) { g.Gender = "f" }), validSent},
		{"Book: X", validGuest(func(g *types.Guest) { g.Gender = "X" }), faultsAt("guests[0].gender")},
		{"Book: blank gender", validGuest(func(g *types.Guest) { g.Gender = " " }), faultsAt("guests[0].gender")},
	})
}

func TestValidationOfOrders(t *testing.T) {
	validRun(t, []validRow{
		{"QueryOrders: nothing set", validOrders(hotelstays.QueryOrdersRequest{}), validSent},
		{"QueryOrders: statuses", validOrders(hotelstays.QueryOrdersRequest{StatusList: []json.RawMessage{json.RawMessage(`1`), json.RawMessage(`"x"`), json.RawMessage(`{"a":1}`)}}), validSent},
		{"QueryOrders: not JSON", validOrders(hotelstays.QueryOrdersRequest{StatusList: []json.RawMessage{json.RawMessage(`1`), json.RawMessage(`confirmed`), nil, json.RawMessage(`1 2`)}}),
			faultsAt("statusList[1]", "statusList[2]", "statusList[3]")},
		{"OrderVoucher: nothing set", validVoucher(hotelstays.OrderVoucherRequest{}), faultsAt("platformReferenceNo")},
		{"OrderVoucher: the document alone names no order", validVoucher(hotelstays.OrderVoucherRequest{IncludeDocument: true}), faultsAt("platformReferenceNo")},
		{"OrderVoucher: a blank reference is none", validVoucher(hotelstays.OrderVoucherRequest{CustomerReferenceNo: " "}), faultsAt("platformReferenceNo")},
		{"OrderVoucher: by customer reference", validVoucher(hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c"}), validSent},
		{"OrderVoucher: by platform reference", validVoucher(hotelstays.OrderVoucherRequest{PlatformReferenceNo: "p"}), validSent},
		{"OrderVoucher: by supplier reference", validVoucher(hotelstays.OrderVoucherRequest{SupplierReferenceNo: "s"}), validSent},
		{"Cancel: nothing set", validCancel(hotelstays.CancelRequest{}), faultsAt("Session-Id", "customerReferenceNo", "supplierReferenceNo")},
		{"Cancel: one reference is not enough", validCancel(hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "c"}), faultsAt("supplierReferenceNo")},
		{"Cancel: no reason", validCancel(hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "c", SupplierReferenceNo: "p"}), validSent},
	})
}

func TestValidationOfNoRequest(t *testing.T) {
	validRun(t, []validRow{
		{"nil: Ticket", wireOf((*hotelstays.Client).Ticket, nil), faultsAt("request")},
		{"nil: OAuthToken", wireOf((*hotelstays.Client).OAuthToken, nil), faultsAt("request")},
		{"nil: Destinations", wireOf((*hotelstays.Client).Destinations, nil), faultsAt("request")},
		{"nil: HotelsMetadata", wireOf((*hotelstays.Client).HotelsMetadata, nil), faultsAt("request")},
		{"nil: HotelStaticDetail", wireOf((*hotelstays.Client).HotelStaticDetail, nil), faultsAt("request")},
		{"nil: HotelIDList", wireOf((*hotelstays.Client).HotelIDList, nil), faultsAt("request")},
		{"nil: HotelList", wireOf((*hotelstays.Client).HotelList, nil), faultsAt("request")},
		{"nil: HotelRates", wireOf((*hotelstays.Client).HotelRates, nil), faultsAt("request")},
		{"nil: CheckAvail", wireOf((*hotelstays.Client).CheckAvail, nil), faultsAt("request")},
		{"nil: Book", wireOf((*hotelstays.Client).Book, nil), faultsAt("request")},
		{"nil: QueryOrders", wireOf((*hotelstays.Client).QueryOrders, nil), faultsAt("request")},
		{"nil: OrderVoucher", wireOf((*hotelstays.Client).OrderVoucher, nil), faultsAt("request")},
		{"nil: Cancel", wireOf((*hotelstays.Client).Cancel, nil), faultsAt("request")},
	})
}

func TestValidationDates(t *testing.T) {
	for date, ok := range map[types.Date]bool{
		"2026-12-24": true, "2028-02-29": true,
		"2026-02-29": false, "2026-13-01": false, "2026-00-10": false, "2026-12-32": false,
		"2026-1-2": false, "20261224": false, "24-12-2026": false, "2026/12/24": false,
		"2026-12-24T00:00:00Z": false, " 2026-12-24": false, "2026-12-24 ": false, "26-12-24": false, "today": false,
	} {
		t.Run(string(date), func(t *testing.T) {
			counted := &validCounted{}
			req := validEdit(validHotelList(), func(r *hotelstays.HotelListRequest) { r.CheckIn, r.CheckOut = date, "2029-01-01" })
			_, err := validClient(t, counted, hotelstays.TokenCredential{Token: types.NewSecret("token")}).HotelList(t.Context(), req)
			if ok {
				assert.Equal(t, 1, counted.sent)
				return
			}
			assert.Equal(t, []string{"checkIn"}, validPaths(t, err))
			assert.Zero(t, counted.sent)
		})
	}
}

// A request and its options are judged together, and the caller sees every fault.
func TestValidationAllFaultsAtOnce(t *testing.T) {
	c := validClient(t, validNoSend{t}, hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s"), Scopes: []hotelstays.Scope{hotelstays.ScopeBookingWrite}})
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
	}, validPaths(t, err))
	var invalid *hotelstays.ValidationError
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, hotelstays.OpBook, invalid.Operation)
}

func TestValidationErrorText(t *testing.T) {
	_, err := validClient(t, validNoSend{t}, hotelstays.TokenCredential{Token: types.NewSecret("token")}).CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: "s"})
	assert.EqualError(t, err, "hotelstays: CheckAvail: nothing was sent: ratePkgId: is required")
}

// The request is the caller's: checking and sending it change nothing in it.
func TestValidationLeavesTheRequestAlone(t *testing.T) {
	req, same := validBook(), validBook()
	req.Guests[0].PassportNumber, same.Guests[0].PassportNumber = types.NewSecret("P1"), types.NewSecret("P1")
	_, err := validClient(t, &validCounted{}, hotelstays.TokenCredential{Token: types.NewSecret("token")}).Book(t.Context(), &req)
	require.Error(t, err)
	assert.Equal(t, same, req)
}

// validWatcher fails the test when a call gets as far as the limiter or the observer.
type validWatcher struct{ t *testing.T }

func (w validWatcher) Acquire(context.Context, hotelstays.Operation) (hotelstays.Permit, error) {
	w.t.Error("a slot was asked for")
	return nil, errors.New("none")
}
func (w validWatcher) Pause(hotelstays.Operation, time.Time) { w.t.Error("paused") }

func (w validWatcher) CallStart(ctx context.Context, _ hotelstays.CallStart) context.Context {
	w.t.Error("a call was reported")
	return ctx
}
func (w validWatcher) CallEnd(context.Context, hotelstays.CallInfo) { w.t.Error("a call was reported") }

func TestValidationComesFirst(t *testing.T) {
	w := validWatcher{t}
	c := validClient(t, validNoSend{t}, hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s")}, hotelstays.WithRateLimiter(w), hotelstays.WithObserver(hotelstays.Observer{CallStart: w.CallStart, CallEnd: w.CallEnd}))
	_, err := c.Cancel(t.Context(), &hotelstays.CancelRequest{})
	assert.Len(t, validPaths(t, err), 3)
}

// A header on one call of an operation that does not take it is a fault. Set on
// the client it is left out in silence: wire_test.go compares the headers.
func TestValidationMisplacedHeaders(t *testing.T) {
	options := []struct {
		path string
		opt  hotelstays.SharedOption
	}{
		{"WithMarket", hotelstays.WithMarket("AE")},
		{"WithUserRef", hotelstays.WithUserRef("user")},
		{"WithCurrency", hotelstays.WithCurrency("EUR")},
		{"WithTestFlags", hotelstays.WithTestFlags(map[string]string{"a": "1"})},
	}
	for _, op := range wireOperations() {
		t.Run(op.name, func(t *testing.T) {
			c := validClient(t, validNoSend{t}, hotelstays.TokenCredential{Token: types.NewSecret("token")})
			for i, o := range options {
				taken := op.group == wireFlow || op.group == wirePlain && i < 2
				if taken {
					continue
				}
				_, err := op.full.send(t.Context(), c, o.opt)
				assert.Equal(t, []string{o.path}, validPaths(t, err))
			}
		})
	}
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
		{"empty timestamp", "WithClientRequestTimestamp", hotelstays.WithClientRequestTimestamp("")},
		{"no states", "WithOrderStates", hotelstays.WithOrderStates(hotelstays.OrderStates{})},
		{"a state of two meanings", "WithOrderStates", hotelstays.WithOrderStates(hotelstays.OrderStates{
			Confirmed: []types.OrderStatus{2}, Pending: []types.OrderStatus{4}, Cancelled: []types.OrderStatus{2}})},
		{"nil", "opts", nil},
	}
	req := new(validHotelList())
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := validClient(t, validNoSend{t}, hotelstays.TokenCredential{Token: types.NewSecret("token")}).HotelList(t.Context(), req, row.opt)
			assert.Equal(t, []string{row.path}, validPaths(t, err))

			if shared, ok := row.opt.(hotelstays.Option); ok {
				_, err = hotelstays.New("https://api.example.test", hotelstays.TokenCredential{Token: types.NewSecret("token")}, shared)
				assert.Equal(t, []string{row.path}, validPaths(t, err))
			}
		})
	}
}

func TestValidationBatchOptions(t *testing.T) {
	req := validEdit(validHotelList(), func(r *hotelstays.HotelListRequest) { r.HotelIDs = validIDs(3) })
	for _, row := range []struct {
		path string
		opt  hotelstays.BatchOption
	}{
		{"opts", nil},
		{"WithBatchSize", hotelstays.WithBatchSize(0)}, {"WithBatchSize", hotelstays.WithBatchSize(1001)},
		{"WithParallelism", hotelstays.WithParallelism(0)}, {"WithParallelism", hotelstays.WithParallelism(-1)},
	} {
		for _, err := range validClient(t, validNoSend{t}, hotelstays.TokenCredential{Token: types.NewSecret("token")}).HotelListBatches(t.Context(), req, row.opt) {
			assert.Equal(t, []string{row.path}, validPaths(t, err))
		}
	}
}

// Ids are told of once, wherever they stand among the batches.
func TestValidationOfBatchIDs(t *testing.T) {
	for _, row := range []struct{ ids, faults []string }{
		{[]string{"a", "", "b", "\xff"}, faultsAt("hotelIds[1]", "hotelIds[3]")},
		{nil, faultsAt("hotelIds")},
	} {
		req := validEdit(validHotelList(), func(r *hotelstays.HotelListRequest) { r.DestinationID, r.HotelIDs = "", row.ids })
		told := 0
		for _, err := range validClient(t, validNoSend{t}, hotelstays.TokenCredential{Token: types.NewSecret("token")}).HotelListBatches(t.Context(), req, hotelstays.WithBatchSize(3)) {
			assert.Equal(t, row.faults, validPaths(t, err))
			told++
		}
		assert.Equal(t, 1, told)
	}
}

func TestNewReportsAllFaultsAtOnce(t *testing.T) {
	oldTLS := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS11}}}
	c, err := hotelstays.New("http://api.example.test", hotelstays.TicketCredential{TTL: -1},
		nil,
		hotelstays.WithHTTPClient(nil),
		hotelstays.WithHTTPClient(oldTLS),
		hotelstays.WithLogger((*slog.Logger)(nil)),
		hotelstays.WithRateLimiter(nil),
		hotelstays.WithTokenStore(nil),
		hotelstays.WithObserver(hotelstays.Observer{}),
		hotelstays.WithMaxAttempts(0),
		hotelstays.WithMaxAttempts(101),
		hotelstays.WithMaxResponseBytes(0),
		hotelstays.WithUserAgent(""),
		hotelstays.WithUserAgent("a\r\nb"),
		hotelstays.WithTimeout(-1),
		hotelstays.WithMarket("x"),
	)
	assert.Nil(t, c)
	assert.Equal(t, []string{
		"WithHTTPClient", "WithHTTPClient", "WithLogger", "WithMarket", "WithMaxAttempts", "WithMaxAttempts", "WithMaxResponseBytes",
		"WithObserver", "WithRateLimiter", "WithTimeout", "WithTokenStore", "WithUserAgent", "WithUserAgent",
		"appKey", "appSecret", "baseURL", "opts", "ttl",
	}, validPaths(t, err))
	var invalid *hotelstays.ValidationError
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, "New", invalid.Func)
}

// A transport that names no TLS version has net/http's own, which is good.
func TestNewTakesTheDefaultTLS(t *testing.T) {
	for _, version := range []uint16{0, tls.VersionTLS12, tls.VersionTLS13} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: version}}
		_, err := hotelstays.New("https://api.example.test", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(&http.Client{Transport: transport}))
		assert.NoError(t, err)
	}
}

func TestNewCredentials(t *testing.T) {
	read := []hotelstays.Scope{hotelstays.ScopeSearchRead}
	rows := []struct {
		name   string
		cred   hotelstays.Credential
		faults []string
	}{
		{"none", nil, []string{"cred"}},
		{"nil pointer", (*hotelstays.TicketCredential)(nil), []string{"cred"}},
		{"ticket", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s")}, nil},
		{"ticket by pointer", &hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s")}, nil},
		{"ticket for a year", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: 365 * 24 * time.Hour}, nil},
		{"ticket for longer", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: 365*24*time.Hour + time.Second}, []string{"ttl"}},
		{"ticket from a log", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("[redacted]")}, []string{"appSecret"}},
		{"oauth", hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s"), Scopes: read, Lifetime: time.Hour}, nil},
		{"oauth without anything", hotelstays.OAuthCredential{Lifetime: -1}, []string{"Lifetime", "client_id", "client_secret"}},
		{"oauth without scopes", hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s")}, nil},
		{"oauth with an unknown scope", hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s"), Scopes: []hotelstays.Scope{"all"}}, []string{"scope[0]"}},
		{"oauth from a log", hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("[redacted]"), Scopes: read}, []string{"client_secret"}},
		{"token", hotelstays.TokenCredential{Token: types.NewSecret("t")}, nil},
		{"empty token", hotelstays.TokenCredential{Token: types.NewSecret("")}, []string{"Token"}},
		{"token from a log", hotelstays.TokenCredential{Token: types.NewSecret("[redacted]")}, []string{"Token"}},
		{"token from a file, with its line break", hotelstays.TokenCredential{Token: types.NewSecret("t\n")}, []string{"Token"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := hotelstays.New("https://api.example.test", row.cred)
			if row.faults == nil {
				assert.NoError(t, err)
				return
			}
			assert.Equal(t, row.faults, validPaths(t, err))
		})
	}
}

func TestNewBaseURL(t *testing.T) {
	good := []string{
		"https://api.example.test", "https://api.example.test/", "https://api.example.test:8443/env/v2/", "HTTPS://API.example.test",
		"http://localhost:8080", "http://LOCALHOST", "http://127.0.0.1:1/x", "http://127.9.9.9", "http://[::1]:8080", "https://10.0.0.1",
	}
	bad := []string{
		"", " ", "api.example.test", "//api.example.test", "/env", "https://", "https:///env", "https://:443", "https:api.example.test",
		"http://api.example.test", "http://10.0.0.1", "http://0.0.0.0", "http://[::]", "http://localhost.example.test", "http://127.0.0.1.example.test",
		"ftp://api.example.test", "ws://localhost", "https://user@api.example.test", "https://user:pass@api.example.test", "http://localhost@api.example.test",
		"https://api.example.test?x=1", "https://api.example.test/?", "https://api.example.test/#top", "https://api.example.test:port", "https://%zz", "https://a b",
	}
	for _, base := range good {
		_, err := hotelstays.New(base, hotelstays.TokenCredential{Token: types.NewSecret("t")})
		assert.NoError(t, err, base)
	}
	for _, base := range bad {
		_, err := hotelstays.New(base, hotelstays.TokenCredential{Token: types.NewSecret("t")})
		if assert.Error(t, err, base) {
			assert.Equal(t, []string{"baseURL"}, validPaths(t, err), base)
			assert.NotContains(t, err.Error(), "user:pass", "an address may hold a password")
		}
	}
}

// validURL records where a request goes.
type validURL struct{ url string }

func (v *validURL) RoundTrip(r *http.Request) (*http.Response, error) {
	v.url = r.URL.String()
	return nil, errors.New("recorded")
}

func TestNewBaseURLKeepsItsPath(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.example.test":           "https://api.example.test/api/search/destinations",
		"https://api.example.test/":          "https://api.example.test/api/search/destinations",
		"https://api.example.test:8443/env/": "https://api.example.test:8443/env/api/search/destinations",
	} {
		rt := &validURL{}
		c, err := hotelstays.New(base, hotelstays.TokenCredential{Token: types.NewSecret("t")}, hotelstays.WithHTTPClient(&http.Client{Transport: rt}), hotelstays.WithMaxAttempts(1))
		require.NoError(t, err)
		_, err = c.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
		require.Error(t, err)
		assert.Equal(t, want, rt.url)
	}
}
