// Package peers has the compared clients. Each makes the same calls with the same headers, and
// returns the decoded data.
package peers

import (
	"context"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/types"
)

// Token authorises all calls. Token fetches are not compared.
const Token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJiZW5jaCJ9.c2lnbmF0dXJlLW9mLXRoZS1iZW5jaG1hcms"

// Call makes one call and returns the decoded data.
type Call func(context.Context) (any, error)

// Peer is a compared client. It is safe for concurrent use.
type Peer struct {
	Calls map[hotelstays.Operation]Call
	// Close closes the idle connections.
	Close func()
}

// Kind creates a client for any base URL.
type Kind struct {
	Name string
	New  func(baseURL string) (Peer, error)
}

// Names in the targets.
const (
	Ours  = "hotelstays"
	Bare  = "encoding/json"
	Resty = "resty"
)

// All returns the compiled clients, ours first. The generated ones need go generate and the
// build tag generated.
func All() []Kind {
	return append([]Kind{{Ours, newOurs}, {Bare, newBare}, {"goccy", newGoccy}, {Resty, newResty}}, generated()...)
}

// Operations are the calls of every peer.
func Operations() []hotelstays.Operation {
	return []hotelstays.Operation{hotelstays.OpHotelList, hotelstays.OpHotelRates, hotelstays.OpCheckAvail, hotelstays.OpBook}
}

// The requests, the same for all peers.
var (
	occupancy = []types.GuestPerRoom{{AdultCount: 2, ChildrenAges: []int{7}}}

	hotelList = &hotelstays.HotelListRequest{
		SessionID: answers.Session, HotelIDs: answers.HotelIDs(), CheckIn: "2027-02-20", CheckOut: "2027-02-23",
		RoomOccupancies: occupancy, NationalityCode: "AE", PageSize: 200, SortBy: hotelstays.SortPriceAsc,
	}
	hotelRates = &hotelstays.HotelRatesRequest{
		SessionID: answers.Session, HotelID: "PH00000011", CheckIn: "2027-02-20", CheckOut: "2027-02-23",
		RoomOccupancies: occupancy, NationalityCode: "AE",
	}
	checkAvail = &hotelstays.CheckAvailRequest{SessionID: answers.Session, RatePkgID: answers.RatePkgID}
	book       = &hotelstays.BookRequest{
		SessionID: answers.Session, CustomerReferenceNo: answers.Reference, RatePkgID: answers.RatePkgID,
		Holder: types.Holder{FirstName: "Guest", LastName: "One", Email: "guest.one@example.com"},
		Guests: []types.Guest{
			{RoomIndex: 1, FirstName: "Guest", LastName: "One", NationalityCode: "AE", Gender: types.GenderFemale},
			{RoomIndex: 1, FirstName: "Guest", LastName: "Two", NationalityCode: "AE", Gender: types.GenderMale},
		},
	}
)
