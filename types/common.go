// Types that several operations share: text, places, pages, people.

package types

import (
	"cmp"
	"fmt"
	"strings"
)

// I18N is a text in the languages of the service; English is the default. A language that was
// not sent is empty.
type I18N struct {
	EN string `json:"en,omitempty"` // English
	ZH string `json:"zh,omitempty"` // Chinese
	AR string `json:"ar,omitempty"` // Arabic
}

// String returns the English text, or the first other text that was sent. It returns "" if t is nil; fmt prints a nil
// *I18N as <nil>.
func (t *I18N) String() string {
	if t == nil {
		return ""
	}
	return cmp.Or(t.EN, t.ZH, t.AR)
}

// In returns the text in a language. Only the base language counts: "ar", "ar-AE" and "ar_AE" return the Arabic text. If
// that text is missing, In returns the text of String.
func (t *I18N) In(language string) string {
	if t == nil {
		return ""
	}
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(language, "_", "-")), "-")
	texts := map[string]string{"en": t.EN, "zh": t.ZH, "ar": t.AR}
	return cmp.Or(texts[base], t.String())
}

// Format makes fmt print the text of String, for values as well as pointers.
func (t I18N) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), t.String()) }

// Latlng is a point, in degrees.
type Latlng struct {
	Lat float64 `json:"lat"`
	Lng float64 `json:"lng"`
}

// LatlngCoordinator is one place in the coordinates of two map systems.
type LatlngCoordinator struct {
	// Google is the place on the Google map. It is always sent.
	Google Latlng `json:"google"`
	// Gaode is the place on the Gaode map, which offsets coordinates in China.
	Gaode *Latlng `json:"gaode,omitempty"`
}

// PageReq selects one page of a listing.
type PageReq struct {
	// PageNum counts from 1; 0 is not sent.
	PageNum int `json:"pageNum,omitempty"`
	// PageSize is the number of items of a page. 0 means the default. The request that contains this PageReq documents its
	// default and its maximum.
	PageSize int `json:"pageSize,omitempty"`
	// Cursor is sent unchanged. No response is documented to return a cursor, so the iterators advance by PageNum.
	Cursor *int64 `json:"cursor,omitempty"`
}

// PageResp is the position of a page in its listing.
type PageResp struct {
	// Total is the number of items of the whole listing. 0 means that there are no items, or that the service does not count
	// the items of this query.
	Total int `json:"total,omitempty"`
	// HasMore reports whether another page follows; nil: the service did not say.
	HasMore *bool `json:"hasMore,omitempty"`
}

// TimeWindow is a range of time; either end may be left open. The form of its bounds is undocumented, so they are plain
// text.
type TimeWindow struct {
	Start string `json:"start,omitempty"`
	End   string `json:"end,omitempty"`
}

// Phone is a telephone number.
type Phone struct {
	// What CountryCode and CountryNumber hold is undocumented. Orders may lack CountryNumber.
	CountryCode   string `json:"countryCode,omitempty"`
	CountryNumber int    `json:"countryNumber,omitempty"`
	Number        string `json:"number,omitempty"`
}

// Holder is the contact person of a booking.
type Holder struct {
	FirstName string `json:"firstName"` // required
	LastName  string `json:"lastName"`  // required
	Email     string `json:"email,omitempty"`
	Phone     *Phone `json:"phone,omitempty"`
}

// GuestPerRoom is the occupancy of one room.
type GuestPerRoom struct {
	// AdultCount is required, and at least 1.
	AdultCount int `json:"adultCount"`
	// ChildrenAges has one age in years for each child.
	ChildrenAges []int `json:"childrenAges,omitempty"`
}

// Gender is the gender of a guest. The service ignores letter case, also accepts M and F, and refuses every other value.
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
	// RoomIndex is the number of the guest's room, from 1. Required.
	RoomIndex       int    `json:"roomIndex"`
	FirstName       string `json:"firstName"` // required
	LastName        string `json:"lastName"`  // required
	NationalityCode string `json:"nationalityCode,omitempty"`
	// Age is in years, and matters for children only. It is a pointer because infants have
	// the age 0.
	Age *int `json:"age,omitempty"`
	// IsChild says whether you treat the guest as a child. You decide this; nil is not sent.
	IsChild *bool `json:"isChild,omitempty"`
	// Gender is passed on to the suppliers whose contracts ask for it.
	Gender Gender `json:"gender,omitempty"`
	// DateOfBirth is required by some suppliers, and for a child or infant without an Age.
	DateOfBirth Date `json:"dateOfBirth,omitempty"`
	// PassportNumber has at most 50 characters. Some suppliers require it. Orders show only
	// its last four characters.
	PassportNumber Secret `json:"passportNumber,omitzero"`
}
