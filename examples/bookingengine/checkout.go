// The checkout: the site checks the offer again, and the guest agrees to changes, enters the travellers and books.

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// checkout is a guest's attempt to book an offer. Before the guest chooses the offer, a checkout has only the data from the search.
type checkout struct {
	// Reference is the same for every Book of the checkout, so the service makes one order even if the form is sent several
	// times.
	Reference   string
	SearchID    string
	SessionID   string // session of the search, for CheckAvail, Book and Cancel
	Hotel       types.Hotel
	Room        string
	Occupancies []types.GuestPerRoom
	// Offer is the offer that the guest agreed to. If the current offer is worse, Changed holds the current offer until the
	// guest agrees to it. Gone means that the offer is sold out.
	Offer   types.RoomRatePkg
	Changed *types.RoomRatePkg
	Gone    bool
	// Version counts the changes of the offer, so that an old page cannot agree to a newer offer.
	Version int
	// Form is the guest's latest form, without passport numbers. It is not stored with the order.
	Form form `json:"-"`
}

// acceptable says which differences between two offers need no consent of the guest: a lower price, another id, and
// cancelTime, which only orders have.
var acceptable = hotelstays.Tolerance{Accept: []types.OfferField{types.OfferRatePkgID, types.OfferCancelTime}}

// traveller is a person whose name the form asks for.
type traveller struct {
	types.Guest
	Label string // text for the guest, such as "Room 1, child aged 5"
	Field string // first part of the names of the form's fields
}

func (co checkout) Travellers() (all []traveller) {
	for i, room := range co.Occupancies {
		for n := range room.AdultCount + len(room.ChildrenAges) {
			guest, who := types.Guest{RoomIndex: i + 1, IsChild: new(n >= room.AdultCount)}, fmt.Sprintf("adult %d", n+1)
			if *guest.IsChild {
				guest.Age = &room.ChildrenAges[n-room.AdultCount]
				who = fmt.Sprintf("child aged %d", *guest.Age)
			}
			all = append(all, traveller{guest, fmt.Sprintf("Room %d, %s", i+1, who), fmt.Sprintf("guest%d", len(all)+1)})
		}
	}
	return all
}

// guests reads and checks the form, and returns the guests for Book. It removes passport numbers from
// the form, because no page may show them again.
func (f *form) guests(travellers []traveller) (holder types.Holder, guests []types.Guest) {
	for i, t := range travellers {
		before := len(f.Errors)
		t.FirstName = f.required(t.Field+"_first", "Enter the first name.")
		t.LastName = f.required(t.Field+"_last", "Enter the last name.")
		if i == 0 {
			holder = types.Holder{FirstName: t.FirstName, LastName: t.LastName, Email: f.text("email")}
			address, err := mail.ParseAddress(holder.Email)
			f.check(err == nil && address.Address == holder.Email, "email", "Enter an e-mail address such as name@example.com.")
		}
		passport := f.text(t.Field + "_passport")
		f.Del(t.Field + "_passport")
		f.check(utf8.RuneCountInString(passport) <= types.MaxPassportNumber, t.Field+"_passport",
			"A passport number has at most %d characters.", types.MaxPassportNumber)
		for j := range f.Errors[before:] {
			f.Errors[before+j].Place = t.Label
		}
		t.PassportNumber = types.NewSecret(passport)
		guests = append(guests, t.Guest)
	}
	return holder, guests
}

// choose begins a checkout when a guest chooses an offer on a page.
func (s *site) choose(w http.ResponseWriter, r *http.Request) error {
	co, known := s.offers.Get(r.PathValue("offer"))
	if !known {
		return errExpired
	}
	co.Reference = uuid.NewString()
	s.checkouts.Add(co.Reference, co)
	return s.check(w, r, co)
}

// unbooked serves a page of a checkout that is not booked. If the checkout is booked, or a Book may be in progress,
// unbooked redirects the guest to the order.
func (s *site) unbooked(h func(http.ResponseWriter, *http.Request, checkout) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		o, err := s.load(r.Context(), r.PathValue("reference"))
		if !errors.Is(err, errNoOrder) && (err != nil || o.State != notBooked) {
			return redirect(w, r, err, "/orders/"+o.Checkout.Reference)
		}
		co, known := s.checkouts.Get(r.PathValue("reference"))
		if !known {
			return errExpired
		}
		return h(w, r, co)
	}
}

// checkout shows the guest form or the changed offer, or says that the offer is sold out. A form with an error is shown
// again, at the address to which it was sent.
func (s *site) checkout(w http.ResponseWriter, r *http.Request, co checkout) error {
	status, page := http.StatusOK, "guests"
	switch {
	case co.Gone:
		page = "gone"
	case co.Changed != nil:
		page = "changed"
	case r.Method == http.MethodPost: // the form was sent with errors
		status = http.StatusUnprocessableEntity
	}
	return s.render(w, status, page, co)
}

// change applies a function to a stored checkout, and returns the result.
func (s *site) change(reference string, how func(*checkout)) (checkout, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	co, known := s.checkouts.Get(reference)
	if !known {
		return co, errExpired
	}
	how(&co)
	s.checkouts.Add(reference, co)
	return co, nil
}

// refresh calls CheckAvail and stores the current offer. A change for the worse waits for the guest's consent.
func (s *site) refresh(ctx context.Context, co checkout) (checkout, error) {
	resp, err := s.client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: co.SessionID, RatePkgID: co.Offer.RatePkgID})
	if err != nil {
		return co, forgotten(err)
	}
	now := resp.RoomRatePkg // nil if the offer is sold out
	return s.change(co.Reference, func(co *checkout) {
		co.Gone = now == nil
		switch {
		case co.Gone:
			co.Changed = nil
		case hotelstays.CompareOffer(&co.Offer, now).Within(acceptable):
			co.Offer, co.Changed = *now, nil
		case co.Changed == nil || len(hotelstays.CompareOffer(co.Changed, now).Changes) > 0:
			co.Changed = now
			co.Version++
		}
	})
}

func (s *site) check(w http.ResponseWriter, r *http.Request, co checkout) error {
	_, err := s.refresh(r.Context(), co)
	return redirect(w, r, err, "/checkouts/"+co.Reference)
}

// agree stores the guest's consent to a changed offer, if the guest has seen this version of the offer.
func (s *site) agree(w http.ResponseWriter, r *http.Request, co checkout) error {
	version, err := strconv.Atoi(r.PostFormValue("version"))
	if err != nil {
		return errForm
	}
	_, err = s.change(co.Reference, func(co *checkout) {
		if co.Changed != nil && co.Version == version {
			co.Offer, co.Changed = *co.Changed, nil
			co.Version++
		}
	})
	return redirect(w, r, err, "/checkouts/"+co.Reference)
}

// book starts the booking once: double clicks, reloads and forms from two windows all lead to the same order.
func (s *site) book(w http.ResponseWriter, r *http.Request, co checkout) error {
	if !s.service.MayBook {
		return errNoBooking
	}
	if err := r.ParseForm(); err != nil {
		return errForm
	}
	sent := form{Values: r.PostForm}
	holder, guests := sent.guests(co.Travellers())
	co, err := s.change(co.Reference, func(co *checkout) { co.Form = sent })
	if err != nil {
		return err
	}
	if len(sent.Errors) > 0 {
		return s.checkout(w, r, co)
	}
	// The offer may have changed while the guest filled in the form.
	if co, err = s.refresh(r.Context(), co); err != nil {
		return err
	}
	if co.Gone || co.Changed != nil || sent.Get("version") != strconv.Itoa(co.Version) {
		return redirect(w, r, nil, "/checkouts/"+co.Reference)
	}
	return redirect(w, r, s.send(r.Context(), co, holder, guests), "/orders/"+co.Reference)
}

// send begins a booking once for each checkout, and does not wait for the answer to Book. The order's row and the journal's
// entry are committed before Book is sent.
func (s *site) send(ctx context.Context, co checkout, holder types.Holder, guests []types.Guest) error {
	err := s.journal.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := s.journal.BeginTx(ctx, tx, &hotelstays.BookRequest{
			SessionID: co.SessionID, CustomerReferenceNo: co.Reference, RatePkgID: co.Offer.RatePkgID,
			Holder: holder, Guests: guests, CallbackURL: s.service.callbackURL,
			Expect: &co.Offer, // Book fails if the order has other dates than the offer
		}, hotelstays.WithTraceID(pageIDOf(ctx)))
		if err != nil {
			return err
		}
		return put(ctx, tx, order{Checkout: co, State: placing, Since: time.Now(), Price: selling(co.Offer.TotalRate)})
	})
	if errors.Is(err, durable.ErrAlreadyBegun) || errors.Is(err, durable.ErrAlreadyBooked) {
		return nil // not an error: the form was sent twice
	}
	if err == nil {
		s.work.Go(func() { // in the background, because Book must continue if the guest leaves the page
			if _, err := s.journal.Send(s.sends, co.Reference); err != nil {
				s.log.Warn("the journal continues this booking", "reference", co.Reference, "error", err)
			}
		})
	}
	return err
}
