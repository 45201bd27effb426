// Processes that book until they are killed. They also copy orders, and cancel some. At the end the test checks the stored rows.

package bookingstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
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
	bookers   = 4 // number of bookings that a process makes at the same time
	maxRounds = 3 // maximum number of rounds of a booking
)

// Engine is a process of the fleet that [World.Survive] runs. It makes and cancels bookings.
type Engine[Tx any] struct {
	Plan
	Database[Tx]
	// Bookings is the durable.Bookings of this process. Open it with the result of Options.
	Bookings durable.Bookings[Tx]
	clients  []*hotelstays.Client // one client for each account
}

// Options returns the options of the engine's Bookings. Each engine has its own IP address, and therefore its own
// rate limits.
func (e *Engine[Tx]) Options() (opts durable.Options[Tx], err error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	address := net.IPv4(127, byte(1+rand.IntN(250)), byte(rand.IntN(256)), byte(1+rand.IntN(250)))
	transport.DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: address}}).DialContext
	e.clients, err = e.Connect(transport)
	known := map[string]*hotelstays.Client{}
	for _, client := range e.clients {
		known[client.Account()] = client
	}
	return durable.Options[Tx]{Clients: func(account string) durable.BookingClient { return known[account] }, OnOutcome: e.onOutcome,
		OnCancel: e.onCancel, OnOrder: e.onOrder, Keys: []types.Secret{Key}, BookTimeout: 2 * time.Second}, err
}

// of returns the account that books a reference, and the client and the Bookings of this account.
func (e *Engine[Tx]) of(reference string) (Account, *hotelstays.Client, durable.Bookings[Tx]) {
	i := number(reference) % len(e.Accounts)
	return e.Accounts[i], e.clients[i], e.Bookings.ForAccount(e.clients[i].Account())
}

// Run books until ctx ends. The workers of its Bookings must run at the same time.
func (e *Engine[Tx]) Run(ctx context.Context) {
	for range bookers {
		go e.book(ctx)
	}
	go e.cancel(ctx)
	<-ctx.Done()
}

// onOutcome stores an outcome in the booking's row and in a list of all outcomes. Sometimes it fails.
//
// A round has two outcomes if its process was frozen during Book: another process stores the first outcome, and then Book
// ends without an answer. onOutcome counts the second outcome as the outcome of a further round.
func (e *Engine[Tx]) onOutcome(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
	chaostest.MayBlock()
	reference := outcome.Recovery.CustomerReferenceNo
	if _, err := e.Exec(ctx, tx, `UPDATE bookings SET rounds = rounds + 1 WHERE reference = ? AND state <> 'pending'`, reference); err != nil {
		return err
	}
	if err := e.StoreRow(ctx, tx, outcome); err != nil {
		return err
	}
	_, err := e.Exec(ctx, tx, `INSERT INTO endings (reference, round, state, order_no, at)
		SELECT reference, rounds, state, order_no, `+fmt.Sprint(time.Now().UnixMicro())+` FROM bookings WHERE reference = ?`, reference)
	if err == nil && outcome.Order != nil {
		_, err = e.Exec(ctx, tx, `UPDATE bookings SET mirror = ? WHERE reference = ?`, mirrorOf(outcome.Order), reference)
	}
	return byChance(err)
}

// book makes bookings: new bookings, and bookings whose last round found no order.
func (e *Engine[Tx]) book(ctx context.Context) {
	for {
		reference, err := e.next(ctx)
		if err == nil {
			_, _, bookings := e.of(reference)
			_, err = bookings.Send(ctx, reference)
		}
		if errors.Is(err, durable.ErrConflictingOutcome) {
			_ = e.InTx(ctx, func(tx Tx) error {
				_, err := e.Exec(ctx, tx, `INSERT INTO surprises (what) VALUES (?)`, err.Error())
				return err
			})
		}
		if err != nil { // for instance, no booking is open, the database is restarting, or Book had no answer
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// next begins the next round of a booking, and commits it.
func (e *Engine[Tx]) next(ctx context.Context) (reference string, err error) {
	const open = `state IN ('new', 'absent', 'failed')`
	var rounds int
	err = e.QueryRow(ctx, `SELECT reference, rounds FROM bookings WHERE `+open+` AND rounds < ?
		ORDER BY rounds DESC, reference LIMIT 1 OFFSET `+fmt.Sprint(rand.IntN(4*bookers)), maxRounds).Scan(&reference, &rounds)
	if err != nil {
		return "", err
	}
	account, client, bookings := e.of(reference)
	req := account.Request(reference)
	if rounds > 0 {
		resp, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID})
		if err != nil || !resp.Available() {
			return "", errors.Join(err, errors.New("the account's offer is not available"))
		}
	}
	return reference, e.InTx(ctx, func(tx Tx) error {
		err := e.update(ctx, tx, `state = 'pending', rounds = rounds + 1 WHERE rounds = ? AND `+open+` AND reference = ?`, rounds, reference)
		if err != nil { // update fails, for instance, if another process has changed the row
			return err
		}
		return bookings.BeginTx(ctx, tx, req, hotelstays.WithTraceID(reference)) // chaostest.Check needs the trace id
	})
}

// Survive runs a fleet until it has made its bookings, and checks the stored rows. The function open must return the
// number of open bookings in the implementation's database.
func (w *World[Tx]) Survive(fleet chaostest.Fleet, open func(context.Context) (int, error)) {
	chaostest.Inject(w.Server)
	for _, f := range lifeFaults {
		f.Times = -1
		w.Inject(f)
	}
	w.createTables(fleet.Bookings)
	fleet.Logf = w.Logf
	fleet.Ended = func(ctx context.Context) (n int, err error) {
		left, err := open(ctx)
		if err == nil {
			err = w.Fleet.QueryRow(ctx, `SELECT COUNT(*) FROM bookings
				WHERE (state IN ('found', 'reused') OR state IN ('absent', 'failed') AND rounds >= ?) AND `+lifeOver, maxRounds).Scan(&n)
		}
		return min(n, fleet.Bookings-left), err
	}
	start := time.Now()
	require.NoError(w, fleet.Survive(w.Context()))
	w.Logf("%s, %d requests of Book, %d of QueryOrders", time.Since(start).Round(time.Second), w.books(), w.polls())
	w.checkOutcomes()
	w.checkLives(time.Since(start))
	if n := w.count(`surprises`); fleet.Freezes > 0 {
		w.Log(n, " Sends of processes that were frozen found an order of a later round")
	} else {
		assert.Zero(w, n)
	}
}

// createTables creates the tables of the engines, with a row for each booking to make. A third of the rows ask for a
// cancellation.
func (w *World[Tx]) createTables(bookings int) {
	statements := []string{
		`ALTER TABLE bookings ADD COLUMN rounds integer NOT NULL DEFAULT 0`,
		`ALTER TABLE bookings ADD COLUMN begun integer NOT NULL DEFAULT 0`, // number of cancellations begun
		`CREATE TABLE endings (reference varchar(64) NOT NULL, round integer NOT NULL, state varchar(16) NOT NULL,
			order_no varchar(64) NOT NULL, at bigint NOT NULL)`,
		`CREATE TABLE surprises (what varchar(1000) NOT NULL)`,
	}
	for i := range bookings {
		statements = append(statements,
			fmt.Sprintf(`INSERT INTO bookings (reference, state, order_no, ended) VALUES ('ref-%d', 'new', '', 0)`, i))
	}
	statements = append(statements, `UPDATE bookings SET cancel = 'wanted' WHERE reference LIKE '%2' OR reference LIKE '%5' OR reference LIKE '%8'`)
	require.NoError(w, w.Fleet.InTx(w.Context(), func(tx Tx) error {
		for _, statement := range statements {
			if _, err := w.Fleet.Exec(w.Context(), tx, statement); err != nil {
				return err
			}
		}
		return nil
	}))
}

// AnyReference returns the reference of a random booking that [World.Survive] makes.
func AnyReference(bookings int) string { return fmt.Sprint("ref-", rand.IntN(bookings)) }

// count returns the number of rows of a table. The argument is the name of the table, or a name and a condition, such
// as "surprises WHERE n > 1".
func (w *World[Tx]) count(of string) (n int) {
	require.NoError(w, w.Fleet.QueryRow(w.Context(), `SELECT COUNT(*) FROM `+of).Scan(&n))
	return n
}

// each reads the rows of a query. For each row it stores the columns in the variables of into, and then calls do.
func (w *World[Tx]) each(query string, into []any, do func()) {
	rows, err := w.Fleet.Query(w.Context(), query)
	require.NoError(w, err)
	for rows.Next() {
		require.NoError(w, rows.Scan(into...))
		do()
	}
	require.NoError(w, rows.Err())
}

// checkOutcomes compares the caller's tables with the ledger.
func (w *World[Tx]) checkOutcomes() {
	var outcomes []chaostest.Outcome
	var o chaostest.Outcome
	var at int64
	w.each(`SELECT reference, round, order_no, at FROM endings ORDER BY at`, []any{&o.Reference, &o.Round, &o.OrderNo, &at}, func() {
		o.At = time.UnixMicro(at)
		outcomes = append(outcomes, o)
	})
	begun := map[string]int{}
	var reference string
	var rounds int
	w.each(`SELECT reference, rounds FROM bookings`, []any{&reference, &rounds}, func() { begun[reference] = rounds })
	assert.NoError(w, chaostest.Check(w.Ledger(), begun, outcomes))
	w.checkAccounts(outcomes)
	assert.Zero(w, w.count(`endings WHERE state NOT IN ('found', 'absent', 'failed') OR (state = 'found') <> (order_no <> '')`),
		"outcomes of an unknown kind, found outcomes without an order, or other outcomes with an order")
	assert.Zero(w, w.count(`bookings b WHERE NOT EXISTS (SELECT 1 FROM endings e WHERE e.reference = b.reference
		AND e.round = b.rounds AND e.state = b.state AND e.order_no = b.order_no)`), "rows that differ from their last outcome")
	for _, state := range []string{"found", "absent", "failed"} {
		w.Log(state, w.count(`endings WHERE state = '`+state+`'`))
	}
}

const (
	cancelOp  = hotelstays.OpCancel
	webhookOp = hotelstaystest.OpWebhook
)

// lifeFaults are faults of Cancel and of webhooks. Survive injects lifeFaults after the faults of chaostest.Inject.
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

// receive handles webhooks. The sandbox sends some webhooks twice.
func (w *World[Tx]) receive(rw http.ResponseWriter, r *http.Request) {
	handler, err := hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{Secrets: []types.Secret{types.NewSecret(w.WebhookSecret)}},
		func(ctx context.Context, event *hotelstays.WebhookEvent) error {
			return w.OfReference(event.CustomerReferenceNo).Wake(ctx, event.CustomerReferenceNo)
		})
	if assert.NoError(w, err) {
		handler.ServeHTTP(rw, r)
	}
}

// lifeOver is the SQL condition for a row in which nothing will change: its order and its copy of the order have the
// status that the caller wants.
const lifeOver = `(state <> 'found' AND cancel <> 'begun' OR
	state = 'found' AND (cancel = 'cancelled' AND mirror LIKE '3 %' OR cancel = '' AND mirror LIKE '2 %'))`

// byChance returns err. If err is nil, it returns an error in one of 20 calls.
func byChance(err error) error {
	if err == nil && rand.IntN(20) == 0 {
		err = errors.New("failed by chance")
	}
	return err
}

func (e *Engine[Tx]) onOrder(ctx context.Context, tx Tx, change *durable.OrderChange) error {
	return byChance(e.StoreOrder(ctx, tx, change))
}

// onCancel stores how a cancellation has ended. If no order was cancelled, onCancel requests another cancellation.
//
// There is one exception: the round made no order, and the reference ends with 5. Then onCancel requests no cancellation,
// so that the test has bookings whose next order must stay.
func (e *Engine[Tx]) onCancel(ctx context.Context, tx Tx, c *durable.Cancellation) error {
	err := e.StoreCancel(ctx, tx, c)
	if err == nil && (c.Ending == durable.CancelRefused || c.Ending == durable.CancelStanding) {
		next := "wanted"
		if errors.Is(c.Err, durable.ErrNothingToCancel) && strings.HasSuffix(c.CustomerReferenceNo, "5") {
			next = ""
		}
		err = e.update(ctx, tx, `cancel = ? WHERE reference = ?`, next, c.CustomerReferenceNo)
	}
	return byChance(err)
}

// cancel begins cancellations of bookings that are found or whose outcome is not known yet.
func (e *Engine[Tx]) cancel(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		var reference string
		if e.QueryRow(ctx, `SELECT reference FROM bookings WHERE state IN ('found', 'pending') AND cancel = 'wanted'
			ORDER BY reference LIMIT 1 OFFSET `+fmt.Sprint(rand.IntN(bookers))).Scan(&reference) != nil {
			continue
		}
		_ = e.InTx(ctx, func(tx Tx) error {
			err := e.update(ctx, tx, `cancel = 'begun', begun = begun + 1 WHERE cancel = 'wanted' AND reference = ?`, reference)
			if err != nil { // update fails, for instance, if another process has changed the row
				return err
			}
			account, _, bookings := e.of(reference)
			return bookings.CancelTx(ctx, tx, durable.CancelOrder{CustomerReferenceNo: reference, SessionID: account.Session})
		})
	}
}

// checkLives compares the caller's copies and the cancellations with the service.
func (w *World[Tx]) checkLives(lasted time.Duration) {
	polls := w.polls()
	w.ClearFaults()
	mirrors := map[string]string{}
	var references []string
	begun, cancelled := 0, map[string]int{}
	for _, c := range w.Ledger().Cancellations() {
		cancelled[c.CustomerReferenceNo]++
	}
	var reference, cancel, mirror string
	var n, ended int
	w.each(`SELECT reference, cancel, begun, cancels, mirror FROM bookings WHERE state = 'found'`,
		[]any{&reference, &cancel, &n, &ended, &mirror}, func() {
			assert.Equal(w, n, ended, "number of ended cancellations of %s", reference)
			assert.Equal(w, map[string]int{"cancelled": 1}[cancel], cancelled[reference], reference)
			begun += n
			references, mirrors[reference] = append(references, reference), mirror
		})
	sent := 0
	for _, r := range w.Ledger().Requests(cancelOp) {
		if r.Status != http.StatusTooManyRequests {
			sent++
		}
	}
	assert.LessOrEqual(w, sent, begun, "Cancels")
	for some := range slices.Chunk(references, 100) {
		for _, client := range w.Clients { // each account sees only its own orders
			resp, err := client.QueryOrders(w.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: some})
			require.NoError(w, err)
			for _, order := range resp.Orders {
				assert.Equal(w, mirrorOf(&order), mirrors[order.CustomerReferenceNo], order.CustomerReferenceNo)
				delete(mirrors, order.CustomerReferenceNo)
			}
		}
	}
	assert.Empty(w, mirrors, "the caller's copies without an order")
	assert.Zero(w, w.Ledger().RateLimited(""), "429s")
	days := (lasted * chaostest.Speed).Hours() / 24
	w.Logf("%d orders, %d cancelled by %d Cancels for %d cancellations; %d webhooks; %.1f QueryOrders a booking, or %.0f in a day",
		len(references),
		len(w.Ledger().Cancellations()), sent, begun, len(w.Ledger().Webhooks()), float64(polls)/float64(len(references)),
		float64(polls)/float64(len(references))/days)
}

// number returns the number in a reference such as "ref-7".
func number(reference string) (i int) {
	_, _ = fmt.Sscanf(reference, "ref-%d", &i)
	return i
}

// OfReference returns the Bookings of the account under which Survive books the reference.
func (w *World[Tx]) OfReference(reference string) durable.Bookings[Tx] {
	return w.ForAccount(w.Clients[number(reference)%len(w.Clients)].Account())
}

// checkAccounts checks that the accounts progressed about equally. It looks at the time at which nine tenths of all
// bookings had ended. At this time, at most half of each account's bookings may have been open. The parameter outcomes is
// sorted, the oldest outcome first.
func (w *World[Tx]) checkAccounts(outcomes []chaostest.Outcome) {
	last := map[string]int{}
	for i, o := range outcomes {
		last[o.Reference] = i
	}
	inOrder := slices.SortedFunc(maps.Keys(last), func(a, b string) int { return last[a] - last[b] })
	left, of := make([]int, len(w.Clients)), make([]int, len(w.Clients))
	for i, reference := range inOrder {
		account := number(reference) % len(w.Clients)
		if of[account]++; i >= len(inOrder)*9/10 {
			left[account]++
		}
	}
	w.Logf("when a tenth of all bookings was open, the %d accounts had %v open bookings of %v", len(of), left, of)
	for i := range of {
		assert.LessOrEqual(w, 2*left[i], of[i]+1, "account %d", i)
	}
}
