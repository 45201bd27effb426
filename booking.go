// Booking: re-checking an offer, and booking it.

package hotelstays

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hotelstays/hotelstays-go/types"
)

// CheckAvailRequest asks whether an offer still holds.
type CheckAvailRequest struct {
	// SessionID is the session of the search that returned the offer. Required.
	SessionID string `json:"-"`
	RatePkgID string `json:"ratePkgId"` // required
}

func (r *CheckAvailRequest) parts() parts                           { return parts{body: r, session: r.SessionID} }
func (*CheckAvailRequest) check(*CheckAvailResponse, *answer) error { return nil }

func (r *CheckAvailRequest) validate(v *validation) {
	v.session(r.SessionID, true)
	v.required("ratePkgId", r.RatePkgID)
}

// CheckAvailResponse holds the refreshed offer.
type CheckAvailResponse struct {
	// Status is 1 or 2; which of them means available is undocumented. Ask Available.
	Status types.AvailabilityStatus `json:"status"`
	// RoomRatePkg is the offer as it is now, nil when it is gone. Its price may have
	// moved: compare it with the one that the traveller saw.
	RoomRatePkg *types.RoomRatePkg `json:"roomRatePkg"`
	// ExchangeRateSnapshot is used again for the booking and for refunds.
	ExchangeRateSnapshot *types.ExchangeRateSnapshot `json:"exchangeRateSnapshot"`
	Meta                 ResponseMeta                `json:"-"`
}

// Available reports whether the offer can be booked: whether it came back.
func (r *CheckAvailResponse) Available() bool { return r.RoomRatePkg != nil }

func (r *CheckAvailResponse) meta() *ResponseMeta { return &r.Meta }

// CheckAvail asks for the offer's price and availability right before it is booked. A price
// that moved is a success with the new price; an offer that is gone is a success without an
// offer. The document both recommends it before Book and calls it mandatory.
func (c *Client) CheckAvail(ctx context.Context, req *CheckAvailRequest, opts ...CallOption) (*CheckAvailResponse, error) {
	return invoke(ctx, c, OpCheckAvail, req, opts)
}

// MaxPassportNumber is how many characters a passport number may have.
const MaxPassportNumber = 50

// BookRequest books an offer. Its JSON is no copy of it: SessionID and Expect are not
// in it, and passport numbers are redacted.
type BookRequest struct {
	// SessionID is the session of the search that returned the offer. Required.
	// Store it with the order, for Cancel.
	SessionID string `json:"-"`
	// CustomerReferenceNo is your reference, such as a UUID, and the idempotency key: the
	// service makes one order for it, and returns that order to a second Book. Required.
	// Store it before Book is called.
	CustomerReferenceNo string       `json:"customerReferenceNo"`
	RatePkgID           string       `json:"ratePkgId"` // required
	Holder              types.Holder `json:"holder"`    // required
	// Guests is required. How many of the travellers it must name is undocumented.
	Guests []types.Guest `json:"guests"`
	// CallbackURL is where the order's events are posted: a public https address, as
	// ValidateCallbackURL checks it. It needs a ticket, not an OAuth token. A client whose
	// base URL is loopback, in tests and against the sandbox, takes loopback addresses.
	CallbackURL string `json:"callbackUrl,omitempty"`
	// Expect is the offer that is being booked, and is not sent. An order of other dates
	// is a *ReferenceReusedError; CompareOrder lists what else differs.
	Expect *types.RoomRatePkg `json:"-"`
}

func (r *BookRequest) parts() parts {
	return parts{body: r.wire(), session: r.SessionID, reference: r.CustomerReferenceNo, secrets: r.passports()}
}

func (r *BookRequest) validate(v *validation) {
	v.session(r.SessionID, true)
	v.required("customerReferenceNo", r.CustomerReferenceNo)
	v.required("ratePkgId", r.RatePkgID)
	v.required("holder.firstName", r.Holder.FirstName)
	v.required("holder.lastName", r.Holder.LastName)
	if len(r.Guests) == 0 {
		v.add("guests", "is required")
	}
	for i := range r.Guests {
		v.guest(fmt.Sprintf("guests[%d].", i), &r.Guests[i])
	}
	v.callback(r.CallbackURL)
}

func (f *faults) guest(path string, g *types.Guest) {
	if g.RoomIndex < 1 {
		f.add(path+"roomIndex", "is %d; rooms count from 1", g.RoomIndex)
	}
	f.required(path+"firstName", g.FirstName)
	f.required(path+"lastName", g.LastName)
	if !oneOf(types.Gender(strings.ToUpper(string(g.Gender))), "", "M", "F",
		types.GenderMale, types.GenderFemale, types.GenderOther, types.GenderUnspecified) {
		f.add(path+"gender", "is %q; it must be MALE, FEMALE, OTHER or UNSPECIFIED", g.Gender)
	}
	if _, err := g.DateOfBirth.Time(); g.DateOfBirth != "" && err != nil {
		f.add(path+"dateOfBirth", "is not of the form YYYY-MM-DD") // whose it is stays private
	}
	if g.IsChild != nil && *g.IsChild && g.DateOfBirth == "" && g.Age == nil {
		f.add(path+"dateOfBirth", "is required for a child, or age in its place")
	}
	if n := utf8.RuneCountInString(g.PassportNumber.Reveal()); n > MaxPassportNumber {
		f.add(path+"passportNumber", "has %d characters; the limit is %d", n, MaxPassportNumber)
	}
	f.text(path+"passportNumber", g.PassportNumber.Reveal())
	f.secret(path+"passportNumber", g.PassportNumber)
}

// wire is the request with its passport numbers in the open.
func (r *BookRequest) wire() any {
	type guest struct {
		types.Guest
		PassportNumber string `json:"passportNumber,omitempty"`
	}
	guests := make([]guest, len(r.Guests))
	for i, g := range r.Guests {
		guests[i] = guest{g, g.PassportNumber.Reveal()}
	}
	return struct {
		*BookRequest
		Guests []guest `json:"guests"`
	}{r, guests}
}

func (r *BookRequest) passports() []types.Secret {
	numbers := make([]types.Secret, len(r.Guests))
	for i, g := range r.Guests {
		numbers[i] = g.PassportNumber
	}
	return numbers
}

// callback checks a callback URL. A client of this machine may be called back on it, as in
// tests and with the sandbox.
func (v *validation) callback(url string) {
	if url == "" {
		return
	}
	if !v.callbacks {
		v.add("callbackUrl", "needs a ticket credential: an OAuth token cannot register callbacks")
	}
	if v.loopback && isLoopbackURL(url) {
		return
	}
	if problem := callbackProblem(url); problem != "" {
		v.add("callbackUrl", "%s", problem)
	}
}

// BookResponse holds the order.
type BookResponse struct {
	HotelOrder *types.Order `json:"hotelOrder"`
	Meta       ResponseMeta `json:"-"`
}

func (r *BookRequest) check(resp *BookResponse, _ *answer) error {
	switch o := resp.HotelOrder; {
	case o == nil:
		return missing("data.hotelOrder")
	case o.PlatformReferenceNo == "" && o.SupplierReferenceNo == "" && o.CustomerReferenceNo == "":
		return missing("every reference of data.hotelOrder")
	case !sameReference(r.CustomerReferenceNo, o.CustomerReferenceNo):
		return errOtherOrder
	}
	return nil
}

func (r *BookResponse) meta() *ResponseMeta { return &r.Meta }

// Book books an offer and deducts its price from the account. It ends in one of three ways.
//
// An order: the booking exists. Its status is mostly still open: the supplier's work goes
// on for 3 to 10 minutes, and QueryOrders shows how it ends.
//
// An *OutcomeUnknownError: the booking may exist. Do not book again; ask QueryOrders for the
// reference, or let BookAndRecover do it. A ctx that ends while Book is under way gives this
// error, too. Look for it first: the other errors below may be its cause, and then do not
// mean what they mean alone.
//
// A refusal, an *APIError: nothing was booked. ErrRateChanged: check the offer again.
// ErrDuplicateBooking: an active booking under another reference has the same content. A
// *ValidationError or a *TransportError: nothing was booked, either. A
// *ReferenceReusedError: there is an order, and it is of another stay. An order that was
// made under the reference before, even a cancelled one, comes back as a success where its
// dates agree.
//
// Book is never sent twice unless the first sending provably did nothing.
func (c *Client) Book(ctx context.Context, req *BookRequest, opts ...CallOption) (*BookResponse, error) {
	resp, err := invoke(ctx, c, OpBook, req, opts)
	if err != nil {
		return nil, err
	}
	if err := checkReference(resp.HotelOrder, req.Expect); err != nil {
		return nil, err
	}
	return resp, nil
}

// ReferenceReusedError reports that the order under the reference is of another stay than
// the expected one. Either the reference was used before, or BookRequest.Expect was not the
// offer that was booked.
type ReferenceReusedError struct {
	// Order is the order that the reference has.
	Order *types.Order
	// What names the date that differs, as found and as expected.
	What string
}

// Error names the reference and what differs.
func (e *ReferenceReusedError) Error() string {
	return fmt.Sprintf("hotelstays: %s: the order %s under reference %q is of another stay: %s; was the reference used before? Look at that order before booking anything else",
		OpBook, e.Order.PlatformReferenceNo, e.Order.CustomerReferenceNo, e.What)
}

// checkReference compares the stay of an order with the expected one. A date that one of
// them lacks is no difference.
func checkReference(order *types.Order, expect *types.RoomRatePkg) error {
	what := ""
	switch {
	case expect == nil:
		return nil
	case otherDay(order.CheckIn, expect.CheckIn):
		what = fmt.Sprintf("its check-in is %s instead of %s", order.CheckIn, expect.CheckIn)
	case otherDay(order.CheckOut, expect.CheckOut):
		what = fmt.Sprintf("its check-out is %s instead of %s", order.CheckOut, expect.CheckOut)
	default:
		return nil
	}
	return &ReferenceReusedError{Order: order, What: what}
}

func otherDay(a, b types.Date) bool {
	one, oneErr := a.Time()
	other, otherErr := b.Time()
	return oneErr == nil && otherErr == nil && !one.Equal(other)
}
