// The lists of open rows, for people.

package durable

import (
	"context"
	"iter"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// listPage is the maximum number of rows that a list has in memory at the same time.
const listPage = 100

// FollowedOrder is an order that workers read until it is settled. It holds no secret and no data of guests.
type FollowedOrder struct {
	CustomerReferenceNo string
	PlatformReferenceNo string
	Account             string // hotelstays.Client.Account
	// Since is the latest of three times: when the order was booked, when it last changed, and when Wake was last
	// called.
	Since time.Time
	// MissingSince is when a complete answer lacked the order for the first time. It is zero if the last
	// answer had the order.
	MissingSince time.Time
	// Other is the number of another order under the reference.
	Other    string
	CheckOut types.Date
	// Due is when a worker reads the order next, or when the lease of a worker ends.
	Due time.Time
}

// List returns the open bookings of the account, or with Options.Clients of all accounts. It reads them in pages,
// without a transaction. Due is when a worker acts next, or when the lease of a worker ends. Unverified counts the polls
// that could not verify whether an order exists. If this number keeps growing, a person must check the booking.
//
// For a row that somebody has changed by hand, the list yields an error that names the reference,
// and continues. An error of the database ends the list.
func (e *Engine[Tx]) List(ctx context.Context) iter.Seq2[Booking, error] {
	return list(ctx, e, KindBooking, "List", func(b booking) Booking { return b.Booking })
}

// Cancellations returns the cancellations that OnCancel has not received yet. Otherwise it works like
// List. Before a cancellation has ended, its Ending is not set, and its Err is nil.
func (e *Engine[Tx]) Cancellations(ctx context.Context) iter.Seq2[Cancellation, error] {
	return list(ctx, e, KindCancel, "Cancellations", cancellation.result)
}

// Orders returns the orders that workers follow. Otherwise it works like List.
func (e *Engine[Tx]) Orders(ctx context.Context) iter.Seq2[FollowedOrder, error] {
	return list(ctx, e, KindOrder, "Orders", func(f followed) FollowedOrder {
		return FollowedOrder{f.CustomerReferenceNo, f.PlatformReferenceNo, f.Fingerprint, f.Since, f.MissingSince, f.Other, f.CheckOut, f.Due}
	})
}

// list returns the open rows of a kind. The function public converts the stored state of a row into the value that the
// caller gets. The parameter of is the name of the exported method, for errors.
func list[S any, P pointer[S], Public, Tx any](ctx context.Context, e *Engine[Tx], kind Kind, of string,
	public func(S) Public) iter.Seq2[Public, error] {
	return func(yield func(Public, error) bool) {
		var none Public
		for after := (Row{ID: e.id(kind, "")}); ; {
			page, err := e.store.List(ctx, after, e.account == "", listPage)
			if err != nil {
				yield(none, e.store.Failed(of, err))
				return
			}
			for i := range page {
				after = page[i]
				entry := none
				s, err := read[S, P](&page[i])
				if err == nil {
					entry = public(s)
				} else {
					err = e.store.Failed(of, err)
				}
				if !yield(entry, err) {
					return
				}
			}
			if len(page) < listPage {
				return
			}
		}
	}
}
