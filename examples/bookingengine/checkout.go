// The checkout: the offer is checked again, the guest agrees to changes and enters the
// travellers, and the booking starts.

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hotelstays/hotelstays-go/types"
)

type guestForm struct {
	Email  string
	Guests []guestFields
	Errors formErrors
}

// guestFields are the fields of one guest. The passport number is never shown again, so it is
// not among them.
type guestFields struct {
	Label     string // such as "Room 1, child aged 5"
	Room      int
	Child     bool
	Age       int
	First     string
	Last      string
	FieldName string // prefix of the names of the fields
}

// emptyGuests returns the form for these rooms.
func emptyGuests(rooms []types.GuestPerRoom) guestForm {
	var f guestForm
	add := func(room int, what string, child bool, age int) {
		f.Guests = append(f.Guests, guestFields{
			Label: fmt.Sprintf("Room %d, %s", room, what), Room: room, Child: child, Age: age,
			FieldName: fmt.Sprintf("guest%d", len(f.Guests)+1),
		})
	}
	for i, room := range rooms {
		for n := range room.AdultCount {
			add(i+1, fmt.Sprintf("adult %d", n+1), false, 0)
		}
		for _, age := range room.ChildrenAges {
			add(i+1, "child aged "+strconv.Itoa(age), true, age)
		}
	}
	return f
}

// read fills the form, checks it, and returns the guests for Book.
func (f *guestForm) read(sent url.Values) (types.Holder, []types.Guest) {
	f.Errors = nil
	guests := make([]types.Guest, len(f.Guests))
	for i := range f.Guests {
		g := &f.Guests[i]
		g.First = f.name(sent, g.FieldName+"_first", g.Label+": enter the first name.")
		g.Last = f.name(sent, g.FieldName+"_last", g.Label+": enter the last name.")
		if i == 0 {
			f.readEmail(sent)
		}
		passport := strings.TrimSpace(sent.Get(g.FieldName + "_passport"))
		if utf8.RuneCountInString(passport) > types.MaxPassportNumber {
			f.Errors.add(g.FieldName+"_passport", fmt.Sprintf("%s: a passport number has at most %d characters.", g.Label,
				types.MaxPassportNumber))
		}
		guests[i] = types.Guest{
			RoomIndex: g.Room, FirstName: g.First, LastName: g.Last, IsChild: new(g.Child), PassportNumber: types.NewSecret(passport),
		}
		if g.Child {
			guests[i].Age = new(g.Age)
		}
	}
	return types.Holder{FirstName: guests[0].FirstName, LastName: guests[0].LastName, Email: f.Email}, guests
}

func (f *guestForm) name(sent url.Values, field, problem string) string {
	value := strings.TrimSpace(sent.Get(field))
	if value == "" || utf8.RuneCountInString(value) > maxTextInput {
		f.Errors.add(field, problem)
	}
	return value
}

func (f *guestForm) readEmail(sent url.Values) {
	f.Email = strings.TrimSpace(sent.Get("email"))
	if address, err := mail.ParseAddress(f.Email); err != nil || address.Address != f.Email {
		f.Errors.add("email", "Enter an e-mail address such as name@example.com.")
	}
}

// choose starts the checkout of an offer.
func (s *site) choose(w http.ResponseWriter, r *http.Request) error {
	co, err := s.engine.choose(r.Context(), r.PathValue("search"), r.PostFormValue("offer"))
	if err != nil {
		return err
	}
	return redirect(w, r, "/checkouts/"+co.Reference)
}

// unbooked is a handler of a checkout that is not booked: it may have been the last room. Once
// it is or may be booked, all its addresses lead to the order.
func (s *site) unbooked(h handler) http.Handler {
	return s.page(func(w http.ResponseWriter, r *http.Request) error {
		o, err := s.engine.db.order(r.Context(), r.PathValue("reference"))
		switch {
		case errors.Is(err, errNoOrder), err == nil && o.State == notBooked:
			return h(w, r)
		case err != nil:
			return err
		}
		return redirect(w, r, "/orders/"+o.Checkout.Reference)
	})
}

// checkoutOf returns the checkout of an address.
func (s *site) checkoutOf(r *http.Request) (checkout, error) {
	co, ok := s.engine.checkouts.get(r.PathValue("reference"))
	if !ok {
		return co, errExpired
	}
	return co, nil
}

// checkoutPage shows the guest form, the changed offer, or that the offer is gone.
type checkoutPage struct {
	checkout
	MayBook bool
}

func (s *site) checkout(w http.ResponseWriter, r *http.Request) error {
	co, err := s.checkoutOf(r)
	if err != nil {
		return err
	}
	return s.showCheckout(w, http.StatusOK, co)
}

func (s *site) showCheckout(w http.ResponseWriter, status int, co checkout) error {
	page := "guests"
	switch {
	case co.Gone:
		page = "gone"
	case co.Changed != nil:
		page = "changed"
	}
	return s.render(w, status, page, checkoutPage{co, s.engine.service.mayBook})
}

// checkAgain requests the offer as it is now.
func (s *site) checkAgain(w http.ResponseWriter, r *http.Request) error {
	co, err := s.checkoutOf(r)
	if err != nil {
		return err
	}
	if _, err := s.engine.check(r.Context(), co); err != nil {
		return err
	}
	return redirect(w, r, "/checkouts/"+co.Reference)
}

// agree stores the guest's consent to a changed offer.
func (s *site) agree(w http.ResponseWriter, r *http.Request) error {
	version, err := strconv.Atoi(r.PostFormValue("version"))
	if err != nil {
		return errForm
	}
	co, err := s.engine.change(r.PathValue("reference"), func(co *checkout) { co.agree(version) })
	if err != nil {
		return err
	}
	return redirect(w, r, "/checkouts/"+co.Reference)
}

// book starts the booking once: double clicks, reloads and forms from two windows all lead to
// the same order.
func (s *site) book(w http.ResponseWriter, r *http.Request) error {
	co, err := s.checkoutOf(r)
	switch {
	case err != nil:
		return err
	case !s.engine.service.mayBook:
		return errNoBooking
	}
	if err := r.ParseForm(); err != nil {
		return errForm
	}
	form := co.Guests
	form.Guests = slices.Clone(form.Guests) // two requests at once must share nothing
	holder, guests := form.read(r.PostForm)
	if co, err = s.engine.change(co.Reference, func(co *checkout) { co.Guests = form }); err != nil {
		return err
	}
	if len(form.Errors) > 0 {
		return s.showCheckout(w, http.StatusUnprocessableEntity, co)
	}
	// The offer may have changed while the guest filled in the form.
	if co, err = s.engine.check(r.Context(), co); err != nil {
		return err
	}
	if !co.ready() || r.PostForm.Get("version") != strconv.Itoa(co.Version) {
		return redirect(w, r, "/checkouts/"+co.Reference)
	}
	if err := s.engine.book(r.Context(), co, holder, guests); err != nil {
		return err
	}
	return redirect(w, r, "/orders/"+co.Reference)
}

// returned leads back to the checkout from the address of its forms, where an error page was shown.
func (s *site) returned(w http.ResponseWriter, r *http.Request) error {
	return redirect(w, r, "/checkouts/"+r.PathValue("reference"))
}
