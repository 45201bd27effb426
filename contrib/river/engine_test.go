//go:build postgres

// The processes of TestProcessesDie, which book and work on recoveries until they are
// killed.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// engineBookers is how many bookings a process makes at once.
	engineBookers = 4
	// engineRounds is how often a booking is tried.
	engineRounds = 3
)

// enginePlan configures a process.
type enginePlan struct {
	Schema, URL, AppKey, AppSecret string
	Session                        string
	Offer                          types.RoomRatePkg
}

type bookingEngine struct {
	enginePlan
	*Bookings
	client *hotelstays.Client
	pool   *pgxpool.Pool
}

// engine runs until it is killed, or its standard input ends.
func engine(plan enginePlan) (err error) {
	ctx := chaostest.UntilClosed()
	e := bookingEngine{enginePlan: plan}
	// The transactions of a frozen process end: River's, and those of next.
	if e.pool, err = openPool(ctx, e.Schema, map[string]string{"idle_in_transaction_session_timeout": "5000"}); err != nil {
		return err
	}
	e.client, err = hotelstays.New(e.URL, hotelstays.TicketCredential{AppKey: e.AppKey, AppSecret: types.NewSecret(e.AppSecret)})
	if err != nil {
		return err
	}
	e.Bookings, err = New(Config{Client: e.client, Pool: e.pool, Keys: testKeys, Schema: e.Schema, OnOutcome: e.onOutcome, BookTimeout: 2 * time.Second})
	if err != nil {
		return err
	}
	e.idle = 5 * time.Second
	cfg := &river.Config{Schema: e.Schema, TestOnly: true, FetchPollInterval: 100 * time.Millisecond, FetchCooldown: 50 * time.Millisecond}
	if err := e.Configure(cfg); err != nil {
		return err
	}
	workers, err := river.NewClient(riverpgxv5.New(e.pool), cfg)
	if err != nil {
		return err
	}
	for ctx.Err() == nil && workers.Start(ctx) != nil { // the database may be restarting
		time.Sleep(100 * time.Millisecond)
	}
	for range engineBookers {
		go e.book(ctx)
	}
	<-ctx.Done()
	return nil
}

// onOutcome stores an outcome in the booking's row and in a list of all. Sometimes it fails. A
// booking that was opened again after its process was frozen has a round more.
func (e *bookingEngine) onOutcome(ctx context.Context, tx pgx.Tx, outcome *hotelstays.BookingOutcome) error {
	_, err := tx.Exec(ctx, `UPDATE bookings SET rounds = rounds + 1 WHERE reference = $1 AND state <> 'pending'`, outcome.Recovery.CustomerReferenceNo)
	if err == nil {
		err = storeRow(ctx, tx, outcome)
	}
	if err != nil {
		return err
	}
	chaostest.MayBlock()
	_, err = tx.Exec(ctx, `INSERT INTO endings (reference, round, state, order_no)
		SELECT reference, rounds, state, order_no FROM bookings WHERE reference = $1`, outcome.Recovery.CustomerReferenceNo)
	if err == nil && rand.IntN(20) == 0 {
		err = errors.New("OnOutcome failed by chance")
	}
	return err
}

// book makes bookings: new ones, and those whose last round found no order.
func (e *bookingEngine) book(ctx context.Context) {
	for {
		reference, err := e.next(ctx)
		if err == nil {
			_, err = e.Send(ctx, reference, hotelstays.WithTraceID(reference))
		}
		if errors.Is(err, durable.ErrConflictingOutcome) {
			_, _ = e.pool.Exec(ctx, `INSERT INTO surprises VALUES ($1)`, err.Error())
		}
		if err != nil { // nothing to do, the database is restarting, or a worker has to poll
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// next commits the next round of a booking with its job.
func (e *bookingEngine) next(ctx context.Context) (reference string, err error) {
	err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		var rounds int
		err := tx.QueryRow(ctx, `UPDATE bookings SET state = 'pending', rounds = rounds + 1 WHERE reference = (
				SELECT reference FROM bookings WHERE state IN ('new', 'absent', 'failed') AND rounds < $1
				ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED)
			RETURNING reference, rounds`, engineRounds).Scan(&reference, &rounds)
		if err != nil {
			return err
		}
		offer := hotelstays.BookRequest{SessionID: e.Session, RatePkgID: e.Offer.RatePkgID, Expect: &e.Offer}
		if rounds > 1 {
			if err := e.recheck(ctx, &offer); err != nil {
				return err
			}
		}
		return e.BeginTx(ctx, tx, requestOf(offer, reference))
	})
	return reference, err
}

// recheck checks the offer before it is booked again.
func (e *bookingEngine) recheck(ctx context.Context, offer *hotelstays.BookRequest) error {
	resp, err := e.client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: offer.SessionID, RatePkgID: offer.RatePkgID})
	if err == nil && !resp.Available() {
		err = fmt.Errorf("the offer is gone")
	}
	return err
}
