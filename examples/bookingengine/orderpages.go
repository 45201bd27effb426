// The order: its page, which the server keeps up to date, its voucher, and its
// cancellation.

package main

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// heartbeat is how often a stream without news says that it is alive.
const heartbeat = 15 * time.Second

// orderPage is an order as its guest sees it. Whoever knows the address sees it: a
// real engine asks for a login first.
type orderPage struct {
	order
	Status    status
	Reference string
}

// Notice is what is odd about a booking that exists, or nil.
func (p orderPage) Notice() *message {
	if p.State != booked {
		return nil // the status says it
	}
	return p.Problem
}

// CanBookAgain tells whether the checkout may begin again.
func (p orderPage) CanBookAgain() bool { return p.State == notBooked }

// CanCancel tells whether to offer cancelling.
func (p orderPage) CanCancel() bool { return p.State == booked && p.Cancel == notCancelled }

// HasVoucher tells whether to offer the voucher.
func (p orderPage) HasVoucher() bool {
	return p.Voucher == types.VoucherGenerated && p.Cancel == notCancelled
}

// Paid is what the order costs.
func (p orderPage) Paid() types.Money {
	if p.Booked == nil {
		return selling(p.Checkout.Offer.TotalRate)
	}
	return selling(types.Rate{NetRate: p.Booked.NetRate, GrossRate: p.Booked.GrossRate, RespectGrossRate: p.Booked.RespectGrossRate})
}

// orderOf returns the order that the address names, and what tells of its change.
func (s *site) orderOf(r *http.Request) (page orderPage, changed <-chan struct{}, err error) {
	o, changed, ok := s.engine.orders.get(r.PathValue("reference"))
	if !ok {
		return orderPage{}, nil, errNoOrder
	}
	return orderPage{o, statusOf(o, s.engine.service.states), o.Checkout.Reference}, changed, nil
}

func (s *site) order(w http.ResponseWriter, r *http.Request) error {
	page, _, err := s.orderOf(r)
	if err != nil {
		return err
	}
	return s.render(w, http.StatusOK, "order", page)
}

// orderEvents is a stream of Server-Sent Events: the order's panel as HTML, now and
// whenever the order changes. A browser that was away gets the present one first,
// so that nothing is ever missed.
func (s *site) orderEvents(w http.ResponseWriter, r *http.Request) error {
	page, changed, err := s.orderOf(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	connection := http.NewResponseController(w)
	for {
		var panel bytes.Buffer
		if err := s.pages["order"].ExecuteTemplate(&panel, "panel", page); err != nil {
			s.log.Error("a panel could not be made", "reference", page.Reference, "error", err)
			return nil // what was sent cannot be taken back
		}
		if !send(w, connection, "event: order\ndata: "+strings.ReplaceAll(strings.TrimSpace(panel.String()), "\n", "\ndata: ")+"\n\n") {
			return nil
		}
		for fresh := false; !fresh; {
			select {
			case <-changed:
				fresh = true
			case <-time.After(heartbeat):
				if !send(w, connection, ": nothing new\n\n") {
					return nil
				}
			case <-r.Context().Done():
				return nil
			case <-s.streams.Done():
				return nil
			}
		}
		if page, changed, err = s.orderOf(r); err != nil {
			return nil
		}
	}
}

// send writes a piece of a stream at once; false tells that the browser is gone.
func send(w http.ResponseWriter, connection *http.ResponseController, text string) bool {
	connection.SetWriteDeadline(time.Now().Add(2 * heartbeat)) // the next piece moves it on
	_, err := fmt.Fprint(w, text)
	return err == nil && connection.Flush() == nil
}

// voucher hands out the document. It is fetched anew each time, for a newer version
// replaces the older ones, and nothing that is not verified is ever sent.
func (s *site) voucher(w http.ResponseWriter, r *http.Request) error {
	page, _, err := s.orderOf(r)
	switch {
	case err != nil:
		return err
	case page.Booked == nil:
		return errNoOrder
	}
	path, v, err := s.engine.saveVoucher(r.Context(), page.order)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": v.VoucherNumber + ".pdf"}))
	http.ServeContent(w, r, "", time.Time{}, file)
	return nil
}

// cancelPage asks whether to cancel, and says what that costs.
type cancelPage struct {
	orderPage
	Step  types.CancelFee // the terms that hold now
	Known bool
	Moved bool // the fee is not the one that was shown before
}

// Price is the fee as it is shown, and sent back to tell what was agreed to.
func (p cancelPage) Price() string {
	if !p.Known {
		return "unknown"
	}
	return fee(p.Step.Fee)
}

func (s *site) cancelOf(r *http.Request) (cancelPage, error) {
	page, _, err := s.orderOf(r)
	if err != nil {
		return cancelPage{}, err
	}
	step, known := feeStep(page.Checkout.Offer.CancelFees, time.Now())
	return cancelPage{orderPage: page, Step: step, Known: known}, nil
}

func (s *site) askCancel(w http.ResponseWriter, r *http.Request) error {
	page, err := s.cancelOf(r)
	switch {
	case err != nil:
		return err
	case !page.CanCancel():
		return redirect(w, r, "/orders/"+page.Reference)
	}
	return s.render(w, http.StatusOK, "cancel", page)
}

// cancel begins to cancel at the fee that the guest was shown: a deadline may have
// passed meanwhile.
func (s *site) cancel(w http.ResponseWriter, r *http.Request) error {
	page, err := s.cancelOf(r)
	if err != nil {
		return err
	}
	if page.CanCancel() && r.PostFormValue("fee") != page.Price() {
		page.Moved = true
		return s.render(w, http.StatusConflict, "cancel", page)
	}
	reason := strings.TrimSpace(r.PostFormValue("reason"))
	if reason == "" {
		reason = "cancelled by the guest" // some orders take none without
	}
	s.engine.cancel(page.Reference, reason)
	return redirect(w, r, "/orders/"+page.Reference)
}
