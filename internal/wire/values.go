// Functions that the generated code calls for each value, and the interning of strings.

package wire

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"sync"

	"github.com/hotelstays/hotelstays-go/types"
)

// Bool reads a boolean. For null, Bool returns false.
func (l *Lexer) Bool() bool {
	switch l.peek() {
	case 't':
		l.literal("true")
		return !l.failed
	case 'f':
		l.literal("false")
	case 'n':
		l.literal("null")
	default:
		l.mismatch("boolean")
	}
	return false
}

// Number reads a number, or a string with a number, and returns its text unchanged. For null, Number returns an empty
// text.
func (l *Lexer) Number() string {
	if l.peek() != '"' {
		return l.internString(l.numeral("number"))
	}
	begin := l.pos
	text := l.text()
	if l.failed {
		return ""
	}
	if l.pos-begin > maxFloat || !isNumber(text) {
		l.unfit("number", "string")
		return ""
	}
	return l.internString(text)
}

// numeral reads a number, and returns its text unchanged. For null and for other types, numeral returns nil.
func (l *Lexer) numeral(want string) []byte {
	switch l.peek() {
	case '"', '{', '[', 't', 'f':
		l.mismatch(want)
	case 'n':
		l.literal("null")
	default:
		return l.number()
	}
	return nil
}

// Int64 reads an integer. For null, Int64 returns 0. The integer may have a fraction or an exponent, such as 2.0.
func (l *Lexer) Int64() int64 { return l.integer(64) }

// Int reads an integer as Int64 does.
func (l *Lexer) Int() int { return int(l.integer(strconv.IntSize)) }

func (l *Lexer) integer(bits int) int64 {
	text := l.numeral("integer")
	if text == nil {
		return 0
	}
	n, ok := parseWhole(text, bits)
	if !ok {
		l.unfit("integer", "number")
	}
	return n
}

// OrderStatus reads the status of an order. A status of another type becomes types.OrderStatusUnreadable, and not 0, because
// 0 is the status Unknown.
func (l *Lexer) OrderStatus() types.OrderStatus {
	status := types.OrderStatus(l.Int())
	if l.mismatched {
		return types.OrderStatusUnreadable
	}
	return status
}

// Float64 reads a number. For null, Float64 returns 0. A number of more than 1 KiB is a mismatch, because its parsing
// would take too long.
func (l *Lexer) Float64() float64 {
	text := l.numeral("number")
	if text == nil {
		return 0
	}
	if len(text) <= maxFloat {
		if f, err := strconv.ParseFloat(string(text), 64); err == nil {
			return f
		}
	}
	l.unfit("number", "number")
	return 0
}

// String reads a string. For null, String returns an empty string. For a number, String notes a mismatch and returns
// the digits.
func (l *Lexer) String() string {
	if l.peek() == '"' { // most strings have no escapes, and this path reads them faster
		begin := l.pos + 1
		if end := SkipPlain(l.body, begin); end < len(l.body) && l.body[end] == '"' {
			l.pos = end + 1
			return l.internString(l.body[begin:end])
		}
	}
	return l.internString(l.textOrDigits())
}

// Secret reads a string as String does, and never interns it.
func (l *Lexer) Secret() string { return l.copyString(l.textOrDigits()) }

func (l *Lexer) textOrDigits() []byte {
	switch l.peek() {
	case '"':
		return l.text()
	case 'n':
		l.literal("null")
		return nil
	}
	text := l.mismatch("string")
	if jsonTypeOf(text) != "number" {
		return nil
	}
	l.mismatched = false
	return text
}

// Raw reads a value of any type, also null, and returns its text unchanged.
func (l *Lexer) Raw() []byte { return bytes.Clone(l.passed()) }

// Pointer reads the value of a pointer. For null and for a mismatch, Pointer returns nil.
func Pointer[T any](l *Lexer, read func(*Lexer, *T)) *T {
	if l.null() || !l.charge(sizeOf[T]()) {
		return nil
	}
	v := new(T)
	if read(l, v); l.mismatched {
		return nil
	}
	return v
}

// Map reads an object whose values are all of one type. For null, Map returns nil. A key that occurs twice makes the
// answer unusable.
func Map[T any](l *Lexer, read func(*Lexer, *T)) map[string]T {
	if l.peek() != '{' {
		l.noObject()
		return nil
	}
	m, before := map[string]T{}, l.mark()
	l.depth++
	for more := l.object(); more; more = l.member() {
		l.poll()
		key := l.internString(l.name)
		if _, twice := m[key]; twice {
			l.reject("."+safeKey(key), "comes twice")
		}
		if !l.charge(mapEntrySize(sizeOf[T]())) {
			break
		}
		var v T
		if read(l, &v); l.events != before.events {
			l.leave(&before, safeKey(key), 0)
		}
		m[key] = v
	}
	l.depth--
	return m
}

const (
	maxInterned  = 64   // maximum length of an interned string, in bytes
	internedSize = 2048 // number of strings in the table, which must be a power of two
)

// internTable holds recent strings. The hash of a string selects its slot, and a new string replaces the slot's old
// string.
type internTable [internedSize]string

var internTables = sync.Pool{New: func() any { return new(internTable) }}

var seed = maphash.MakeSeed()

// internStrings turns interning on or off. While interning is on, a short string that repeats is allocated only once,
// also across answers. Nothing that is secret or personal may be interned.
func (l *Lexer) internStrings(on bool) {
	switch {
	case on && l.interned == nil:
		l.interned = internTables.Get().(*internTable)
	case !on && l.interned != nil:
		internTables.Put(l.interned)
		l.interned = nil
	}
}

// internString is like copyString, but returns an equal string of the table if there is one.
func (l *Lexer) internString(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if l.interned == nil || len(b) > maxInterned {
		return l.copyString(b)
	}
	slot := &l.interned[maphash.Bytes(seed, b)%internedSize]
	if *slot != string(b) {
		*slot = l.copyString(b)
	}
	return *slot
}
