// The interface Bookings: the methods that every store has.

package durable

import (
	"context"
	"iter"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// Bookings makes bookings that survive their process. Tx is a transaction of the caller's database.
//
// The Journal of contrib/hotelstayssql is a Bookings[*sql.Tx], and the Bookings of contrib/hotelstaysriver are a
// Bookings[pgx.Tx]. To move from one to the other, change an import, the constructor, and the transactions.
//
// The interface may gain methods: embed it in a fake, so that the fake still compiles.
type Bookings[Tx any] interface {
	// ForAccount returns the Bookings of one account, which hotelstays.Client.Account identifies. With Options.Clients,
	// call ForAccount first, and then the other methods on its result. Only InTx, Watch, List, Cancellations, Orders and
	// Hanging also work without ForAccount.
	ForAccount(account string) Bookings[Tx]
	// InTx calls f in a transaction of the database. In f, write your own row and call BeginTx or CancelTx. InTx may
	// call f again, for example after a deadlock.
	InTx(ctx context.Context, f func(ctx context.Context, tx Tx) error) error
	// BeginTx stores a booking and its call options, opts, in the caller's transaction. Once the transaction is committed, Send or a
	// worker sends the booking.
	BeginTx(ctx context.Context, tx Tx, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) error
	// Send books a booking that BeginTx has stored and whose transaction is committed. If Send is
	// not called in time, for example because the process died, a worker sends the booking.
	//
	// Send does what Client.BookAndRecover does, within ctx and BookTimeout, and calls OnOutcome in
	// the transaction that ends the booking. If that succeeds, Send returns the outcome with a nil
	// error: check its State, and its Err, which holds a refusal.
	//
	// An error means that something is left to do:
	//
	//	*hotelstays.OutcomeUnknownError    workers poll for the order, and will store the outcome. The
	//	                                   field Err of this error may be a refusal, although an order
	//	                                   of an earlier round may still appear
	//	ErrNotBegun                        nothing was sent: call BeginTx and commit first
	//	ErrAlreadyBooked                   nothing was sent by this call: an earlier Book has made
	//	                                   the order
	//	ErrAlreadyStarted                  nothing was sent by this call: another call of Send, or a
	//	                                   worker, has sent the booking
	//	ErrConflictingOutcome, an outcome  the outcome is true, but another outcome was stored before
	//	*hotelstays.ValidationError        nothing was sent, because of opts: the booking still waits
	//	any other, with an outcome         the outcome is true, but was perhaps not stored: then a worker
	//	                                   finds the outcome again, and stores it
	//	any other, without an outcome      the database failed, or no key decrypts the request. This call
	//	                                   has sent nothing. A worker will send the booking; but if Book
	//	                                   was marked as started, workers will find that no order exists
	Send(ctx context.Context, customerReferenceNo string, opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error)
	// Book does BeginTx and Send in one call. Use it if you have no row of your own to commit.
	Book(ctx context.Context, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error)
	// CancelTx stores a cancellation in the caller's transaction. Once the transaction is
	// committed, a worker sends Cancel once, and calls OnCancel with the result.
	CancelTx(ctx context.Context, tx Tx, req CancelOrder, opts ...hotelstays.CallOption) error
	// Unfollow makes workers stop reading an order that they follow: see Options.OnOrder.
	Unfollow(ctx context.Context, customerReferenceNo string) error
	// Watch returns a channel, for example for a web page that waits for news under the reference. The channel receives
	// a value after this process has committed a transaction of OnOutcome, OnCancel or OnOrder. Call stop when you no
	// longer need the channel.
	Watch(customerReferenceNo string) (changed <-chan struct{}, stop func())
	// Wake makes a worker read the order now. Call it when a webhook reports an event of the order.
	Wake(ctx context.Context, customerReferenceNo string) error
	// List returns the open bookings of the account. With Options.Clients and without ForAccount, it returns the open
	// bookings of all accounts.
	List(ctx context.Context) iter.Seq2[Booking, error]
	// Cancellations returns the cancellations that OnCancel has not received yet.
	Cancellations(ctx context.Context) iter.Seq2[Cancellation, error]
	// Orders returns the orders that workers follow: see Options.OnOrder.
	Orders(ctx context.Context) iter.Seq2[FollowedOrder, error]
	// Hanging names the calls of OnOutcome, OnCancel and OnOrder that hang in this process.
	Hanging() []string
	// Retry makes a worker poll for the order of a booking now. Call it when a person asks for a poll.
	Retry(ctx context.Context, customerReferenceNo string) error
	// Abandon ends a booking without an outcome. Call it when a person gives the booking up.
	Abandon(ctx context.Context, customerReferenceNo string) error
}
