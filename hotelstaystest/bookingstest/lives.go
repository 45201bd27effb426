// What processes do with an order after its booking: they mirror it, and cancel some.

package bookingstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	cancelOp  = hotelstays.OpCancel
	webhookOp = hotelstaystest.OpWebhook
)

// lifeFaults act beside those of chaostest.
var lifeFaults = []hotelstaystest.Fault{
	{Operation: cancelOp, Kind: hotelstaystest.FaultCut, Probability: 0.1},
	{Operation: cancelOp, Kind: hotelstaystest.FaultCut, Commit: true, Probability: 0.1},
	{Operation: cancelOp, Kind: hotelstaystest.FaultStatus, Status: 502, Commit: true, Probability: 0.1},
	{Operation: cancelOp, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second, Commit: true, Probability: 0.1},
	{Operation: cancelOp, Kind: hotelstaystest.FaultStatus, Status: 429, Probability: 0.05},
	{Operation: cancelOp, Kind: hotelstaystest.FaultStatus, Status: 200, Code: 100009999, Probability: 0.05},
	{Operation: webhookOp, Kind: hotelstaystest.FaultDrop, Probability: 0.2},
	{Operation: webhookOp, Kind: hotelstaystest.FaultDuplicate, Probability: 0.2},
	{Operation: webhookOp, Kind: hotelstaystest.FaultDelay, Delay: 2 * time.Second, Probability: 0.3},
}

// receive is where webhooks arrive, twice if they are sent twice.
func (w *World[Tx]) receive(rw http.ResponseWriter, r *http.Request) {
	handler, err := hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{Secrets: []types.Secret{types.NewSecret(w.WebhookSecret)}},
		func(ctx context.Context, event *hotelstays.WebhookEvent) error {
			return w.Wake(ctx, event.CustomerReferenceNo)
		})
	if assert.NoError(w, err) {
		handler.ServeHTTP(rw, r)
	}
}

// lifeOver is which rows need nothing more: each order is as its caller wants it, and the mirror says so.
const lifeOver = `(state <> 'found' OR cancel = 'cancelled' AND mirror LIKE '3 %' OR cancel = '' AND mirror LIKE '2 %')`

// wantLives gives the world the faults, and a third of the bookings a wish to be cancelled.
func (w *World[Tx]) wantLives() {
	for _, f := range lifeFaults {
		f.Times = -1
		w.Inject(f)
	}
	w.execute(`ALTER TABLE bookings ADD COLUMN begun integer NOT NULL DEFAULT 0`, // cancellations
		`UPDATE bookings SET cancel = 'wanted' WHERE reference LIKE '%2' OR reference LIKE '%5' OR reference LIKE '%8'`)
}

// byChance fails sometimes.
func byChance(err error) error {
	if err == nil && rand.IntN(20) == 0 {
		err = errors.New("failed by chance")
	}
	return err
}

func (e *Engine[Tx]) onOrder(ctx context.Context, tx Tx, before, after *types.Order) error {
	return byChance(e.StoreOrder(ctx, tx, before, after))
}

// onCancel stores how a cancellation has ended. One that did nothing begins again.
func (e *Engine[Tx]) onCancel(ctx context.Context, tx Tx, c *durable.Cancellation) error {
	err := e.StoreCancel(ctx, tx, c)
	if err == nil && c.Again() == nil {
		_, err = e.Exec(ctx, tx, `UPDATE bookings SET cancel = 'wanted' WHERE reference = ?`, c.CustomerReferenceNo)
	}
	return byChance(err)
}

// cancel begins cancellations of bookings that are found.
func (e *Engine[Tx]) cancel(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		var reference string
		if e.QueryRow(ctx, `SELECT reference FROM bookings WHERE state = 'found' AND cancel = 'wanted'
			ORDER BY reference LIMIT 1 OFFSET `+fmt.Sprint(rand.IntN(bookers))).Scan(&reference) != nil {
			continue
		}
		_ = e.InTx(ctx, func(tx Tx) error {
			n, err := e.Exec(ctx, tx, `UPDATE bookings SET cancel = 'begun', begun = begun + 1 WHERE reference = ? AND cancel = 'wanted'`, reference)
			if err != nil || n == 0 {
				return errors.Join(err, errors.New("another process has it"))
			}
			return e.Bookings.CancelTx(ctx, tx, durable.CancelRequest{CustomerReferenceNo: reference, SessionID: e.Session})
		})
	}
}

// checkLives compares mirrors and cancellations with the service.
func (w *World[Tx]) checkLives(lasted time.Duration) {
	polls := w.polls()
	w.ClearFaults()
	rows, err := w.Fleet.Query(w.Context(), `SELECT reference, cancel, begun, cancels, mirror FROM bookings WHERE state = 'found'`)
	require.NoError(w, err)
	mirrors := map[string]string{}
	var references []string
	begun, cancelled := 0, map[string]int{}
	for _, c := range w.Ledger().Cancellations() {
		cancelled[c.CustomerReferenceNo]++
	}
	for rows.Next() {
		var reference, cancel, mirror string
		var n, ended int
		require.NoError(w, rows.Scan(&reference, &cancel, &n, &ended, &mirror))
		assert.Equal(w, n, ended, "endings of the cancellations of %s", reference)
		assert.Equal(w, map[string]int{"cancelled": 1}[cancel], cancelled[reference], reference)
		begun += n
		references, mirrors[reference] = append(references, reference), mirror
	}
	require.NoError(w, rows.Err())
	sent := 0
	for _, r := range w.Ledger().Requests(cancelOp) {
		if r.Status != http.StatusTooManyRequests {
			sent++
		}
	}
	assert.LessOrEqual(w, sent, begun, "Cancels")
	for some := range slices.Chunk(references, 100) {
		resp, err := w.Options.Client.QueryOrders(w.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: some})
		require.NoError(w, err)
		for _, order := range resp.Orders {
			assert.Equal(w, mirrorOf(&order), mirrors[order.CustomerReferenceNo], order.CustomerReferenceNo)
			delete(mirrors, order.CustomerReferenceNo)
		}
	}
	assert.Empty(w, mirrors, "mirrors without an order")
	assert.Zero(w, w.Ledger().RateLimited(""), "429s")
	days := (lasted * chaostest.Speed).Hours() / 24
	w.Logf("%d orders, %d cancelled by %d Cancels for %d cancellations; %d webhooks; %.1f QueryOrders a booking, or %.0f in a day",
		len(references),
		len(w.Ledger().Cancellations()), sent, begun, len(w.Ledger().Webhooks()), float64(polls)/float64(len(references)),
		float64(polls)/float64(len(references))/days)
}
