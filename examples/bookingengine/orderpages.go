// The page of an order, which the server keeps up to date, its voucher, and its cancellation.

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// streamPause is the pause after which a stream looks for a change that another process has made.
const streamPause = 3 * time.Second

// ordered is a page of an order. Anyone who knows the address can see it: a real engine requires a
// login.
func (s *site) ordered(h func(http.ResponseWriter, *http.Request, order) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		o, err := s.engine.db.order(r.Context(), r.PathValue("reference"))
		if err != nil {
			return err
		}
		return h(w, r, o)
	}
}

func (s *site) order(w http.ResponseWriter, _ *http.Request, o order) error {
	return s.render(w, http.StatusOK, "order", o)
}

// orderEvents is a stream of Server-Sent Events: the order's panel as HTML, now and after each
// change. A browser that reconnects gets the current panel first.
func (s *site) orderEvents(w http.ResponseWriter, r *http.Request, o order) (err error) {
	w.Header().Set("Content-Type", "text/event-stream")
	connection := http.NewResponseController(w)
	changed, stop := s.engine.journal.Watch(o.Checkout.Reference)
	defer stop()
	for sent := ""; ; {
		if o, err = s.engine.db.order(r.Context(), o.Checkout.Reference); err != nil {
			return nil // the browser connects again
		}
		var panel bytes.Buffer
		if err := s.pages["order"].ExecuteTemplate(&panel, "panel", o); err != nil {
			s.log.ErrorContext(r.Context(), "a panel could not be made", "reference", o.Checkout.Reference, "error", err)
			return nil
		}
		if text := strings.TrimSpace(panel.String()); text != sent {
			sent = text
			connection.SetWriteDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintf(w, "event: order\ndata: %s\n\n", strings.ReplaceAll(text, "\n", "\ndata: "))
			connection.Flush() // if the browser is gone, the request ends
		}
		select {
		case <-changed:
		case <-time.After(streamPause):
		case <-r.Context().Done():
			return nil
		case <-s.streams.Done():
			return nil
		}
	}
}

// voucher serves the document. It is downloaded each time, because a newer version replaces
// older ones, and is always verified.
func (s *site) voucher(w http.ResponseWriter, r *http.Request, o order) error {
	if o.Booked == nil {
		return errNoOrder
	}
	ask := &hotelstays.OrderVoucherRequest{PlatformReferenceNo: o.Booked.PlatformReferenceNo}
	document, err := s.engine.client.OpenVoucher(r.Context(), ask)
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

// cancelPage asks for confirmation.
type cancelPage struct {
	order
	Fee   string // what cancelling costs at most now, by the order; the form sends it back
	Moved bool   // it has changed since
}

// cancel shows what a cancellation costs, and begins it at the fee that the guest has seen, because a
// deadline may have passed since.
func (s *site) cancel(w http.ResponseWriter, r *http.Request, o order) error {
	address := "/orders/" + o.Checkout.Reference
	if !o.CanCancel() {
		return redirect(w, r, nil, address)
	}
	page, status, most := cancelPage{order: o, Fee: "unknown"}, http.StatusOK, (*types.Money)(nil)
	if cost, err := o.Booked.CancelFeeAt(time.Now()); err == nil {
		page.Fee, most = fee(cost), &cost
	}
	if r.Method == http.MethodPost {
		if r.PostFormValue("fee") == page.Fee {
			reason := cmp.Or(strings.TrimSpace(r.PostFormValue("reason")), "cancelled by the guest") // some orders require one
			return redirect(w, r, s.engine.cancel(r.Context(), o.Checkout, reason, most), address)
		}
		page.Moved, status = true, http.StatusConflict
	}
	return s.render(w, status, "cancel", page)
}
