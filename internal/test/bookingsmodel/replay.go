// A worker of the model is a call of the engine, and the replies that it has received from its Store and its Client. To
// find out which operation the call asks for next, the model runs the call again from its beginning. The call receives
// the replies at their times. It ends where it asks for a reply that does not exist yet.

package bookingsmodel

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing/synctest"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
)

// call is a call of the engine.
type call int32

const (
	send     call = iota + 1
	run           // looks for bookings that are due; the next two for cancellations and orders
	runMany  = run + kinds
	wakes    = runMany + kinds
	begins   = wakes + 1
	cancels  = wakes + 2
	names    = wakes + 3 // cancels an order that the request names
	abandons = wakes + 4
	retries  = wakes + 5
	unfollow = wakes + 6
)

// runs reports whether a call is a turn of Run, for which kind, and whether another row is due, too.
func (c call) runs() (kind int, many, is bool) {
	if c < run || c >= wakes {
		return 0, false, false
	}
	return int(c-run) % kinds, c >= runMany, true
}

// start calls the engine.
func (m *model) start(c call) error {
	ctx := context.Background()
	e := m.engine
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

// what is the kind of an operation that a call asks for.
type what uint8

const (
	returned what = iota // the call has returned
	claims               // rows that are due, and a lease of them
	transacts
	postpones
	reads // a read of the booking
	queries
	steps // a poll with a recovery
	books
	sendsCancel
)

type asked struct {
	what
	limit   int32 // when the ctx of the operation ends
	slot    int   // the slot of the order to cancel
	kind    int   // the kind of the row to postpone
	version int8  // the version of that row that the call knows
	err     error // the error that the call returned
}

// reply is the result of an operation. Its times are seconds from the beginning of the call.
type reply struct {
	at       int16
	code     code
	view     view
	rows     [kinds]int32 // the rows at that time that the operation looks at
	versions [kinds]int8  // 0: the version that is stored now; -1: the version before, which the call has seen
	recovery int32
}

// told holds what OnOutcome, OnCancel and OnOrder received in a transaction.
type told struct {
	outcome      durable.Ending
	cancel       durable.CancelEnding
	changed      bool // OnOrder was called
	slot         int8
	before, look look
}

// result is the result of the last reply of a history.
type result struct {
	asked
	looked [kinds]bool // the rows that the operation has looked at
	wrote  [kinds]int32
	told   told
}

// node is a history: a reply, and the history before.
type node struct {
	parent int32 // an earlier history, or the negative number of a call
	reply  reply
}

// script supplies the replies to a call.
type script struct {
	call    call
	base    time.Time // when the call began
	replies []reply
	given   int
	stopped bool
	claimed int // 1: rows are due, 2: they are leased
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

// callOf returns the call of a history, and its replies.
func (m *model) callOf(h int32) (c call, replies []reply) {
	for ; m.nodes[h].parent >= 0; h = m.nodes[h].parent {
		replies = append(replies, m.nodes[h].reply)
	}
	slices.Reverse(replies)
	return call(-m.nodes[h].parent), replies
}

// replay returns the result of the last reply of a history.
func (m *model) replay(h int32) *result {
	if m.results[h] != nil {
		return m.results[h]
	}
	c, replies := m.callOf(h)
	m.script = &script{call: c, base: time.Now(), replies: replies}
	s, ended := m.script, make(chan struct{})
	go func() {
		defer close(ended)
		err := m.start(c)
		s.result.asked = asked{err: err}
	}()
	<-ended
	synctest.Wait() // until the goroutines of Run have ended
	m.Replays++
	m.results[h] = &s.result
	return &s.result
}

// stop ends a goroutine of a call. The first goroutine that stops knows what the call asks for.
func (s *script) stop(a asked) {
	if !s.stopped {
		s.stopped, s.result.asked = true, a
	}
	runtime.Goexit()
}

// take returns the next reply, at its time, or stops the call.
func (m *model) take(ctx context.Context, a asked) reply {
	s := m.script
	if s.given == len(s.replies) || s.stopped {
		if a.limit = math.MaxInt32; ctx != nil {
			if limit, ok := ctx.Deadline(); ok {
				a.limit = int32(limit.Sub(s.base) / second)
			}
		}
		s.stop(a)
	}
	r := s.replies[s.given]
	s.given++
	s.result = result{}
	if wait := time.Until(s.base.Add(time.Duration(r.at) * second)); wait > 0 {
		time.Sleep(wait)
		synctest.Wait() // contexts have ended
	}
	return r
}

// row returns a row of a reply.
func (m *model) row(r reply, kind int) durable.Row {
	row := m.stored(r.rows[kind], m.script.base)
	row.Version = m.version(r.versions[kind])
	return row
}

func (m *model) version(version int8) any {
	if m.Breaks.SameVersion {
		version = 0
	}
	return version
}

// wrote records a row that was stored.
func (m *model) wrote(row durable.Row, before int32) {
	s := m.script
	t := s.result.told
	s.result.wrote[indexOf(row.Kind)] = m.numberOf(row, before, string([]byte{byte(t.slot), byte(t.look)}), s.base)
}

var errLost = errors.New("the database is lost")

// InTx runs a transaction at one moment. A failing reply is the failure of its commit.
func (m *model) InTx(ctx context.Context, _ bool, f func(context.Context, *memstore.Tx) error) error {
	r, s := m.take(ctx, asked{what: transacts}), m.script
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
		s.result.told = told{}
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

// Save loses an ending, if Breaks.EndingLost is set.
func (m *model) Save(ctx context.Context, tx *memstore.Tx, row *durable.Row) error {
	if m.Breaks.EndingLost && row.Life != durable.Open {
		return nil
	}
	return m.Rows.Save(ctx, tx, row)
}

// Read looks at the booking.
func (m *model) Read(ctx context.Context, _ durable.ID) (*durable.Row, error) {
	r := m.take(ctx, asked{what: reads})
	if m.script.result.looked[booking] = true; r.rows[booking] == 0 {
		return nil, nil
	}
	row := m.row(r, booking)
	return &row, nil
}

// List is never called.
func (m *model) List(context.Context, durable.ID, bool, int) ([]durable.Row, error) {
	return nil, nil
}

// Due returns the row of the script's kind, and another row if many are due. The next call of Due ends the turn.
func (m *model) Due(ctx context.Context, look durable.DueLook) ([]durable.Row, error) {
	s := m.script
	k, many, _ := s.call.runs()
	if s.claimed == 0 && indexOf(look.Kind) != k {
		return nil, nil
	}
	if s.claimed > 0 {
		s.stop(asked{})
	}
	r := m.take(ctx, asked{what: claims})
	s.claimed = 1
	s.result.looked[k] = true
	rows := []durable.Row{m.row(r, k)}
	if many {
		rows = append(rows, m.another(k, look.At))
	}
	return rows, nil
}

// another is a row that is always due, and that nobody looks at.
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

// Postpone sets when rows are due, unless they have changed. The rows of a claim have not changed.
func (m *model) Postpone(ctx context.Context, rows []durable.Row, due func(durable.Row) time.Time) (changed []durable.Row, err error) {
	s := m.script
	var r reply
	i := slices.IndexFunc(rows, func(row durable.Row) bool { return row.Reference == reference })
	switch {
	case s.claimed == 1:
		s.claimed, r = 2, s.replies[s.given-1]
	case i >= 0:
		version, _ := rows[i].Version.(int8)
		r = m.take(ctx, asked{what: postpones, kind: indexOf(rows[i].Kind), version: version})
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
	case s.given == 1: // Run finds no work, and pauses
		s.stop(asked{})
	}
	return nil, errLost
}
