// The journal of bookings.

package hotelstayssql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	defaultBookTimeout  = 2 * time.Minute
	defaultMaxWorkers   = 10
	defaultPollInterval = time.Second

	// storeTimeout bounds the transaction after Book, when the caller's ctx may have ended.
	storeTimeout = 10 * time.Second
	// maxReference is the largest number of bytes in a reference.
	maxReference = 512
)

// JournalOptions configure a Journal.
type JournalOptions struct {
	// OnOutcome stores the outcome of a booking. Required. It runs in the transaction that ends
	// the booking: what it does with tx is committed together with that, or not at all. If the
	// transaction fails, OnOutcome is called again later, so everything it does outside tx must
	// be repeatable. It must be safe for concurrent use, and must not commit tx. In this
	// database it must use tx alone: a second connection would wait for tx.
	//
	// State is BookingFound or BookingAbsent. Err is nil, or the refusal or the reason why
	// nothing was sent (BookingAbsent), or a *hotelstays.ReferenceReusedError: the order is
	// not the expected one (BookingFound). Changes lists what the order has otherwise than
	// expected, such as its price. Recovery has the reference, and the session that Cancel needs.
	// ctx lasts at most ten seconds after a Book, and at least fifteen after a
	// poll of Run.
	//
	// It must return the error of each statement: see Transactions in the package documentation.
	OnOutcome func(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error
	// OnCancel stores how a cancellation of CancelTx has ended. It is like OnOutcome, and needed only
	// by processes that use CancelTx: those without it leave cancellations to others.
	//
	// Ending and Err say how it ended, Cost is what it should have cost before it was sent, and
	// ServiceFee is what the service says.
	OnCancel func(ctx context.Context, tx *sql.Tx, cancellation *durable.Cancellation) error
	// OnOrder, if set, makes Run follow the order of each booking that is found, until it is settled:
	// cancelled, or confirmed and two days past its check-in, or two days past its check-out. It is
	// called once for each change that a read shows, such as of the status or a hotelConfirmNo that
	// comes later, in the transaction that stores the change; it is like OnOutcome otherwise. before
	// is the order of OnOutcome, or of the last call; nil if no key of Keys decrypts it any more. An order
	// that was confirmed or cancelled already when OnOutcome received it is no change: let OnOutcome store
	// it by the same function.
	//
	// An order is read after a quarter of the time since its last change or Wake, but at least a
	// minute and at most twelve hours later. As long as a call does not return, though its ctx has ended,
	// this process reads no other order.
	OnOrder func(ctx context.Context, tx *sql.Tx, before, after *types.Order) error
	// Keys encrypt the requests that wait for Send, and the orders that are followed. Required: at
	// least one of 32 random bytes, not hex or base64 text. The first key encrypts, and all keys
	// decrypt.
	Keys []types.Secret
	// BookTimeout bounds Book and Send, with their wait for the rate limit. Any positive duration
	// is allowed. Default: 2 minutes.
	//
	// It and durable.ClockMargin, five seconds, are how long a booking waits for Send before Run
	// sends it, and how long one of a process that died in Send waits for the first poll.
	BookTimeout time.Duration
	// MaxWorkers is how many polls, and Books, Run makes at once. Default: 10.
	MaxWorkers int
	// PollInterval is how often Run looks for due bookings. Default: 1 second.
	PollInterval time.Duration
	// Logger receives warnings. Default: none.
	Logger *slog.Logger
}

// Journal makes bookings that survive their process. Create it with NewJournal. It is safe for
// concurrent use. Several processes may use the same tables, also for several accounts.
type Journal struct {
	db         database
	client     *hotelstays.Client
	opts       JournalOptions
	keys       *keyring.Ring
	watchers   hotelstays.WakeHub
	delivering sync.Map      // references by a number: their OnOutcome was called, and is not committed
	account    []byte        // the fingerprint of the client's recoveries
	woken      chan struct{} // ends a pause of Run
	fits       atomic.Bool   // the tables were seen to fit this program
}

var _ durable.Bookings[*sql.Tx] = (*Journal)(nil)

// NewJournal returns a Journal. It opens no connection: create the tables with Migrate, and
// look at the database with Check. The error names every invalid argument.
func NewJournal(db *sql.DB, dialect Dialect, client *hotelstays.Client, opts JournalOptions) (*Journal, error) {
	var p problems
	p.checkDatabase(db, dialect)
	keys := p.keyring(opts.Keys)
	if client == nil {
		p.add("the client is nil; create it with hotelstays.New")
	}
	if opts.OnOutcome == nil {
		p.add("OnOutcome is required")
	}
	if opts.BookTimeout < 0 || opts.MaxWorkers < 0 || opts.PollInterval < 0 {
		p.add("BookTimeout, MaxWorkers and PollInterval must not be negative; 0 is the default")
	}
	if err := p.err("NewJournal"); err != nil {
		return nil, err
	}
	opts.BookTimeout = cmp.Or(opts.BookTimeout, defaultBookTimeout)
	opts.MaxWorkers = cmp.Or(opts.MaxWorkers, defaultMaxWorkers)
	opts.PollInterval = cmp.Or(opts.PollInterval, defaultPollInterval)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Journal{
		db: database{db, dialect}, client: client, opts: opts, keys: keys,
		account: []byte(client.NewBookingRecovery(nil).Fingerprint),
		woken:   make(chan struct{}, 1),
	}, nil
}

// BeginTx stores a booking in the caller's transaction: together with the caller's own row, or
// not at all. Nothing is sent. Commit, then call Send, in this process or another. A booking
// that is committed is sent: if nobody calls Send within BookTimeout, Run does, unless it is
// given up by Abandon.
//
// The request is stored encrypted, with opts, and erased when it is sent. Who sends adds the
// options of that Send alone. Options that are no data, such as WithRequestID, and those that
// every poll needs, WithServiceFacts and WithHeader, cannot be stored: give them to the client.
//
// An invalid request or option is a *hotelstays.ValidationError, as in Client.BookAndRecover.
//
// If a booking under the same reference and account has not ended, the error matches
// durable.ErrAlreadyBegun, and durable.ErrAlreadyBooked if it has ended with an order: roll tx
// back. One that has ended without an order begins again. If it was given up after its Book, it
// is without an order only ten minutes after that.
func (j *Journal) BeginTx(ctx context.Context, tx *sql.Tx, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) error {
	if err := j.check(req, opts); err != nil {
		return fmt.Errorf("hotelstayssql: BeginTx: %w", err)
	}
	if tx == nil {
		return errors.New("hotelstayssql: BeginTx: tx is nil; pass the transaction of your own row, or call Book")
	}
	booking := durable.New(*j.client.NewBookingRecovery(req, opts...), time.Now().Add(j.opts.BookTimeout))
	sealed, err := booking.SealRequest(j.keys, req, opts...)
	if err != nil {
		return fmt.Errorf("hotelstayssql: BeginTx: reference %q: %w", req.CustomerReferenceNo, err)
	}
	e := newEntry(req.CustomerReferenceNo, booking)
	e.sealed = sealed
	if err := j.insert(ctx, tx, e); err != nil {
		return j.db.failed(fmt.Errorf("%w; roll back", err), "BeginTx: reference %q", req.CustomerReferenceNo)
	}
	return nil
}

// Send books a booking that BeginTx has stored and whose transaction is committed. If it is not
// called within BookTimeout, as after the end of a process, Run does it.
//
// Its results are those of Send in [durable.Bookings].
func (j *Journal) Send(ctx context.Context, customerReferenceNo string, opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	limit := time.Now().Add(j.opts.BookTimeout) // counts from before the booking is marked
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	e, req, all, err := j.start(ctx, customerReferenceNo, limit, opts...)
	if err != nil {
		return nil, j.db.failed(err, "Send: reference %q: nothing was sent by this call", customerReferenceNo)
	}
	return j.book(ctx, e, req, all)
}

// Book stores a booking and sends it: BeginTx and Send in one call, for callers who have no row
// of their own to commit before. Its results are those of Send, and the errors of BeginTx.
func (j *Journal) Book(ctx context.Context, req *hotelstays.BookRequest,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	if err := j.check(req, opts); err != nil {
		return nil, fmt.Errorf("hotelstayssql: Book: %w", err)
	}
	limit := time.Now().Add(j.opts.BookTimeout)
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	started, err := durable.New(*j.client.NewBookingRecovery(req, opts...), limit).Start(limit, opts...)
	e := newEntry(req.CustomerReferenceNo, started)
	if err == nil {
		err = j.checkTables(ctx)
	}
	if err == nil {
		err = j.db.inTx(ctx, func(tx *sql.Tx) error { return j.insert(ctx, tx, e) })
	}
	if err != nil {
		return nil, j.db.failed(err, "Book: reference %q: nothing was sent", req.CustomerReferenceNo)
	}
	return j.book(ctx, e, req, opts)
}

// checkTables refuses tables of another version, until it has seen ones that fit.
func (j *Journal) checkTables(ctx context.Context) error {
	if j.fits.Load() {
		return nil
	}
	conn, err := j.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := checkSchema(ctx, conn, j.db.dialect); err != nil {
		return err
	}
	j.fits.Store(true)
	return nil
}

// check refuses what Book of the client would refuse, before it is stored.
func (j *Journal) check(req *hotelstays.BookRequest, opts []hotelstays.CallOption) error {
	if err := j.client.ValidateBook(req, opts...); err != nil {
		return err
	}
	return checkReference(req.CustomerReferenceNo)
}

func checkReference(customerReferenceNo string) error {
	if n := len(customerReferenceNo); n > maxReference {
		return fmt.Errorf("customerReferenceNo has %d bytes; the limit is %d", n, maxReference)
	}
	return nil
}

// start marks a booking and erases its request and options: from now on its Book may have been sent.
// It returns them, with opts behind.
func (j *Journal) start(ctx context.Context, reference string, bookBy time.Time, opts ...hotelstays.CallOption) (e *entry,
	req *hotelstays.BookRequest, all []hotelstays.CallOption, err error) {
	if err := j.checkTables(ctx); err != nil {
		return nil, nil, nil, err
	}
	if e, err = j.read(ctx, reference); err != nil {
		return nil, nil, nil, err
	}
	err = j.apply(ctx, e, func(b durable.Booking) (durable.Booking, bool, error) {
		next, err := b.Start(bookBy, opts...)
		if err == nil {
			req, all, err = b.OpenRequest(j.keys, e.sealed)
		}
		if err == nil && len(opts) > 0 { // the others were checked before they were stored
			all = append(all, opts...)
			err = j.client.ValidateBook(req, all...)
		}
		return next, true, err
	}, nil)
	return e, req, all, err
}

// book sends a booking that is marked, until ctx ends, and stores what happens, also after that.
func (j *Journal) book(ctx context.Context, e *entry, req *hotelstays.BookRequest,
	opts []hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	outcome, bookErr := j.client.BookAndRecover(ctx, req, opts...)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	round, at := e.Booking, time.Now()
	var final *hotelstays.BookingOutcome
	var conflict error
	err := j.apply(ctx, e, func(b durable.Booking) (next durable.Booking, ok bool, err error) {
		final, conflict = b.Booked(at, outcome, bookErr), nil
		switch again := !sameRound(b, round); {
		case final == nil: // an earlier round may have an order
			return b, false, nil
		case !again:
			return b.End(final)
		case b.Ending.HasOrder() || !durable.EndingOf(final).HasOrder(): // as another round has ended
			return b, false, nil
		}
		conflict = fmt.Errorf("%w, and the booking has begun again; check it by hand", durable.ErrConflictingOutcome)
		next, ok = b.EarlierEnded(at)
		return next, ok, nil
	}, func(ctx context.Context, tx *sql.Tx) (err error) {
		if conflict == nil {
			err = j.deliver(ctx, tx, final)
		}
		return err
	})
	if final == nil {
		return nil, j.handOver(ctx, e, outcome, bookErr)
	}
	if err = cmp.Or(err, conflict); err != nil {
		err = fmt.Errorf("hotelstayssql: reference %q is %s, but that was not stored: %w", e.reference, durable.EndingOf(final), err)
	}
	return final, err
}

// sameRound reports whether a booking has not begun again since Book was marked.
func sameRound(b, marked durable.Booking) bool { return b.BookBy.Equal(marked.BookBy) }

// handOver leaves a booking to Run, with the state of its recovery, and returns an
// OutcomeUnknownError. If the recovery cannot be stored, Run starts at BookBy.
func (j *Journal) handOver(ctx context.Context, e *entry, outcome *hotelstays.BookingOutcome, cause error) error {
	round := e.Booking
	if outcome != nil && outcome.Recovery != nil {
		err := j.apply(ctx, e, func(b durable.Booking) (next durable.Booking, ok bool, err error) {
			switch ended, again := outcome.Recovery.EndedAt, !sameRound(b, round); {
			case again && b.Ending == "":
				next, ok = b.EarlierEnded(ended)
			case again && b.Ending == durable.EndingFailed && !ended.After(round.BookBy): // it says nothing new
			default:
				next, ok = b.HandOver(*outcome.Recovery)
			}
			return next, ok, nil
		}, nil)
		if err != nil {
			j.opts.Logger.WarnContext(ctx, "cannot hand a booking over; its polls start later",
				slog.String("reference", e.reference), slog.String("error", err.Error()))
		}
		j.wakeRun()
	}
	return round.Unknown(outcome, cause)
}

// deliver passes an outcome to the caller.
func (j *Journal) deliver(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	if err := j.follow(ctx, tx, outcome); err != nil {
		return err
	}
	if err := j.opts.OnOutcome(ctx, tx, outcome); err != nil {
		return fmt.Errorf("OnOutcome: %w", err)
	}
	return nil
}

// underway returns the references whose OnOutcome this process has called, and that are not committed.
func (j *Journal) underway() (references []string) {
	j.delivering.Range(func(_, reference any) bool {
		references = append(references, reference.(string))
		return true
	})
	return references
}

// Watch returns a channel for a page that waits. It receives a value after a transaction of OnOutcome,
// OnCancel or OnOrder for the reference was committed in this process; values that nobody has received
// are one. Watch first, then look at your own row, and look again after each value. Another process
// may commit as well, which is not noticed here: look every few seconds, too. Call stop at the end.
func (j *Journal) Watch(customerReferenceNo string) (changed <-chan struct{}, stop func()) {
	return j.watchers.Watch(customerReferenceNo)
}

// List returns the open bookings of the client's account, in the order of their references. It
// reads them in pages, without a transaction. Due is when Run acts next, or the end of a
// worker's lease. Unverified counts the polls that showed nothing: such a booking needs a
// person if it stays so.
//
// A row that somebody has changed by hand is an error that names its reference, and the list
// continues. An error of the database ends it.
func (j *Journal) List(ctx context.Context) iter.Seq2[durable.Booking, error] {
	return func(yield func(durable.Booking, error) bool) {
		for after := ""; ; {
			page, unreadable, err := bookings.page(ctx, j, pageSize, `reference > ? ORDER BY reference`, []byte(after))
			if err != nil {
				yield(durable.Booking{}, j.db.failed(err, "List"))
				return
			}
			for _, bad := range unreadable {
				after = max(after, bad.reference)
				if !yield(durable.Booking{}, fmt.Errorf("hotelstayssql: List: %w", bad)) {
					return
				}
			}
			for _, e := range page {
				after = max(after, e.reference)
				if !yield(e.Booking, nil) {
					return
				}
			}
			if len(page)+len(unreadable) < pageSize {
				return
			}
		}
	}
}

// Retry makes Run poll for a booking now. A booking that was abandoned opens again. It is
// refused while the booking waits for Send. The error is durable.ErrNotBegun if the booking has an
// outcome or is unknown.
func (j *Journal) Retry(ctx context.Context, customerReferenceNo string) error {
	defer j.wakeRun()
	return j.command(ctx, "Retry", customerReferenceNo, durable.Booking.Retry)
}

// Abandon ends a booking without an outcome: it is neither sent nor polled for any more, and
// OnOutcome is not called. Ask the service first whether there is an order. It is refused
// while Book may be under way. The error is durable.ErrNotBegun if the booking has ended or is
// unknown.
func (j *Journal) Abandon(ctx context.Context, customerReferenceNo string) error {
	return j.command(ctx, "Abandon", customerReferenceNo, durable.Booking.Abandon)
}

func (j *Journal) command(ctx context.Context, name, reference string,
	transition func(durable.Booking, time.Time) (durable.Booking, error)) error {
	e, err := j.read(ctx, reference)
	if err == nil {
		err = j.apply(ctx, e, func(b durable.Booking) (durable.Booking, bool, error) {
			next, err := transition(b, time.Now())
			return next, true, err
		}, nil)
	}
	if err != nil {
		return j.db.failed(err, "%s: reference %q", name, reference)
	}
	return nil
}
