// The steps that may follow a state: each operation of the workers' calls, with each possible result.

package bookingsmodel

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// visit yields the steps that may follow the state in its field from.
type visit struct {
	*model
	from      state
	passes    time.Duration // the time that passes in the next step
	ends      bool          // the ctx of a request ends in the next step
	lastReply reply         // the reply of the last step
	yield     func(Step, state)
}

func (m *model) next(s state, yield func(Step, state)) {
	v := &visit{model: m, from: s, yield: yield}
	for w := range s.workers {
		if w == 0 || !v.Alone {
			v.work(w)
		}
	}
	for i := range s.books {
		v.serve(i)
	}
	v.outside()
	if m.hasOpenRow(s) || !s.idle() {
		v.passTime()
	}
}

// to yields a step. The function change turns a copy of the state before the step into the state after it.
func (v *visit) to(worker int, op Op, do string, change func(s *state)) {
	s := v.from
	if worker >= 0 {
		s.workers[worker].standing = false
	}
	v.lastReply = reply{}
	change(&s)
	swap := s.skew == 0 && !v.Alone && s.workers[1].compare(s.workers[0]) < 0
	if swap { // with equal clocks, the state is the same as with swapped workers
		s.workers[0], s.workers[1] = s.workers[1], s.workers[0]
	}
	v.yield(Step{Worker: worker, Op: op, Do: do, At: v.passes, Ends: v.ends, swaps: swap, answer: v.lastReply}, s)
}

// fault is like v.to, but the step uses up one of World.Faults. If no fault is left, it yields nothing.
func (v *visit) fault(worker int, op Op, do string, change func(s *state)) {
	if v.from.faults > 0 {
		v.to(worker, op, do, func(s *state) {
			s.faults--
			change(s)
		})
	}
}

// place identifies an operation of a call by the number of replies that the call received before.
type place struct {
	call  call
	reply int
}

// stale is the key of a cache of the method stale.
type stale struct {
	history int32
	kind    int
}

// framed returns the number of the row of a kind after a change of all its times. The new times count from the beginning of
// worker w's call, by the worker's clock.
func (s *state) framed(m *model, w, kind int) int32 {
	return m.move(s.rows[kind], s.workers[w].age-s.clock(w))
}

// giveReply gives reply r to the call of worker w, with the rows that the operation reads, and returns what the call
// does next. Only a replay shows which rows the operation reads. So giveReply repeats the replay when it finds that a
// row was missing.
func (v *visit) giveReply(s *state, w int, r reply) *result {
	me := &s.workers[w]
	c, replies := v.callOf(me.history)
	at, given := place{c, len(replies)}, v.replay(me.history).opKind == postpones
	v.lastReply = r
	for r.at = me.age; ; {
		looks := v.lookedAt[at]
		for k, may := range looks {
			if may && !given {
				r.rows[k] = s.framed(v.model, w, k)
			}
		}
		res, missed := v.replay(v.history(node{me.history, r})), false
		for k := range looks {
			missed = missed || res.looked[k] && !looks[k]
			looks[k] = looks[k] || res.looked[k]
		}
		if v.lookedAt[at] = looks; missed && !given {
			continue
		}
		for k := range r.rows {
			if !res.looked[k] {
				r.rows[k] = 0
			}
		}
		*me = worker{history: v.history(node{me.history, r}), age: me.age}
		v.results[me.history] = res
		return res
	}
}

// endReturned frees worker w if its call has returned.
func (v *visit) endReturned(s *state, w int) {
	if me := &s.workers[w]; v.replay(me.history).opKind == returned {
		*me = worker{}
	}
}

// answer gives a reply to the call of worker w, without storing a row.
func (v *visit) answer(s *state, w int, r reply) {
	v.giveReply(s, w, r)
	v.endReturned(s, w)
}

// commit stores the rows that the last operation of worker w has written, and records what the caller receives. The
// parameter age is the age of the worker's call in seconds.
func (v *visit) commit(s *state, w int, age int16, res *result) {
	for k, n := range res.wrote {
		if n == 0 {
			continue
		}
		s.rows[k] = v.move(n, s.clock(w)-age)
		for i := range s.workers {
			s.workers[i].history = v.stale(s.workers[i].history, k)
		}
	}
	v.deliver(s, res.deliveries)
}

// stale returns the history that replaces history h after a step has changed the row of a kind. In the new history, each
// version of this row that the call has read is one version older.
func (v *visit) stale(h int32, kind int) int32 {
	to, known := v.stales[stale{h, kind}]
	if known || h == 0 {
		return to
	}
	c, replies := v.callOf(h)
	latest := func(r reply) bool { return r.rows[kind] != 0 && r.versions[kind] == 0 }
	if to = h; slices.ContainsFunc(replies, latest) || v.leased(c, replies, kind) {
		to = v.history(node{parent: -int32(c)})
		for _, r := range replies {
			if r.rows[kind] != 0 {
				r.versions[kind]--
			}
			to = v.history(node{to, r})
		}
		if v.results[to] == nil {
			res := *v.replay(h)
			if res.opKind == postpones && res.kind == kind {
				res.version--
			}
			v.results[to] = &res
		}
	}
	v.stales[stale{h, kind}] = to
	return to
}

// leased reports whether the stored version of the row was written by the lease of this call.
func (v *visit) leased(c call, replies []reply, kind int) bool {
	k, _, is := c.runs()
	return is && k == kind && len(replies) > 0 && replies[0].versions[kind] == -1
}

func (v *visit) deliver(s *state, t deliveries) {
	switch {
	case t.outcome != "":
		s.delivered, s.ending = s.delivered+1, t.outcome
		if t.outcome == durable.EndingFound {
			s.foundSlot, s.seen = t.slot, t.revision
		}
	case t.cancel != "":
		s.cancelDeliveries, s.cancelDone = s.cancelDeliveries+1, t.cancel == durable.CancelDone
	case t.changed:
		if t.slot != s.foundSlot || t.revision <= s.seen || t.before != 0 && t.before != s.seen {
			s.broken = WrongChange
		}
		s.seen = t.revision
	}
}

// runToEnd makes call c with all its operations. Nothing else happens between the operations.
func (v *visit) runToEnd(s *state, c call, w int) error {
	at := *s
	at.workers[w] = worker{history: v.history(node{parent: -int32(c)})}
	res := v.replay(at.workers[w].history)
	for res.opKind != returned {
		res = v.giveReply(&at, w, reply{})
		v.commit(&at, w, 0, res)
	}
	s.rows, s.cancelDeliveries, s.cancelDone = at.rows, at.cancelDeliveries, at.cancelDone
	for i := range s.workers {
		if i != w {
			s.workers[i] = at.workers[i]
		}
	}
	for k := range s.rows {
		if s.rows[k] != v.from.rows[k] {
			s.workers[w].history = v.stale(s.workers[w].history, k)
		}
	}
	return res.err
}

// endCall ends the call of worker w, because the worker dies.
func (v *visit) endCall(s *state, w int) {
	if me := s.workers[w]; me.activity == awaiting {
		v.loseAnswer(s, me)
	}
	s.workers[w] = worker{}
}

// loseAnswer is called when the answer to a worker's request is lost. The effect of the request then appears within
// ShowsWithin from now.
func (v *visit) loseAnswer(s *state, me worker) {
	switch {
	case v.replay(me.history).opKind == sendsCancel:
		s.cancelBy = min(s.cancelBy, v.within())
	case me.slot < foreign:
		s.books[me.slot].by = min(s.books[me.slot].by, v.within())
	}
}

func (m *model) within() int16 { return int16(m.ShowsWithin / second) }

// work yields the possible next steps of worker w.
func (v *visit) work(w int) {
	me := v.from.workers[w]
	if me.history == 0 {
		v.begin(w)
		return // the worker has no call that could be interrupted
	}
	res := v.replay(me.history)
	switch {
	case me.activity == uncommitted:
		v.to(w, Transaction, "commits", func(s *state) {
			s.workers[w].activity = asking
			v.commit(s, w, me.age, res)
			v.endReturned(s, w)
		})
	case me.activity == recovering:
		v.recover(w)
	case res.opKind == books:
		v.book(w)
	case res.opKind == sendsCancel:
		v.cancel(w, res.slot)
	case res.opKind == reads:
		v.to(w, Read, "reads the booking", func(s *state) { v.answer(s, w, reply{}) })
	case res.opKind == steps, res.opKind == queries:
		v.read(w, "reads the order", func(s *state, r reply) { v.answer(s, w, r) })
	default:
		v.write(w, res)
	}
	v.fault(w, "", "dies", func(s *state) { v.endCall(s, w) })
}

// begin yields the calls that worker w, which has no call, may begin: Send, or Run for a due row.
func (v *visit) begin(w int) {
	s, now := v.from, v.from.clock(w)
	b := v.facts[s.rows[booking]].booking
	if !s.called && b.Ending == "" && b.Phase(timeOf(now)) == durable.PhaseWaiting {
		v.to(w, "", "is called to send", func(s *state) {
			s.called = true
			s.workers[w] = worker{history: v.history(node{parent: -int32(send)})}
		})
	}
	for k, n := range s.rows {
		if n == 0 || v.rows[n].life != durable.Open || v.rows[n].due > int32(now) || v.Breaks.NobodySends && v.rows[n].sealed {
			continue
		}
		for _, c := range []call{run, runMany}[:1+count(v.Many && k != cancel)] {
			me := worker{history: v.history(node{parent: -int32(c) - int32(k)})}
			what := "leases the " + string(kindOf[k])
			if c == runMany {
				what += ", with another row"
			}
			v.perform(w, Claim, what, me, reply{})
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// write yields the possible results of the transaction or Postpone that the call of worker w asks for.
func (v *visit) write(w int, res *result) {
	r, op, do := reply{}, Transaction, ""
	if res.opKind == postpones {
		if op, do = Postpone, "finds the row changed"; res.version == 0 || v.Breaks.SameVersion {
			r.rows[res.kind], do = v.from.framed(v.model, w, res.kind), "sets when the "+string(kindOf[res.kind])+" is due"
		}
	}
	v.perform(w, op, do, v.from.workers[w], r)
}

// perform yields a step in which a call writes rows, and the two failures of the write: the rows are not stored, or
// they are stored although the call receives an error.
func (v *visit) perform(w int, op Op, do string, me worker, r reply) {
	s := v.from
	s.workers[w] = me
	res := v.giveReply(&s, w, r)
	if do == "" {
		do = v.describe(&s, w, res)
	}
	failed := r
	failed.code = fails
	given := func(r reply, commits, delivers bool) func(s *state) {
		return func(s *state) {
			s.workers[w] = me
			v.answer(s, w, r)
			if commits {
				v.commit(s, w, me.age, res)
			} else if delivers {
				v.deliver(s, res.deliveries)
			}
		}
	}
	wrote := res.wrote != [kinds]int32{}
	if v.Breaks.NoLock && op == Transaction && wrote {
		v.to(w, op, do+", and commits later", func(s *state) {
			s.workers[w] = me
			v.giveReply(s, w, r)
			s.workers[w].activity = uncommitted
		})
	} else {
		v.to(w, op, do, given(r, true, false))
	}
	if !wrote {
		return
	}
	if op != Claim { // if a Claim fails, the state stays the same
		v.fault(w, op, do+ButFails, given(failed, false, v.Breaks.DeliverApart))
	}
	v.fault(w, op, do+ButApplied, given(failed, true, false))
	if v.Breaks.CommitLost && op == Transaction {
		v.fault(w, op, do+", which a crash of the database undoes", given(r, false, false))
	}
}

// describe returns the text of a step in which worker w stores rows.
func (v *visit) describe(s *state, w int, res *result) (text string) {
	for k, n := range res.wrote {
		if n != 0 {
			text += ", the " + string(kindOf[k]) + " is " + v.word(v.move(n, s.clock(w)-s.workers[w].age), s.clock(w))
		}
	}
	switch {
	case text == "":
		return "finds nothing to store"
	case res.deliveries != deliveries{}:
		text += ", and the caller receives that"
	}
	return "stores: " + text[2:]
}

// word returns the phase or the ending of row number n, such as "polling".
func (m *model) word(n int32, now int16) string {
	f, life := m.facts[n], m.rows[n].life
	switch m.rows[n].kind {
	case booking:
		return cmp.Or(string(f.booking.Ending), string(f.booking.Phase(timeOf(now))))
	case cancel:
		switch c := f.cancel; {
		case c.Ending != "":
			return string(c.Ending)
		case c.SendBy.IsZero():
			return "waiting"
		case timeOf(now).Before(c.SendBy):
			return "sending"
		}
		return "polling"
	}
	if life == durable.Open {
		return "followed"
	}
	return "settled"
}
