// The event log: what happened, in order, within limits of number and of memory.

package hotelstaystest

import (
	"cmp"
	"container/list"
	"math"
	"slices"
	"time"
)

// Entry is the state of a request, an order or a webhook after a change, or another change:
// one of the four is set. A later entry about the same one replaces it in the ledger.
type Entry struct {
	Seq     int64 // counted from 1
	At      time.Time
	Request *Request
	Order   *Order
	Webhook *Webhook
	Change  Change
}

// Change is a change that is not of one request, order or webhook.
type Change string

// The changes.
const (
	ChangeReset  Change = "reset"  // [Server.Reset]
	ChangeClock  Change = "clock"  // [Server.Advance]
	ChangeFaults Change = "faults" // a fault was injected, acted or was removed
)

const (
	requestEntry = iota
	orderEntry
	webhookEntry
	changeEntry
	entryKinds
)

func (e *Entry) kind() int {
	switch {
	case e.Request != nil:
		return requestEntry
	case e.Order != nil:
		return orderEntry
	case e.Webhook != nil:
		return webhookEntry
	}
	return changeEntry
}

// size estimates the entry's memory in bytes.
func (e *Entry) size() int {
	n := 600
	switch e.kind() {
	case requestEntry:
		n += len(e.Request.Method) + len(e.Request.Path) + len(e.Request.Msg)
		n += e.Request.bodies.size()
		for name, values := range e.Request.Header {
			n += 48 + len(name)
			for _, v := range values {
				n += len(v)
			}
		}
	case orderEntry:
		n += len(e.Order.CustomerReferenceNo) + len(e.Order.RatePkgID) + len(e.Order.CallbackURL) + 32*len(e.Order.History)
	case webhookEntry:
		n += len(e.Webhook.CustomerReferenceNo) + len(e.Webhook.URL) + len(e.Webhook.Body)
		for _, a := range e.Webhook.Attempts {
			n += 256 + len(a.Error)
		}
	}
	return n
}

func (e Entry) clone() Entry {
	switch e.kind() {
	case requestEntry:
		r := *e.Request
		r.Header = r.Header.Clone()
		e.Request = &r
	case orderEntry:
		o := *e.Order
		o.History = slices.Clone(o.History)
		e.Order = &o
	case webhookEntry:
		w := *e.Webhook
		w.Body, w.Attempts = slices.Clone(w.Body), slices.Clone(w.Attempts)
		e.Webhook = &w
	}
	return e
}

// record is a request, an order or a webhook. The log has its last entry only.
type record struct {
	first int64 // Seq of its first entry
	era   int   // eventLog.era of its first entry
	last  Entry
	size  int
	place *list.Element // nil: dropped
}

const (
	minLogBytes   = 1 << 20
	bytesPerLimit = 4 << 10 // a typical request, order and webhook together need less
)

// eventLog is guarded by Ledger.mu. What its entries point to never changes.
type eventLog struct {
	limit, maxBytes int // of each kind; of all
	seq             int64
	bytes           int
	dropped         int
	era             int                   // resets so far
	lists           [entryKinds]list.List // of *record, by Seq of the last entry
	changes         map[Change]*record
	news            chan struct{} // closed at the next entry; nil: nobody waits
}

func newEventLog(limit int) eventLog {
	return eventLog{limit: limit, changes: map[Change]*record{}, maxBytes: max(minLogBytes, min(limit,
		math.MaxInt/bytesPerLimit)*bytesPerLimit)}
}

// put adds an entry, which replaces the record's last one, and drops the oldest ones above
// the limits. It ignores a record from before the last reset.
func (l *eventLog) put(r *record, e Entry) {
	if r.first == 0 {
		r.first, r.era = l.seq+1, l.era
	}
	if r.era != l.era {
		return
	}
	l.seq++
	e.Seq = l.seq
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
	in := &l.lists[e.kind()]
	if r.place == nil {
		r.place = in.PushBack(r)
	} else {
		l.bytes -= r.size
		in.MoveToBack(r.place)
	}
	r.last, r.size = e, e.size()
	l.bytes += r.size
	if in.Len() > l.limit {
		l.drop(in)
	}
	for l.bytes > l.maxBytes {
		l.drop(l.oldest())
	}
}

// reset drops everything. Sequence numbers go on, so that readers can.
func (l *eventLog) reset() {
	*l = eventLog{limit: l.limit, maxBytes: l.maxBytes, seq: l.seq, era: l.era + 1, changes: map[Change]*record{}, news: l.news}
}

func (l *eventLog) note(c Change, at time.Time) {
	if l.changes[c] == nil {
		l.changes[c] = new(record)
	}
	l.put(l.changes[c], Entry{At: at, Change: c})
}

// oldest returns the list with the oldest entry. The log is not empty.
func (l *eventLog) oldest() *list.List {
	var oldest *list.List
	seq := int64(math.MaxInt64)
	for i := range l.lists {
		if in := &l.lists[i]; in.Len() > 0 {
			if r := in.Front().Value.(*record); r.last.Seq < seq {
				oldest, seq = in, r.last.Seq
			}
		}
	}
	return oldest
}

func (l *eventLog) drop(in *list.List) {
	r := in.Remove(in.Front()).(*record)
	r.place = nil
	l.bytes -= r.size
	l.dropped++
}

// records returns those of a kind in order of their first entries.
func (l *eventLog) records(kind int) []*record {
	var out []*record
	for e := l.lists[kind].Front(); e != nil; e = e.Next() {
		out = append(out, e.Value.(*record))
	}
	slices.SortFunc(out, func(a, b *record) int { return cmp.Compare(a.first, b.first) })
	return out
}

// after returns the first entries after a sequence number, oldest first.
func (l *eventLog) after(seq int64, limit int) []Entry {
	last := func(e *list.Element) Entry { return e.Value.(*record).last }
	var next [entryKinds]*list.Element
	for i := range l.lists {
		for e := l.lists[i].Back(); e != nil && last(e).Seq > seq; e = e.Prev() {
			next[i] = e
		}
	}
	var out []Entry
	for len(out) < limit {
		first := -1
		for i, e := range next {
			if e != nil && (first < 0 || last(e).Seq < last(next[first]).Seq) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		out = append(out, last(next[first]))
		next[first] = next[first].Next()
	}
	return out
}
