// The event log: what happened, in order. The number of entries and their memory are limited.

package hotelstaystest

import (
	"cmp"
	"container/list"
	"math"
	"slices"
	"strings"
	"time"
)

// Entry records a change. For a request, an order or a webhook it holds the state after the change;
// for other kinds it holds only the Kind. In the ledger, a later entry about the same request, order
// or webhook replaces an earlier entry.
type Entry struct {
	Seq     int64        `json:"seq"` // counted from 1
	At      time.Time    `json:"at"`
	Kind    EntryKind    `json:"kind"`
	Request *Request     `json:"request,omitempty"`
	Order   *LedgerOrder `json:"order,omitempty"`
	Webhook *Webhook     `json:"webhook,omitempty"`
}

// EntryKind is the kind of an [Entry].
type EntryKind string

// The kinds of entry.
const (
	EntryRequest EntryKind = "request"
	EntryOrder   EntryKind = "order"
	EntryWebhook EntryKind = "webhook"
	EntryReset   EntryKind = "reset"  // [Server.Reset]
	EntryClock   EntryKind = "clock"  // [Server.Advance]
	EntryFaults  EntryKind = "faults" // a fault was injected, used or removed
)

// size estimates the entry's memory in bytes.
func (e *Entry) size() int {
	n := 600
	switch e.Kind {
	case EntryRequest:
		n += len(e.Request.Path) + len(e.Request.Msg) + len(e.Request.Body) + len(e.Request.Answer) + 50*len(e.Request.References)
		for name, values := range e.Request.Header {
			n += 50 + len(name) + len(strings.Join(values, ""))
		}
	case EntryOrder:
		n += len(e.Order.CallbackURL) + 32*len(e.Order.History)
	case EntryWebhook:
		n += len(e.Webhook.URL) + len(e.Webhook.Body) + 300*len(e.Webhook.Attempts)
	}
	return n
}

func (e Entry) clone() Entry {
	switch e.Kind {
	case EntryRequest:
		r := *e.Request
		r.Header, r.References = r.Header.Clone(), slices.Clone(r.References)
		e.Request = &r
	case EntryOrder:
		o := *e.Order
		o.History = slices.Clone(o.History)
		e.Order = &o
	case EntryWebhook:
		w := *e.Webhook
		w.Body, w.Attempts = slices.Clone(w.Body), slices.Clone(w.Attempts)
		e.Webhook = &w
	}
	return e
}

// record belongs to one request, order or webhook, or to one kind of change, such as EntryClock. It holds the last entry
// about the request, order, webhook or kind. The log keeps no earlier entries.
type record struct {
	first int64 // Seq of the record's first entry
	era   int   // value of eventLog.era when the record got its first entry
	last  Entry
	size  int
	place *list.Element // nil: the log has dropped the record
}

const (
	minLogBytes   = 1 << 20
	bytesPerLimit = 4 << 10 // memory in bytes for each record that LedgerLimit allows; a typical record needs less
)

// eventLog holds the entries of the ledger. Ledger.mu guards it. Readers may still use an entry after they have
// released Ledger.mu, so change a clone of the entry, never the entry or a value to which it points.
type eventLog struct {
	limit, maxBytes int // maximum number of records, and maximum size of all records together in bytes
	seq             int64
	bytes           int
	dropped         int
	era             int       // number of resets so far
	records         list.List // *record values, sorted by Seq of the last entry
	changes         map[EntryKind]*record
	news            chan struct{} // closed at the next entry; nil if nobody waits
}

func newEventLog(limit int) eventLog {
	return eventLog{limit: limit, changes: map[EntryKind]*record{}, maxBytes: max(minLogBytes, min(limit,
		math.MaxInt/bytesPerLimit)*bytesPerLimit)}
}

// put replaces the record's last entry by e. Then it drops the oldest records until the log is within
// its limits. It ignores a record from before the last reset.
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
	if r.place == nil {
		r.place = l.records.PushBack(r)
	} else {
		l.bytes -= r.size
		l.records.MoveToBack(r.place)
	}
	r.last, r.size = e, e.size()
	l.bytes += r.size
	for l.records.Len() > l.limit || l.bytes > l.maxBytes {
		oldest := l.records.Remove(l.records.Front()).(*record)
		oldest.place = nil
		l.bytes -= oldest.size
		l.dropped++
	}
}

// reset drops all records. It does not reset the sequence numbers, so that a program that follows the log can
// continue.
func (l *eventLog) reset() {
	*l = eventLog{limit: l.limit, maxBytes: l.maxBytes, seq: l.seq, era: l.era + 1, changes: map[EntryKind]*record{}, news: l.news}
}

// note adds an entry that consists only of a kind, such as EntryClock.
func (l *eventLog) note(kind EntryKind, at time.Time) {
	if l.changes[kind] == nil {
		l.changes[kind] = new(record)
	}
	l.put(l.changes[kind], Entry{At: at, Kind: kind})
}

// of returns the records of a kind, sorted by their first entries.
func (l *eventLog) of(kind EntryKind) []*record {
	var out []*record
	for e := l.records.Front(); e != nil; e = e.Next() {
		if r := e.Value.(*record); r.last.Kind == kind {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *record) int { return cmp.Compare(a.first, b.first) })
	return out
}

// after returns the entries that follow a sequence number, oldest first, and at most limit entries.
func (l *eventLog) after(seq int64, limit int) []Entry {
	var from *list.Element
	for e := l.records.Back(); e != nil && e.Value.(*record).last.Seq > seq; e = e.Prev() {
		from = e
	}
	var out []Entry
	for ; from != nil && len(out) < limit; from = from.Next() {
		out = append(out, from.Value.(*record).last)
	}
	return out
}
