// Many accounts in one Engine.

package durable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// ErrUnknownAccount: Options.Clients has no client of the account.
var ErrUnknownAccount = errors.New("Options.Clients has no client of this account; make Clients return a client")

var errNoAccount = errors.New("these Bookings serve many accounts; call ForAccount first")

// ForAccount returns the Bookings of one account, which hotelstays.Client.Account identifies. All accounts share Run
// and the database. ForAccount asks Options.Clients for the client once, so call ForAccount anew for each request. For
// an unknown account, BeginTx, Send, Book and CancelTx return ErrUnknownAccount, while List, Retry, Abandon and the
// other methods work.
func (e *Engine[Tx]) ForAccount(account string) Bookings[Tx] { return e.of(account) }

func (e *Engine[Tx]) of(account string) *Engine[Tx] {
	of := &Engine[Tx]{core: e.core, account: account, log: e.opts.Logger}
	client := e.opts.Client
	if e.opts.Clients != nil {
		client, of.log = e.opts.Clients(account), of.log.With(slog.String("account", account))
	}
	if !isNil(client) && client.Account() == account {
		of.client = client
	}
	return of
}

// checkClient returns an error if e serves many accounts, or if the only account of e has no client.
func (e *Engine[Tx]) checkClient() error {
	switch {
	case e.client != nil:
		return nil
	case e.account == "":
		return errNoAccount
	}
	return fmt.Errorf("account %q: %w", e.account, ErrUnknownAccount)
}

// isNil reports whether a client is nil, or a nil *hotelstays.Client.
func isNil(client BookingClient) bool {
	c, is := client.(*hotelstays.Client)
	return client == nil || is && c == nil
}

// ofKnown removes from the parameter due each row whose account has no client, and logs these accounts.
func (r *run[Tx]) ofKnown(ctx context.Context, kind Kind, due []Row) []Row {
	return slices.DeleteFunc(due, func(row Row) bool {
		r.last[kind] = row.Account // the next search for due rows begins after this account, even if the account got no job
		of := r.of(row.Account)
		if of.client == nil {
			of.logUnknown(ctx, &row)
		}
		return of.client == nil
	})
}

// logUnknown logs that due rows of an account wait because the account has no client. It logs the same account at
// most once in five minutes.
func (e *Engine[Tx]) logUnknown(ctx context.Context, row *Row) {
	now := time.Now()
	if until, logged := e.unknown.Load(row.Account); logged && now.Before(until.(time.Time)) {
		return
	}
	e.unknown.Store(row.Account, now.Add(unreadablePause))
	e.log.ErrorContext(ctx, "rows of an account without a client are due; they wait until Clients returns its client",
		slog.String("kind", string(row.Kind)), slog.String("reference", row.Reference))
}
