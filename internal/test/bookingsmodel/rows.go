// Rows and their times. Each different row has a number. Its times count from epoch, which stands for now or for the
// beginning of a call. So two states that differ only in the date are equal.

package bookingsmodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// The kinds of rows, as indices.
const (
	booking = iota
	cancel
	followed
	kinds
)

var kindOf = [kinds]durable.Kind{durable.KindBooking, durable.KindCancel, durable.KindOrder}

func indexOf(kind durable.Kind) int { return slices.Index(kindOf[:], kind) }

// row is a row of the Store. In a state epoch is now, and in a reply epoch is the beginning of the call. The row number 0
// means that there is no row.
type row struct {
	kind   int
	life   durable.Life
	due    int32  // seconds after epoch
	text   string // the State
	sealed bool
	seen   uint8 // how many times the engine has replaced the order that the caller received last
}

// facts are the decoded fields of a row that the model needs. Their times are relative to epoch.
type facts struct {
	booking bookingFacts
	cancel  cancellation
}

// bookingFacts are the fields of a stored booking that the model needs.
type bookingFacts struct {
	durable.Booking
	Round   int            `json:"round,omitempty"`
	Earlier time.Time      `json:"earlier,omitzero"`
	Ending  durable.Ending `json:"ending,omitempty"`
}

// cancellation has the fields of a stored cancellation that the model needs.
type cancellation struct {
	PlatformReferenceNo string
	Round               int
	Begun, SendBy       time.Time
	Ending              durable.CancelEnding
}

// table numbers the different rows, so that a state contains only the numbers of its rows.
type table struct {
	account string
	rows    []row
	facts   []facts
	numbers map[row]int32
	moved   map[moved]int32
	seen    map[string]string // maps a received order and row.seen to the text of the field "seen" of the row
	sealed  []byte            // the sealed request, which is the same for all bookings
}

// moved is the key of a cache of the method move: the number of a row, and the seconds to add to its times.
type moved struct {
	row int32
	by  int16
}

func newTable(account string) table {
	return table{account: account, rows: make([]row, 1), facts: make([]facts, 1), numbers: map[row]int32{}, moved: map[moved]int32{}, seen: map[string]string{}}
}

var (
	epoch     = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	seenText  = regexp.MustCompile(`"seen":"[^"]*"`)
	forPeople = regexp.MustCompile(`,"(begun|problem)":"[^"]*"`) // fields of a booking that only people read, and the engine does not
)

func (t *table) number(r row) int32 {
	n, known := t.numbers[r]
	if !known {
		n = int32(len(t.rows))
		t.numbers[r] = n
		t.rows = append(t.rows, r)
		f := facts{}
		var err error
		switch r.kind {
		case booking:
			err = json.Unmarshal([]byte(r.text), &f.booking)
			f.booking.Due = epoch.Add(time.Duration(r.due) * second)
		case cancel:
			err = json.Unmarshal([]byte(r.text), &f.cancel)
		}
		if err != nil {
			panic(err)
		}
		t.facts = append(t.facts, f)
	}
	return n
}

// shifted adds seconds to each time in the JSON text.
func shifted(text string, by int16) string {
	parts := strings.Split(text, `"`)
	for i, part := range parts {
		if len(part) < len("2000-01-01T00:00:00Z") || part[10] != 'T' {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, part); err == nil {
			if at.Nanosecond() != 0 {
				panic("a time is not a whole second: " + part)
			}
			parts[i] = at.Add(time.Duration(by) * second).Format(time.RFC3339)
		}
	}
	return strings.Join(parts, `"`)
}

// stored returns row number n as the Store returns it.
func (t *table) stored(n int32) durable.Row {
	r := t.rows[n]
	stored := durable.Row{ID: durable.ID{Account: t.account, Kind: kindOf[r.kind], Reference: reference}, Life: r.life,
		Due: epoch.Add(time.Duration(r.due) * second), State: []byte(r.text)}
	if r.sealed {
		stored.Sealed = t.sealed
	}
	return stored
}

// numberOf returns the number of a row that the engine has stored. The parameter before is the number of the replaced row.
// The parameter received identifies the order that the caller received in the same transaction.
func (t *table) numberOf(stored durable.Row, before int32, received string) int32 {
	r := row{kind: indexOf(stored.Kind), life: stored.Life, due: int32(stored.Due.Sub(epoch) / second), sealed: stored.Sealed != nil}
	r.text, r.seen = string(stored.State), t.rows[before].seen
	if r.kind == booking {
		r.text = forPeople.ReplaceAllLiteralString(r.text, "")
	}
	if r.sealed && t.sealed == nil {
		t.sealed = stored.Sealed
	}
	if seen := seenText.FindString(r.text); r.kind == followed && seen != "" && seen != seenText.FindString(t.rows[before].text) {
		r.seen++ // encryptions of one order differ; each row gets the first of them, so that equal rows get equal numbers
		what := fmt.Sprint(received, r.seen)
		if _, known := t.seen[what]; !known {
			t.seen[what] = seen
		}
		r.text = seenText.ReplaceAllLiteralString(r.text, t.seen[what])
	}
	return t.number(r)
}

// move adds seconds to all times of row number n, and returns the number of the resulting row.
func (t *table) move(n int32, by int16) int32 {
	if n == 0 || by == 0 {
		return n
	}
	to, known := t.moved[moved{n, by}]
	if !known {
		r := t.rows[n]
		r.due += int32(by)
		r.text = shifted(r.text, by)
		to = t.number(r)
		t.moved[moved{n, by}] = to
	}
	return to
}

// recovery returns the recovery that row number n contains.
func (t *table) recovery(n int32) *hotelstays.BookingRecovery {
	recovery := t.facts[n].booking.Recovery
	return &recovery
}

func (t *table) numberOfRecovery(r *hotelstays.BookingRecovery) int32 {
	text, err := json.Marshal(durable.Booking{Recovery: *r})
	if err != nil {
		panic(err)
	}
	return t.number(row{text: string(text)})
}

func timeOf(clock int16) time.Time { return epoch.Add(time.Duration(clock) * second) }
func clockOf(t time.Time) int16    { return int16(t.Sub(epoch) / second) }
