// A worker of the model is a call of the engine, with the replies that the call has received from its Store and its
// Client. To find out which operation the call asks for next, the model runs the call again from its beginning. The call
// receives the same replies at the same times, until it asks for a reply that does not exist yet.

package bookingsmodel

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
)

// call is a method of the engine that a worker, a person or a webhook calls.
type call int32

const (
	send     call          = iota + 1
	run                    // Run on a due row: run+booking, run+cancel or run+followed
	runMany  = run + kinds // like run, but another row is due, too
	wakes    = runMany + kinds
	begins   = wakes + 1
	cancels  = wakes + 2
	names    = wakes + 3 // CancelTx with a request that names the foreign order
	abandons = wakes + 4
	retries  = wakes + 5
	unfollow = wakes + 6
)

// runs reports whether c is a call of Run. If it is, kind is the kind of the due row, and many reports whether a
// second row is due.
func (c call) runs() (kind int, many, is bool) {
	if c < run || c >= wakes {
		return 0, false, false
	}
	return int(c-run) % kinds, c >= runMany, true
}

func (m *model) start(c call) error {
	ctx := context.Background()
	e, err := durable.NewEngine(m, m.options)
	if err != nil {
		panic(err)
	}
	switch c {
	case send:
		_, err := e.Send(ctx, reference)
		return err
	case wakes:
		return e.Wake(ctx, reference)
	case begins:
		return m.InTx(ctx, false, func(ctx context.Context, tx *memstore.Tx) error { return e.BeginTx(ctx, tx, request(m.Foreign)) })
	case cancels, names:
		req := durable.CancelOrder{CustomerReferenceNo: reference, SessionID: "session"}
		if c == names {
			req.PlatformReferenceNo = orderOf(foreign, 1).PlatformReferenceNo
		}
		return m.InTx(ctx, false, func(ctx context.Context, tx *memstore.Tx) error { return e.CancelTx(ctx, tx, req) })
	case abandons:
		return e.Abandon(ctx, reference)
	case retries:
		return e.Retry(ctx, reference)
	case unfollow:
		return e.Unfollow(ctx, reference)
	}
	return e.Run(ctx, m)
}

// opKind is the kind of an operation that a call of the engine asks its Store or its Client for.
type opKind uint8

const (
	returned opKind = iota // the call has returned
	claims                 // Due, and the Postpone that leases the due rows
	transacts
	postpones
	reads // a read of the booking outside of a transaction
	queries
	steps // StepRecovery
	books
	sendsCancel
)

type operation struct {
	opKind
	limit   int32 // time at which the ctx of the operation ends, in seconds from the beginning of the call
	slot    int   // index of the order to cancel
	kind    int   // the kind of the row to postpone
	version int8  // the version of the row to postpone, as the call knows it
	err     error // the error that the call returned
}

// reply is the answer of the Store or the Client to an operation. All its times are seconds from the beginning of the
// call.
type reply struct {
	at       int16
	code     code
	view     view
	rows     [kinds]int32 // the rows that the operation reads, with the content at the time of the reply
	versions [kinds]int8  // 0: the version that is stored now; -1: the version before it
	recovery int32
}

// deliveries holds what OnOutcome, OnCancel and OnOrder have received in one transaction.
type deliveries struct {
	outcome          durable.Ending
	cancel           durable.CancelEnding
	changed          bool // OnOrder was called
	slot             int8
	before, revision revision
}

// result holds what a call does after its last reply: the rows that it reads and writes, and the operation that it
// asks for next.
type result struct {
	operation
	looked     [kinds]bool // the rows that the operation has read
	wrote      [kinds]int32
	deliveries deliveries
}

// node is the history of a call: the replies that the call has received. It holds the last reply, and the number of the
// history before this reply.
type node struct {
	parent int32 // number of the history before the reply; before the first reply, the call with a minus sign
	reply  reply
}

// script is a replay of a call. It supplies the replies of a history to the call, and collects the result.
type script struct {
	call    call
	replies []reply
	used    int
	stopped bool
	claimed int // 1 after Due has returned rows, 2 after Postpone has leased the rows
	result  result
}

func (m *model) history(n node) int32 {
	h, known := m.histories[n]
	if !known {
		h = int32(len(m.nodes))
		m.histories[n] = h
		m.nodes, m.results = append(m.nodes, n), append(m.results, nil)
	}
	return h
}

// callOf returns the call that history h belongs to, and all replies of the history.
func (m *model) callOf(h int32) (c call, replies []reply) {
	for ; m.nodes[h].parent >= 0; h = m.nodes[h].parent {
		replies = append(replies, m.nodes[h].reply)
	}
	slices.Reverse(replies)
	return call(-m.nodes[h].parent), replies
}

// replay runs a call with the replies of history h, and returns what the call does after the last reply.
func (m *model) replay(h int32) *result {
	if m.results[h] != nil {
		return m.results[h]
	}
	c, replies := m.callOf(h)
	s := &script{call: c, replies: replies}
	m.script = s
	m.atEpoch(func() {
		err := m.start(c)
		s.result.operation = operation{err: err}
	})
	m.Replays++
	m.results[h] = &s.result
	return &s.result
}

// atEpoch runs f in a new goroutine, in virtual time that begins at epoch. It returns when f and all goroutines of f have ended.
func (m *model) atEpoch(f func()) {
	synctest.Test(m.t, func(*testing.T) {
		var ended sync.WaitGroup
		ended.Go(f)
		ended.Wait()
	})
}

// stop ends the current goroutine of the call. The operation of the first stop becomes the result of the replay.
func (s *script) stop(a operation) {
	if !s.stopped {
		s.stopped, s.result.operation = true, a
	}
	runtime.Goexit()
}

// nextReply sleeps until the time of the next reply, and returns that reply. Without a further reply, it ends the
// goroutine with stop.
func (m *model) nextReply(ctx context.Context, a operation) reply {
	s := m.script
	if s.used == len(s.replies) || s.stopped {
		if a.limit = math.MaxInt32; ctx != nil {
			if limit, ok := ctx.Deadline(); ok {
				a.limit = int32(limit.Sub(epoch) / second)
			}
		}
		s.stop(a)
	}
	r := s.replies[s.used]
	s.used++
	s.result = result{}
	if wait := time.Until(timeOf(r.at)); wait > 0 {
		time.Sleep(wait)
		synctest.Wait() // lets each ctx end whose deadline has come
	}
	return r
}

func (m *model) row(r reply, kind int) durable.Row {
	row := m.stored(r.rows[kind])
	row.Version = m.version(r.versions[kind])
	return row
}

func (m *model) version(version int8) any {
	if m.Breaks.SameVersion {
		version = 0
	}
	return version
}

// wrote records in the script that the call has stored a row. The parameter before is the number of the replaced row.
func (m *model) wrote(row durable.Row, before int32) {
	s := m.script
	t := s.result.deliveries
	s.result.wrote[indexOf(row.Kind)] = m.numberOf(row, before, string([]byte{byte(t.slot), byte(t.revision)}))
}

var errLost = errors.New("the database is lost")

// InTx runs a transaction in which no time passes. If the reply is a failure, InTx returns an error after f, as if
// the commit had failed.
func (m *model) InTx(ctx context.Context, _ bool, f func(context.Context, *memstore.Tx) error) error {
	r, s := m.nextReply(ctx, operation{opKind: transacts}), m.script
	rows := map[durable.ID]durable.Row{}
	for k, n := range r.rows {
		if n != 0 {
			row := m.row(r, k)
			rows[row.ID] = row
		}
	}
	tx := memstore.Begin(rows)
	err := f(ctx, tx)
	for id := range tx.Seen {
		s.result.looked[indexOf(id.Kind)] = true
	}
	if err != nil {
		s.result.deliveries = deliveries{}
		return err
	}
	for id := range tx.Saved {
		m.wrote(tx.Rows[id], r.rows[indexOf(id.Kind)])
	}
	if r.code == fails {
		return errLost
	}
	return nil
}

// Save stores a row. If Breaks.EndingLost is set, it ignores a row that is not open.
func (m *model) Save(ctx context.Context, tx *memstore.Tx, row *durable.Row) error {
	if m.Breaks.EndingLost && row.Life != durable.Open {
		return nil
	}
	return m.Rows.Save(ctx, tx, row)
}

func (m *model) Read(ctx context.Context, _ durable.ID) (*durable.Row, error) {
	r := m.nextReply(ctx, operation{opKind: reads})
	if m.script.result.looked[booking] = true; r.rows[booking] == 0 {
		return nil, nil
	}
	row := m.row(r, booking)
	return &row, nil
}

// List does nothing, because no call of the model lists rows.
func (m *model) List(context.Context, durable.Row, bool, int) ([]durable.Row, error) {
	return nil, nil
}

// Due returns the row that a call of Run works on. If the call is runMany, Due also returns a row of another
// reference. When Run calls Due again, the replay ends.
func (m *model) Due(ctx context.Context, look durable.DueLook) ([]durable.Row, error) {
	s := m.script
	k, many, _ := s.call.runs()
	if s.claimed == 0 && indexOf(look.Kind) != k {
		return nil, nil
	}
	if s.claimed > 0 {
		s.stop(operation{})
	}
	r := m.nextReply(ctx, operation{opKind: claims})
	s.claimed = 1
	s.result.looked[k] = true
	rows := []durable.Row{m.row(r, k)}
	if many {
		rows = append(rows, m.another(k, look.At))
	}
	return rows, nil
}

// another returns a row of a second reference, which is due.
func (m *model) another(kind int, at time.Time) durable.Row {
	ended := at.Add(-time.Minute - 40*second)
	recovery := hotelstays.BookingRecovery{CustomerReferenceNo: another, Fingerprint: m.account,
		EndedAt: ended, Polls: 3, NextPoll: at}
	var state any = bookingFacts{Booking: durable.Booking{Recovery: recovery, BookBy: ended}, Round: 1}
	if kind == followed {
		o := orderOf(0, 1)
		o.CustomerReferenceNo = another
		text, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		seen, err := m.ring.Seal("followed order "+m.account+" "+another, text)
		if err != nil {
			panic(err)
		}
		state = map[string]any{"customerReferenceNo": another, "platformReferenceNo": o.PlatformReferenceNo,
			"fingerprint": m.account, "checkOut": o.CheckOut, "since": ended, "seen": seen}
	}
	text, err := json.Marshal(state)
	if err != nil {
		panic(err)
	}
	return durable.Row{ID: durable.ID{Account: m.account, Kind: kindOf[kind], Reference: another}, Life: durable.Open, Due: at, State: text, Version: int8(0)}
}

// Postpone sets the times at which rows are due, and returns these rows. It skips a row that has changed since the
// call read it. In a claim, no row changes between Due and Postpone.
func (m *model) Postpone(ctx context.Context, rows []durable.Row, due func(durable.Row) time.Time) (changed []durable.Row, err error) {
	s := m.script
	var r reply
	i := slices.IndexFunc(rows, func(row durable.Row) bool { return row.Reference == reference })
	switch {
	case s.claimed == 1:
		s.claimed, r = 2, s.replies[s.used-1]
	case i >= 0:
		version, _ := rows[i].Version.(int8)
		r = m.nextReply(ctx, operation{opKind: postpones, kind: indexOf(rows[i].Kind), version: version})
	}
	for _, row := range rows {
		k := indexOf(row.Kind)
		if row.Reference == reference {
			if s.result.looked[k] = true; r.rows[k] == 0 {
				continue
			}
			n := r.rows[k]
			row = m.row(r, k)
			if row.Due = due(row); m.Breaks.LeaseStays {
				row.Due = row.Due.Add(never * second)
			}
			row.Version = m.version(r.versions[k] + 1)
			m.wrote(row, n)
		} else {
			row.Due = due(row)
		}
		changed = append(changed, row)
	}
	switch {
	case r.code != fails:
		return changed, nil
	case s.used == 1: // Run finds no work, and pauses
		s.stop(operation{})
	}
	return nil, errLost
}
