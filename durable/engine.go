// The Engine: its options, and the methods that do not depend on the kind of a row.

package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	defaultMaxWorkers   = 10
	defaultPollInterval = time.Second

	// storeTimeout is the time limit of a transaction that stores a result, such as the result of Book or Cancel.
	// Such a transaction continues after the caller's ctx has ended.
	storeTimeout = 10 * time.Second
	// busyTimeout is how long Wake and Retry wait for a worker to release the row. busyPause is the pause between two
	// attempts to change the row.
	busyTimeout = 5 * time.Second
	busyPause   = 50 * time.Millisecond
)

// BookingClient has the methods of a *hotelstays.Client that an Engine calls.
type BookingClient interface {
	Account() string
	ValidateBook(*hotelstays.BookRequest, ...hotelstays.CallOption) error
	NewBookingRecovery(*hotelstays.BookRequest, ...hotelstays.CallOption) *hotelstays.BookingRecovery
	BookAndRecover(context.Context, *hotelstays.BookRequest, ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error)
	StepRecovery(context.Context, *hotelstays.BookingRecovery, ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error)
	QueryOrders(context.Context, *hotelstays.QueryOrdersRequest, ...hotelstays.CallOption) (*hotelstays.QueryOrdersResponse, error)
	Cancel(context.Context, *hotelstays.CancelRequest, ...hotelstays.CallOption) (*hotelstays.CancelResponse, error)
	StatusMeanings() hotelstays.StatusMeanings
}

// Options configure an Engine, and each store that contains an Engine.
type Options[Tx any] struct {
	// Client sends Book and Cancel, and reads orders, for the one account of the Engine. Required, unless
	// Clients is set.
	Client BookingClient
	// Clients, instead of Client, makes the Engine serve many accounts: see ForAccount. It returns the client whose
	// Client.Account is the parameter account, or nil if the account is unknown. Clients is called often, so answer from
	// memory. It must be safe for concurrent use.
	//
	// Workers do not change the rows of an unknown account, until Clients returns a client or a person abandons the
	// rows. List, Cancellations and Orders return these rows. The log names the account every five minutes. An account
	// gets at most half of the free workers, so that an account whose calls hang leaves workers to other accounts.
	Clients func(account string) BookingClient
	// OnOutcome stores the outcome of a booking. Required. It runs in the transaction that ends the
	// booking: its writes in tx are committed together with that ending, or not at all. If the
	// transaction fails, OnOutcome is called again later, so everything it does outside tx must be
	// repeatable. It must be safe for concurrent use, and must not commit tx. In this database it
	// must use only tx: a second connection would wait for tx. It must return the error of each
	// statement.
	//
	// State is BookingFound or BookingAbsent. With BookingAbsent, Err is nil, or the refusal, or the
	// reason why nothing was sent. With BookingFound, Err is nil, or a
	// *hotelstays.ReferenceReusedError if the order is not the expected order. Changes lists how the
	// order differs from the expected order, such as in its price. Recovery has the reference, and the
	// session that Cancel needs.
	//
	// ctx lasts at most ten seconds after a Book, and at least fifteen after a poll by a worker. Return
	// when ctx ends: while the call does not return, it blocks one worker of this process. The log names
	// the function.
	OnOutcome func(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error
	// OnCancel stores the result of a cancellation that CancelTx has stored. It is like OnOutcome, but ctx lasts at most ten
	// seconds. Only processes that use CancelTx need it. A process without OnCancel leaves all cancellations to other
	// processes.
	//
	// Ending and Err say how the cancellation ended. Cost is the expected fee, calculated before Cancel was sent.
	// ServiceFee is the fee in the service's answer.
	OnCancel func(ctx context.Context, tx Tx, cancellation *Cancellation) error
	// OnOrder, if set, makes workers follow the order of each booking that is found, until the order is
	// settled. An order is settled if it is cancelled, if it is confirmed and its check-in was two days
	// ago, or if its check-out was two days ago.
	//
	// OnOrder is called once for each change that a read shows, such as a new status or a HotelConfirmNo.
	// The call is in the transaction that stores the change. Otherwise OnOrder is like OnOutcome. OnOutcome
	// may receive an order that is confirmed or cancelled already, and OnOrder is not called for that state
	// again. So let OnOutcome and OnOrder store an order by the same function.
	//
	// Set OnOrder in every process. If a booking ends in a process without OnOrder, its order is not followed.
	//
	// The pause before the next read is a quarter of the time since the last change or Wake, but at
	// least a minute and at most twelve hours.
	OnOrder func(ctx context.Context, tx Tx, change *OrderChange) error
	// Keys encrypt the requests that wait for Send, and the orders that are followed. At least one key
	// is required. A key is 32 random bytes, not hex or base64 text. The first key encrypts, and all
	// keys decrypt.
	Keys []types.Secret
	// BookTimeout bounds Book and Send, including their wait for the rate limit. Any positive duration is allowed.
	// Default: hotelstays.OpBook.Timeout(), two minutes.
	//
	// A booking waits for Send for BookTimeout plus ClockMargin (five seconds). Then a worker sends it. If a process dies
	// in Send, the first poll comes BookTimeout plus ClockMargin after Send began.
	BookTimeout time.Duration
	// MaxWorkers is the maximum number of workers that this process has at the same time. With four or more workers,
	// bookings, cancellations and followed orders get at least one worker each, even if many rows of the other kinds
	// are due. Default: 10.
	MaxWorkers int
	// PollInterval is how often Run looks for due rows. Default: 1 second.
	PollInterval time.Duration
	// SingleProcess says that no other process works in this database. An earlier process may have ended while
	// it was sending bookings. Run then begins with a poll for these bookings, and does not wait for the end of
	// their BookTimeout. Bookings that were not sent yet still wait for Send.
	SingleProcess bool
	// Logger receives warnings and errors. If it is nil, nothing is logged.
	Logger *slog.Logger
}

// Engine drives bookings, cancellations and followed orders through their phases, in the database of a
// Store. It implements Bookings, and is safe for concurrent use. Create it with NewEngine.
type Engine[Tx any] struct {
	*core[Tx]

	account string        // the only account of this Engine; empty: all accounts
	client  BookingClient // client of the account; nil if the account is unknown
	log     *slog.Logger  // logger; it adds the account to each line if there are several accounts
}

// core holds the fields that an Engine shares with the Engines that its ForAccount returns.
type core[Tx any] struct {
	opts     Options[Tx]
	store    Store[Tx]
	keys     *keyring.Ring
	watchers hotelstays.WakeHub
	working  sync.Map // IDs of the rows on which a worker of this process works
	unknown  sync.Map // account without a client -> time from which the log may mention it again
	// scheduled maps a Kind to its *shares, with which Work divides the workers of a scheduler among accounts.
	scheduled sync.Map
	calls     sync.Map      // calls of the caller's functions that hang, each a *handlerCall
	woken     chan struct{} // a value ends the pause before Run's next search for due rows
}

// NewEngine returns an Engine. It does not connect to the database. The error names every invalid
// option.
func NewEngine[Tx any](store Store[Tx], opts Options[Tx]) (*Engine[Tx], error) {
	var problems []error
	check := func(ok bool, problem string) {
		if !ok {
			problems = append(problems, errors.New(problem))
		}
	}
	one := !isNil(opts.Client)
	check(one || opts.Clients != nil, "the client is nil; create it with hotelstays.New, or set Clients")
	check(!one || opts.Clients == nil, "Client and Clients are set; choose one")
	check(opts.OnOutcome != nil, "OnOutcome is required")
	check(opts.BookTimeout >= 0 && opts.MaxWorkers >= 0 && opts.PollInterval >= 0,
		"BookTimeout, MaxWorkers and PollInterval must not be negative; 0 is the default")
	keys, err := keyring.New(opts.Keys)
	if err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	opts.BookTimeout = cmp.Or(opts.BookTimeout, hotelstays.OpBook.Timeout())
	opts.MaxWorkers = cmp.Or(opts.MaxWorkers, defaultMaxWorkers)
	opts.PollInterval = cmp.Or(opts.PollInterval, defaultPollInterval)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if one && opts.OnCancel != nil && len(opts.Client.StatusMeanings().Cancelled) == 0 {
		opts.Logger.Warn("ServiceFacts.StatusMeanings.Cancelled is not set: if the answer to a Cancel is lost, " +
			"its cancellation can stay open until the stay is over")
	}
	e := &Engine[Tx]{core: &core[Tx]{opts: opts, store: store, keys: keys, woken: make(chan struct{}, 1)}, log: opts.Logger}
	if one {
		e.account, e.client = opts.Client.Account(), opts.Client
	}
	return e, nil
}

func (e *Engine[Tx]) id(kind Kind, reference string) ID { return ID{e.account, kind, reference} }

// watched returns the key under which the watchers of a reference are stored. Watchers with the empty account watch the
// reference in all accounts.
func watched(account, reference string) string { return account + " " + reference }

// delivery is a function that passes the change of a row to OnOutcome, OnCancel or OnOrder, in the transaction that
// stores the change.
type delivery[Tx any] func(context.Context, Tx) error

// pointer is the type *S, which implements state.
type pointer[S any] interface {
	*S
	state
}

func read[S any, P pointer[S]](row *Row) (s S, err error) {
	err = readState(row, P(&s))
	return s, err
}

// change locks a row, calls the function next to change its state, and stores the new state. If next returns a delivery, change
// calls it in the same transaction, and wakes the watchers after the commit. If next returns errKeep, change stores
// nothing and returns nil. The error is ErrNotBegun if there is no row.
func change[S any, P pointer[S], Tx any](ctx context.Context, e *Engine[Tx], id ID, guarded bool,
	next func(row *Row, s *S) (then delivery[Tx], err error)) error {
	if id.Account == "" {
		return errNoAccount
	}
	delivered := false
	err := e.store.InTx(ctx, guarded, func(ctx context.Context, tx Tx) error {
		return changeTx[S, P](ctx, e, tx, id, func(row *Row, s *S) (then delivery[Tx], err error) {
			then, err = next(row, s)
			delivered = then != nil
			return then, err
		})
	})
	if err == nil && delivered {
		e.watchers.Wake(watched(id.Account, id.Reference))
		e.watchers.Wake(watched("", id.Reference))
	}
	if errors.Is(err, errKeep) {
		return nil
	}
	return err
}

func changeTx[S any, P pointer[S], Tx any](ctx context.Context, e *Engine[Tx], tx Tx, id ID,
	next func(row *Row, s *S) (then delivery[Tx], err error)) error {
	row, err := e.store.Lock(ctx, tx, id)
	if err != nil {
		return err
	}
	if row == nil {
		return fmt.Errorf("%w; check the reference, and that BeginTx was committed", ErrNotBegun)
	}
	before, err := read[S, P](row)
	if err != nil {
		return err
	}
	s := before
	then, err := next(row, &s)
	if err == nil {
		err = e.save(ctx, tx, row, P(&before), P(&s))
	}
	if err == nil && then != nil {
		err = then(ctx, tx)
	}
	return err
}

// save stores the state next in a row. The parameter before is the state that was read from the row, or nil to replace
// the whole state.
func (e *Engine[Tx]) save(ctx context.Context, tx Tx, row *Row, before, next state) error {
	if err := row.setState(before, next); err != nil {
		return err
	}
	return e.store.Save(ctx, tx, row)
}

// insert stores a new row. If the row exists already, insert passes the existing row to the function replace, and
// stores the state that replace returns.
func insert[S any, P pointer[S], Tx any](ctx context.Context, e *Engine[Tx], tx Tx, row *Row, s S,
	replace func(before *Row) (S, error)) error {
	if err := row.setState(nil, P(&s)); err != nil {
		return err
	}
	before, err := e.store.Insert(ctx, tx, row)
	if err != nil || before == nil {
		return err
	}
	if s, err = replace(before); err != nil {
		return err
	}
	if before.Life == Open { // Insert has found an open row and stored nothing, so this row is changed
		row = before
	}
	return e.save(ctx, tx, row, nil, P(&s))
}

// command changes a row after a webhook, or for a person. If a worker of the database's own scheduler works on the row,
// it may have read the order before the event of the webhook. So command waits until that worker has released the row.
func command[S any, P pointer[S], Tx any](ctx context.Context, e *Engine[Tx], id ID, next func(*S) error) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		busy := false
		err := change[S, P](ctx, e, id, false, func(row *Row, s *S) (delivery[Tx], error) {
			if err := next(s); err != nil {
				return nil, err
			}
			if busy = row.Busy; busy {
				return nil, errKeep
			}
			return nil, nil
		})
		if err != nil || !busy {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return fmt.Errorf("a worker still works on this reference; call again later: %w", ctx.Err())
		}
	}
}

// wake makes a row due now, if the row exists and the function next returns true.
func wake[S any, P pointer[S], Tx any](ctx context.Context, e *Engine[Tx], kind Kind, reference string,
	next func(S, time.Time) (S, bool)) error {
	err := command[S, P](ctx, e, e.id(kind, reference), func(s *S) error {
		woken, ok := next(*s, time.Now())
		if !ok {
			return errKeep
		}
		*s = woken
		return nil
	})
	if errors.Is(err, ErrNotBegun) {
		return nil
	}
	return err
}

// Watch returns a channel for a web page that waits for news of a booking. The channel receives a value after a transaction
// of OnOutcome, OnCancel or OnOrder for the reference was committed in this process. While a value waits to be
// received, further values are dropped. Call Watch first, then read your own row, and read it again after each value.
// Commits of other processes are not noticed here: also read the row every few seconds. Call stop at the end.
//
// With Options.Clients, and without ForAccount, the channel is for the reference in any account.
func (e *Engine[Tx]) Watch(customerReferenceNo string) (changed <-chan struct{}, stop func()) {
	return e.watchers.Watch(watched(e.account, customerReferenceNo))
}

// Wake makes a worker of any process act now on all rows under a reference. The worker polls for the order of a
// booking, and reads the order of a cancellation or a followed order. Call Wake from a webhook handler with the
// event's reference, but after the event's transaction has ended: Wake writes in separate transactions. Wake does not
// change a booking that is unknown, has ended or waits for Send. For such a booking Wake returns no error.
// For an account without a client, Wake logs a warning.
func (e *Engine[Tx]) Wake(ctx context.Context, customerReferenceNo string) error {
	defer e.wakeRun()
	if e.client == nil && e.account != "" {
		e.log.WarnContext(ctx, "Wake has no effect yet: Options.Clients has no client of this account; "+
			"check that the account is the result of Client.Account",
			slog.String("reference", customerReferenceNo))
	}
	err := cmp.Or(wake(ctx, e, KindBooking, customerReferenceNo, booking.wake),
		wake(ctx, e, KindCancel, customerReferenceNo, cancellation.wake),
		wake(ctx, e, KindOrder, customerReferenceNo, followed.wake))
	return e.failed(err, "Wake: reference %q", customerReferenceNo)
}

// Retry makes a worker poll for a booking now. A booking that was abandoned opens again. Retry is refused
// while the booking waits for Send. The error is ErrNotBegun if the booking has an outcome or is unknown.
func (e *Engine[Tx]) Retry(ctx context.Context, customerReferenceNo string) error {
	defer e.wakeRun()
	err := command(ctx, e, e.id(KindBooking, customerReferenceNo), func(b *booking) (err error) {
		*b, err = b.retry(time.Now())
		return err
	})
	return e.failed(err, "Retry: reference %q", customerReferenceNo)
}

// Abandon ends a booking without an outcome: the booking is no longer sent or polled for, and OnOutcome
// is not called. Ask the service first whether there is an order. Abandon is refused while Book may be
// in progress. The error is ErrNotBegun if the booking has ended or is unknown.
func (e *Engine[Tx]) Abandon(ctx context.Context, customerReferenceNo string) error {
	err := change(ctx, e, e.id(KindBooking, customerReferenceNo), false, func(_ *Row, b *booking) (_ delivery[Tx], err error) {
		*b, err = b.abandon(time.Now())
		return nil, err
	})
	return e.failed(err, "Abandon: reference %q", customerReferenceNo)
}

// failed returns err with the name of the call that failed, and with the Store's advice. The parameters call and args
// are for fmt.Sprintf.
func (e *Engine[Tx]) failed(err error, call string, args ...any) error {
	if err == nil {
		return nil
	}
	return e.store.Failed(fmt.Sprintf(call, args...), err)
}
