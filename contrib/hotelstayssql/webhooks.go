// The webhook handler of a journal.

package hotelstayssql

import (
	"cmp"
	"context"
	"database/sql"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// NewWebhookHandler returns a handler that verifies deliveries, and calls journal.Wake with the reference of
// each event. The handler answers as the handler of hotelstays.NewWebhookHandler does.
//
// The handler calls fn, if not nil, before journal.Wake. Within opts.Retention, fn is called once for each event,
// whichever process receives the event. The writes of fn are committed together with the keys of the event, as in
// EventStore.HandleTx.
// opts.Store must be nil. A journal with Options.Clients needs one handler per account. Set opts.Account of each
// handler to the result of Client.Account.
func NewWebhookHandler(journal *Journal, opts hotelstays.WebhookOptions,
	fn func(ctx context.Context, tx *sql.Tx, event *hotelstays.WebhookEvent) error) (*hotelstays.WebhookHandler, error) {
	var p problems
	if journal == nil {
		p.add("the journal is nil; create it with NewJournal")
	}
	if opts.Store != nil {
		p.add("Store is set; leave it out, because the database of the journal remembers the events")
	}
	if journal != nil && journal.account == "" && opts.Account == "" {
		p.add("Account is empty; the journal serves many accounts, so set it to the result of Client.Account")
	}
	if err := p.err("NewWebhookHandler"); err != nil {
		return nil, err
	}
	db := journal.store.db
	events, err := NewEventStore(db.DB, db.dialect, &EventStoreOptions{Retention: opts.Retention})
	if err != nil {
		return nil, err
	}
	return hotelstays.NewWebhookHandler(opts, func(ctx context.Context, event *hotelstays.WebhookEvent) (err error) {
		if fn != nil {
			err = events.HandleTx(ctx, event, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx, event) })
		}
		if err != nil {
			return err
		}
		bookings := journal.ForAccount(cmp.Or(journal.account, opts.Account)) // at each event, because accounts come and go
		return bookings.Wake(ctx, event.CustomerReferenceNo)                  // after the transaction, which may hold a lock that Wake needs
	})
}
