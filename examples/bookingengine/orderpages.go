// The page of an order, which the server keeps up to date, its voucher, and its cancellation.

package main

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// streamPause is the pause after which a stream looks for a change of the order, which any
// process may have made, and heartbeat counts the looks from one keep-alive comment to the next.
const (
	streamPause = time.Second
	heartbeat   = 15
)

// orderPage is an order for its guest. Anyone who knows the address can see it: a real engine
// requires a login.
type orderPage struct {
	order
	Status    status
	Reference string
}

// Notice returns a message about an unusual booking, or nil.
func (p orderPage) Notice() *message {
	if p.State != booked {
		return nil // the status is enough
	}
	return p.Problem
}

// CanBookAgain reports whether the checkout can start again.
func (p orderPage) CanBookAgain() bool { return p.State == notBooked }

func (p orderPage) HasVoucher() bool {
	return p.Voucher == types.VoucherGenerated && p.CanCancel()
}

// Paid returns the price of the order.
func (p orderPage) Paid() types.Money {
	if p.Booked == nil {
		return selling(p.Checkout.Offer.TotalRate)
	}
	return selling(types.Rate{NetRate: p.Booked.NetRate, GrossRate: p.Booked.GrossRate, RespectGrossRate: p.Booked.RespectGrossRate})
}

// orderOf returns the order of an address.
func (s *site) orderOf(r *http.Request) (orderPage, error) {
	o, err := s.engine.db.order(r.Context(), r.PathValue("reference"))
	if err != nil {
		return orderPage{}, err
	}
	return orderPage{o, statusOf(o, s.engine.service.facts.OrderStates), o.Checkout.Reference}, nil
}

func (s *site) order(w http.ResponseWriter, r *http.Request) error {
	page, err := s.orderOf(r)
	if err != nil {
		return err
	}
	return s.render(w, http.StatusOK, "order", page)
}

// orderEvents is a stream of Server-Sent Events: the order's panel as HTML, now and after each
// change. A browser that reconnects gets the current panel first.
func (s *site) orderEvents(w http.ResponseWriter, r *http.Request) error {
	page, err := s.orderOf(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	connection := http.NewResponseController(w)
	sent := ""
	for looks := 0; err == nil; looks++ {
		var panel bytes.Buffer
		if err := s.pages["order"].ExecuteTemplate(&panel, "panel", page); err != nil {
			s.log.ErrorContext(r.Context(), "a panel could not be made", "reference", page.Reference, "error", err)
			break
		}
		news := ""
		switch {
		case panel.String() != sent:
			sent = panel.String()
			news = "event: order\ndata: " + strings.ReplaceAll(strings.TrimSpace(sent), "\n", "\ndata: ") + "\n\n"
		case looks%heartbeat == 0:
			news = ": nothing new\n\n"
		}
		if news != "" && !send(w, connection, news) {
			break
		}
		select {
		case <-time.After(streamPause):
		case <-r.Context().Done():
			return nil
		case <-s.streams.Done():
			return nil
		}
		page, err = s.orderOf(r)
	}
	return nil // the response has started
}

// send writes a part of a stream at once. It returns false if the browser is gone.
func send(w http.ResponseWriter, connection *http.ResponseController, text string) bool {
	connection.SetWriteDeadline(time.Now().Add(2 * heartbeat * streamPause)) // the next part extends it
	_, err := fmt.Fprint(w, text)
	return err == nil && connection.Flush() == nil
}

// voucher serves the document. It is downloaded each time, because a newer version replaces
// older ones, and is always verified.
func (s *site) voucher(w http.ResponseWriter, r *http.Request) error {
	page, err := s.orderOf(r)
	switch {
	case err != nil:
		return err
	case page.Booked == nil:
		return errNoOrder
	}
	document, err := s.engine.openVoucher(r.Context(), page.order)
	if err != nil {
		return err
	}
	defer document.Close()
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": document.Voucher.VoucherNumber + ".pdf"}))
	http.ServeContent(w, r, "", time.Time{}, document)
	return nil
}

// cancelPage asks for confirmation, and shows the fee.
type cancelPage struct {
	orderPage
	Step  types.CancelFee // the current terms
	Known bool
	Moved bool // the fee has changed since
}

// Price is the displayed fee, which the form sends back.
func (p cancelPage) Price() string {
	if !p.Known {
		return "unknown"
	}
	return fee(p.Step.Fee)
}

func (s *site) cancelOf(r *http.Request) (cancelPage, error) {
	page, err := s.orderOf(r)
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

// cancel starts a cancellation at the fee that the guest has seen, because a deadline may have
// passed since.
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
		reason = "cancelled by the guest" // some orders require one
	}
	if err := s.engine.cancel(r.Context(), page.Reference, reason); err != nil {
		return err
	}
	return redirect(w, r, "/orders/"+page.Reference)
}
