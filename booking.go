// Booking: CheckAvail and Book.

package hotelstays

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotelstays/hotelstays-go/internal/hosts"
	"github.com/hotelstays/hotelstays-go/types"
)

// CheckAvailRequest selects the offer to check.
type CheckAvailRequest struct {
	// SessionID is the session of the search that returned the offer. Required.
	SessionID string `json:"sessionId,omitempty"`
	RatePkgID string `json:"ratePkgId"` // required
}

func (r *CheckAvailRequest) parts() parts {
	body := *r
	body.SessionID = ""
	return parts{body: &body, session: r.SessionID}
}

func (*CheckAvailRequest) check(*CheckAvailResponse, *exchange) error { return nil }

func (r *CheckAvailRequest) validate(v *validation) {
	v.session(r.SessionID, true)
	v.required("ratePkgId", r.RatePkgID)
}

// CheckAvailResponse holds the refreshed offer.
type CheckAvailResponse struct {
	// Status is 1 or 2. Which value means available is undocumented, so call the method Available instead.
	Status types.AvailabilityStatus `json:"status"`
	// RoomRatePkg is the current offer, or nil if the offer no longer exists. CompareOffer lists what changed.
	RoomRatePkg          *types.RoomRatePkg          `json:"roomRatePkg"`
	ExchangeRateSnapshot *types.ExchangeRateSnapshot `json:"exchangeRateSnapshot"`
	Meta                 ResponseMeta                `json:"-"`
}

// Available reports whether the offer can be booked, which is true if the answer contains an offer with an id.
func (r *CheckAvailResponse) Available() bool {
	return r.RoomRatePkg != nil && r.RoomRatePkg.RatePkgID != ""
}

// CheckAvail returns the current price and availability of an offer. Call it right before Book. It returns no error if the
// price has changed, or if the offer no longer exists: see CompareOffer and Available.
func (c *Client) CheckAvail(ctx context.Context, req *CheckAvailRequest, opts ...CallOption) (*CheckAvailResponse, error) {
	return invoke(ctx, c, OpCheckAvail, req, opts)
}

// BookRequest books an offer. Its JSON has all fields, but "[redacted]" in place of passport numbers. After you have
// decoded this JSON, set the passport numbers again: Book refuses redacted numbers.
type BookRequest struct {
	// SessionID is the session of the search. Required. Store it with the order: Cancel needs it.
	SessionID string `json:"sessionId,omitempty"`
	// CustomerReferenceNo is your reference for the order, such as a UUID, and the idempotency key: a second Book with
	// the same reference returns the first order. Required. Store it before Book.
	CustomerReferenceNo string       `json:"customerReferenceNo"`
	RatePkgID           string       `json:"ratePkgId"` // required
	Holder              types.Holder `json:"holder"`    // required
	// Guests is required. How many travellers it must name is undocumented.
	Guests []types.Guest `json:"guests"`
	// CallbackURL is the URL to which the service posts the events of the order. ValidateCallbackURL describes valid URLs.
	// A client with a loopback base URL may use a loopback address. Book refuses a CallbackURL if the client has an
	// OAuthCredential.
	CallbackURL string `json:"callbackUrl,omitempty"`
	// Expect is the offer that you want to book. The client does not send it, but compares the order with it. If the order
	// has other dates, the error is a *ReferenceReusedError. BookResponse.Changes lists all other differences.
	Expect *types.RoomRatePkg `json:"expect,omitempty"`
}

func (r *BookRequest) parts() parts {
	return parts{body: r.wire(), session: r.SessionID, reference: r.CustomerReferenceNo, secrets: r.passports(), guests: r.personal()}
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
		f.add(path+"dateOfBirth", "is not of the form YYYY-MM-DD") // the message leaves out the date, because a date of birth is private
	}
	if g.IsChild != nil && *g.IsChild && g.DateOfBirth == "" && g.Age == nil {
		f.add(path+"dateOfBirth", "is required for a child without an age")
	}
	if n := utf8.RuneCountInString(g.PassportNumber.Reveal()); n > types.MaxPassportNumber {
		f.add(path+"passportNumber", "has %d characters; the limit is %d", n, types.MaxPassportNumber)
	}
	f.text(path+"passportNumber", g.PassportNumber.Reveal())
	f.secret(path+"passportNumber", g.PassportNumber.Reveal())
}

// wire returns the body of the HTTP request: passport numbers are in plain text, and SessionID and Expect are missing.
func (r *BookRequest) wire() any {
	type guest struct {
		types.Guest
		PassportNumber string `json:"passportNumber,omitempty"`
	}
	guests := make([]guest, len(r.Guests))
	for i, g := range r.Guests {
		guests[i] = guest{g, g.PassportNumber.Reveal()}
	}
	body := *r
	body.SessionID, body.Expect = "", nil
	return struct {
		*BookRequest
		Guests []guest `json:"guests"`
	}{&body, guests}
}

func (r *BookRequest) passports() []types.Secret {
	numbers := make([]types.Secret, len(r.Guests))
	for i, g := range r.Guests {
		numbers[i] = g.PassportNumber
	}
	return numbers
}

// personal returns the personal data of holder and guests for redaction, except passport numbers. Each word of a name
// is one element.
func (r *BookRequest) personal() []string {
	words := []string{r.Holder.Email}
	if r.Holder.Phone != nil {
		words = append(words, r.Holder.Phone.Number)
	}
	words = append(words, strings.Fields(r.Holder.FirstName+" "+r.Holder.LastName)...)
	for _, g := range r.Guests {
		words = append(words, string(g.DateOfBirth))
		words = append(words, strings.Fields(g.FirstName+" "+g.LastName)...)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func (v *validation) callback(url string) {
	if url == "" {
		return
	}
	if !v.callbacks {
		v.add("callbackUrl", "needs a ticket, because an OAuth token cannot register callbacks")
	}
	if v.loopback && hosts.IsLoopbackURL(url) {
		return
	}
	if problem := hosts.CallbackProblem(url); problem != "" {
		v.add("callbackUrl", "%s", problem)
	}
}

// BookResponse holds the order.
type BookResponse struct {
	HotelOrder *types.Order `json:"hotelOrder"`
	// Changes lists the differences between BookRequest.Expect and the order, as CompareOrder returns them. Without Expect
	// it is empty.
	Changes OfferDiff    `json:"-"`
	Meta    ResponseMeta `json:"-"`
}

func (r *BookRequest) check(resp *BookResponse, _ *exchange) error {
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

// ValidateBook returns the *ValidationError that BookAndRecover would return, or nil. It sends nothing. Call it before you
// store a booking that is sent later.
func (c *Client) ValidateBook(req *BookRequest, opts ...CallOption) error {
	return checkCall(context.Background(), c, OpBook, req, c.collect("BookAndRecover", operations[OpBook], opts))
}

// Book books an offer and deducts its price from the account. The result is one of these:
//
//   - An order: the booking exists. The supplier works on it for 3 to 10 minutes: QueryOrders returns its current
//     status. With Expect, check Changes: the order may cost more than the offer.
//   - An *OutcomeUnknownError, also after the end of ctx: the booking may exist. Do not book again: call
//     RecoverBooking, or use BookAndRecover instead of Book.
//   - ErrRateChanged: nothing was booked. Call CheckAvail again.
//   - ErrDuplicateBooking: nothing was booked. An active booking under another reference has the
//     same content.
//   - A *ReferenceReusedError: the reference already has an order, and its dates differ from Expect.
//   - Any other error: nothing was booked.
//
// The client sends Book a second time only if the first attempt provably did nothing.
func (c *Client) Book(ctx context.Context, req *BookRequest, opts ...CallOption) (*BookResponse, error) {
	resp, err := c.book(ctx, req, opts...)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// book is like Book, but returns the response even if the error is a *ReferenceReusedError.
func (c *Client) book(ctx context.Context, req *BookRequest, opts ...CallOption) (*BookResponse, error) {
	resp, err := invoke(ctx, c, OpBook, req, opts)
	if err == nil {
		resp.Changes, err = checkOrder(resp.HotelOrder, req.Expect)
	}
	return resp, err
}

// ReferenceReusedError reports that the order under the reference has other dates than
// BookRequest.Expect: the reference was used before, or Expect is not the booked offer.
type ReferenceReusedError struct {
	Order *types.Order // the order that already exists under the reference
	What  string       // names the date that differs, with both values
}

// Error names the reference and the difference.
func (e *ReferenceReusedError) Error() string {
	order := cmp.Or(e.Order, &types.Order{})
	return fmt.Sprintf("hotelstays: %s: the order %q under reference %q has other dates: %s; check that order before you book again",
		OpBook, order.PlatformReferenceNo, order.CustomerReferenceNo, e.What)
}

func (*ReferenceReusedError) kind() ErrorKind { return KindReferenceReused }

func (e *ReferenceReusedError) details() details {
	return details{operation: OpBook, reference: cmp.Or(e.Order, &types.Order{}).CustomerReferenceNo}
}

// LogValue returns attributes for slog: the kind, the operation, the reference and the text.
func (e *ReferenceReusedError) LogValue() slog.Value { return logValue(e) }

// checkOrder compares an order with the expected offer. Only different dates are an error; a missing date is not.
func checkOrder(order *types.Order, expect *types.RoomRatePkg) (changes OfferDiff, err error) {
	if expect == nil {
		return OfferDiff{}, nil
	}
	switch {
	case otherDay(order.CheckIn, expect.CheckIn):
		err = &ReferenceReusedError{order, fmt.Sprintf("check-in is %s, expected %s", order.CheckIn, expect.CheckIn)}
	case otherDay(order.CheckOut, expect.CheckOut):
		err = &ReferenceReusedError{order, fmt.Sprintf("check-out is %s, expected %s", order.CheckOut, expect.CheckOut)}
	}
	return CompareOrder(expect, order), err
}

func otherDay(a, b types.Date) bool {
	one, oneErr := a.Time()
	other, otherErr := b.Time()
	return oneErr == nil && otherErr == nil && !one.Equal(other)
}
