// An order: its state, its page, which the server keeps up to date, its voucher, and its cancellation.

package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

type orderState string

const (
	placing    orderState = "placing" // the outcome of Book is unknown
	booked     orderState = "booked"
	notBooked  orderState = "not-booked"
	cancelling orderState = "cancelling" // the order may or may not be cancelled
	cancelled  orderState = "cancelled"
	unclear    orderState = "unclear" // a person must look at the order; the guest can do nothing
)

// order is a guest's booking. The site stores the order before Book is sent.
type order struct {
	// Checkout holds the offer that the guest agreed to. Its reference identifies the order.
	Checkout checkout
	State    orderState
	Since    time.Time // time at which placing or cancelling began
	Problem  *message  // why nothing was booked or cancelled, or what is unclear
	Price    types.Money
	Booked   *types.Order          // last known order; nil if no order exists, or if the order belongs to another booking
	Status   hotelstays.OrderState // status of Booked
	Changed  bool                  // whether the order differs from the offer to which the guest agreed
	Fee      *types.Money          // cancellation fee
}

func (o *order) settle(outcome *hotelstays.BookingOutcome, states hotelstays.StatusMeanings) {
	o.State, o.Problem = notBooked, new(messageFor(outcome.Err))
	switch durable.EndingOf(outcome) {
	case durable.EndingFound:
		o.State, o.Problem, o.Changed = booked, nil, !outcome.Changes.Within(acceptable)
		o.read(outcome.Order, states)
	case durable.EndingReused: // the guest must neither see nor cancel this order, because it belongs to another booking
		o.State = unclear
	}
}

func (o *order) read(seen *types.Order, states hotelstays.StatusMeanings) {
	o.Booked, o.Status = seen, states.StateOf(seen.Status)
	o.Price = selling(types.Rate{NetRate: seen.NetRate, GrossRate: seen.GrossRate, RespectGrossRate: seen.RespectGrossRate})
	if o.Status == hotelstays.OrderStateCancelled {
		o.State, o.Problem = cancelled, nil
	}
}

func (o *order) cancelled(c *durable.Cancellation) {
	o.Fee = c.ServiceFee
	switch {
	case o.State == cancelled || c.Ending == durable.CancelDone: // the hotel may have cancelled the order before the guest
		o.State = cancelled
	case c.Ending == durable.CancelUnknown: // the guest cannot cancel again, because the journal refuses a second cancellation
		o.State, o.Problem = unclear, &cancelUnknown
	case c.Ending == durable.CancelStanding:
		o.State, o.Problem = booked, &notCancelled
	default:
		o.State, o.Problem = booked, new(messageFor(c.Err))
	}
}

// usualWait is the typical time until the answer to Book. After this time the page says that the answer is late, even
// after a restart.
const usualWait = 10 * time.Second

// Stage returns the name that the template uses for the state of the order.
func (o order) Stage() string {
	switch {
	case o.State == booked && o.Booked.HotelConfirmNo != "":
		return string(hotelstays.OrderStateConfirmed)
	case o.State == booked:
		return string(o.Status)
	case (o.State == placing || o.State == cancelling) && time.Since(o.Since) >= usualWait:
		return string(o.State) + " late"
	}
	return string(o.State)
}

// ordered serves a page of an order. Anyone who knows the address can see it: a real engine requires a login.
func (s *site) ordered(h func(http.ResponseWriter, *http.Request, order) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		o, err := s.load(r.Context(), r.PathValue("reference"))
		if err != nil {
			return err
		}
		return h(w, r, o)
	}
}

func (s *site) order(w http.ResponseWriter, _ *http.Request, o order) error {
	return s.render(w, http.StatusOK, "order", o)
}

// streamPause is the pause after which a stream looks again for changes that other processes have made.
const streamPause = 3 * time.Second

// orderEvents sends Server-Sent Events: the order's panel as HTML, now and after each change.
func (s *site) orderEvents(w http.ResponseWriter, r *http.Request, o order) (err error) {
	w.Header().Set("Content-Type", "text/event-stream")
	connection := http.NewResponseController(w)
	changed, stop := s.journal.Watch(o.Checkout.Reference)
	defer stop()
	for sent := ""; ; {
		var panel bytes.Buffer
		if o, err = s.load(r.Context(), o.Checkout.Reference); err == nil {
			err = s.pages.ExecuteTemplate(&panel, "panel", o)
		}
		if err != nil {
			s.log.WarnContext(r.Context(), "a live page broke off", "reference", o.Checkout.Reference, "error", err)
			return nil // the browser connects again by itself
		}
		if text := strings.TrimSpace(panel.String()); text != sent {
			sent = text
			connection.SetWriteDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintf(w, "event: order\ndata: %s\n\n", strings.ReplaceAll(text, "\n", "\ndata: "))
			connection.Flush() // an error does not matter: the request ends when the browser is gone
		}
		select {
		case <-changed:
		case <-time.After(streamPause):
		case <-r.Context().Done():
			return nil
		case <-s.open.Done():
			return nil
		}
	}
}

// voucher serves the verified document. It downloads the document each time, because the service may have a newer version.
func (s *site) voucher(w http.ResponseWriter, r *http.Request, o order) error {
	if o.Booked == nil {
		return errNoOrder
	}
	document, err := s.client.OpenVoucher(r.Context(), &hotelstays.OrderVoucherRequest{PlatformReferenceNo: o.Booked.PlatformReferenceNo})
	if err != nil {
		return err
	}
	defer document.Close()
	name := document.Voucher.VoucherNumber + ".pdf"
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	http.ServeContent(w, r, "", time.Time{}, document)
	return nil
}

// cancel shows the cancellation fee. A POST begins the cancellation. The fee that the guest has seen is the maximum: the journal
// sends no Cancel for a higher fee.
func (s *site) cancel(w http.ResponseWriter, r *http.Request, o order) error {
	reference := o.Checkout.Reference
	if o.State != booked {
		return redirect(w, r, nil, "/orders/"+reference)
	}
	var most *types.Money
	page := map[string]any{"Order": o, "Fee": "unknown"}
	if cost, err := o.Booked.CancelFeeAt(time.Now()); err == nil {
		most, page["Fee"] = &cost, fee(cost)
	}
	if r.Method != http.MethodPost {
		return s.render(w, http.StatusOK, "cancel", page)
	}
	if r.PostFormValue("fee") != page["Fee"] {
		page["Moved"] = true
		return s.render(w, http.StatusConflict, "cancel", page)
	}
	err := s.journal.InTx(r.Context(), func(ctx context.Context, tx *sql.Tx) error {
		err := s.journal.CancelTx(ctx, tx, durable.CancelOrder{
			CustomerReferenceNo: reference, SessionID: o.Checkout.SessionID, MaxFee: most,
			Reason: cmp.Or(strings.TrimSpace(r.PostFormValue("reason")), "cancelled by the guest"), // the service requires a reason for some orders
		}, hotelstays.WithTraceID(pageIDOf(ctx)))
		if err != nil {
			return err
		}
		return change(ctx, tx, reference, func(o *order) {
			if o.State == booked { // meanwhile the hotel may have cancelled
				o.State, o.Since, o.Problem = cancelling, time.Now(), nil
			}
		})
	})
	if errors.Is(err, durable.ErrAlreadyCancelling) || errors.Is(err, durable.ErrAlreadyCancelled) {
		err = nil // not an error: the form was sent twice
	}
	return redirect(w, r, err, "/orders/"+reference)
}
