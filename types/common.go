// Small types that several operations share: text, places, pages, people.

package types

import (
	"cmp"
	"fmt"
)

// I18N is a text in the service's languages. English is the system's default
// language; a language that was not sent is empty.
type I18N struct {
	EN string `json:"en,omitempty"` // English
	ZH string `json:"zh,omitempty"` // Chinese
	AR string `json:"ar,omitempty"` // Arabic
}

// String returns the text in English, or in the first other language that was sent.
// Many texts are optional pointers: String of one that is nil is empty, and fmt prints it
// as <nil>.
func (t *I18N) String() string {
	if t == nil {
		return ""
	}
	return cmp.Or(t.EN, t.ZH, t.AR)
}

// Format prints the text of String, for values that have no address, too.
func (t I18N) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), t.String()) }

// Latlng is a point, in degrees.
type Latlng struct {
	Lat float64 `json:"lat"`
	Lng float64 `json:"lng"`
}

// LatlngCoordinator is one place in the coordinates of two map systems.
type LatlngCoordinator struct {
	// Google is always sent when the object is.
	Google Latlng `json:"google"`
	// Gaode is the place on the Gaode map, which offsets coordinates in China.
	Gaode *Latlng `json:"gaode,omitempty"`
}

// PageReq asks for one page of a listing.
type PageReq struct {
	// PageNum counts from 1; 0 is not sent.
	PageNum int `json:"pageNum,omitempty"`
	// PageSize is how many items a page holds; 0 leaves it to the service. The
	// request says its default and limit.
	PageSize int `json:"pageSize,omitempty"`
	// Cursor points at the next page. No response is shown to carry one, so that
	// the iterators of this module advance by PageNum alone.
	Cursor *int64 `json:"cursor,omitempty"`
}

// PageResp says where a listing stands.
type PageResp struct {
	// Total is the number of items of the whole listing; 0 means that there are
	// none, or that the query has no totals.
	Total int `json:"total,omitempty"`
	// HasMore is true while further pages follow.
	HasMore bool `json:"hasMore,omitempty"`
}

// TimeWindow is a range of time; either end may be left open. The form of its bounds is
// undocumented: they are the caller's text.
type TimeWindow struct {
	Start string `json:"start,omitempty"`
	End   string `json:"end,omitempty"`
}

// Phone is a telephone number.
type Phone struct {
	// CountryCode and CountryNumber name the country; which codes and numbers these are
	// is undocumented. Orders that are read back may omit CountryNumber.
	CountryCode   string `json:"countryCode,omitempty"`
	CountryNumber int    `json:"countryNumber,omitempty"`
	Number        string `json:"number,omitempty"`
}

// Holder is the person in whose name a booking is made.
type Holder struct {
	FirstName string `json:"firstName"` // required
	LastName  string `json:"lastName"`  // required
	Email     string `json:"email,omitempty"`
	Phone     *Phone `json:"phone,omitempty"`
}

// GuestPerRoom is the occupancy of one room.
type GuestPerRoom struct {
	// AdultCount is required: 0 is refused as a count that was left out.
	AdultCount int `json:"adultCount"`
	// ChildrenAges has one age in years for each child.
	ChildrenAges []int `json:"childrenAges,omitempty"`
}

// Gender is a guest's gender. The service matches it without regard to case,
// takes M and F as shorthand, and refuses every other value.
type Gender string

// The documented genders.
const (
	GenderMale        Gender = "MALE"
	GenderFemale      Gender = "FEMALE"
	GenderOther       Gender = "OTHER"
	GenderUnspecified Gender = "UNSPECIFIED"
)

// Guest is one traveller of a booking.
type Guest struct {
	// RoomIndex is the room that the guest sleeps in, counted from 1. Required.
	RoomIndex int    `json:"roomIndex"`
	FirstName string `json:"firstName"` // required
	LastName  string `json:"lastName"`  // required
	// NationalityCode is the guest's nationality.
	NationalityCode string `json:"nationalityCode,omitempty"`
	// Age in years matters for children only; a pointer, because an infant's 0 is
	// an age.
	Age *int `json:"age,omitempty"`
	// IsChild is the caller's own decision; nil sends none.
	IsChild *bool `json:"isChild,omitempty"`
	// Gender goes to the supplier where its contract requires it.
	Gender Gender `json:"gender,omitempty"`
	// DateOfBirth is required where the supplier's contract says so, and for a
	// child or infant, for whom Age is accepted in its place.
	DateOfBirth Date `json:"dateOfBirth,omitempty"`
	// PassportNumber has at most 50 characters and is required where the
	// supplier's contract says so. Orders that are read back show its last four
	// characters only.
	PassportNumber Secret `json:"passportNumber,omitzero"`
}
