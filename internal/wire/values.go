// What the generated code calls for each value, and the interning of strings.

package wire

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
)

// maxUnknownDepth is how deep a value may nest that is not read field by field.
const maxUnknownDepth = 500

// Unknown passes the value of a member without a field. It fails if the name differs in
// letter case alone from one of these.
func (l *Lexer) Unknown(exact ...string) {
	for _, name := range exact {
		if strings.EqualFold(name, string(l.name)) {
			l.fail()
			return
		}
	}
	l.skip(maxDepth - maxUnknownDepth)
}

// Bool reads a boolean; null is false.
func (l *Lexer) Bool() bool {
	switch l.peek() {
	case 't':
		l.literal("true")
		return !l.failed
	case 'n':
		l.literal("null")
	default:
		l.literal("false")
	}
	return false
}

// Number reads a number as it is written; null is empty. It fails at a number in quotes.
func (l *Lexer) Number() string {
	if l.null() {
		return ""
	}
	return l.internString(l.number())
}

// Int64 reads an integer; null is 0. It fails at one that is written with a fraction or an
// exponent, or is out of range.
func (l *Lexer) Int64() int64 { return l.integer(64) }

// Int reads an integer as Int64 does.
func (l *Lexer) Int() int { return int(l.integer(strconv.IntSize)) }

func (l *Lexer) integer(bits int) int64 {
	if l.null() {
		return 0
	}
	n, ok := parseInt(l.number(), bits)
	if !ok {
		l.fail()
	}
	return n
}

// Float64 reads a number; null is 0.
func (l *Lexer) Float64() float64 {
	if l.null() {
		return 0
	}
	f, ok := parseFloat(l.number())
	if !ok {
		l.fail()
	}
	return f
}

// String reads a string; null is empty.
func (l *Lexer) String() string {
	if l.peek() == '"' { // at once, because most values are plain text
		begin := l.pos + 1
		if end := skipPlain(l.body, begin); end < len(l.body) && l.body[end] == '"' {
			l.pos = end + 1
			return l.internString(l.body[begin:end])
		}
	}
	if l.null() {
		return ""
	}
	return l.internString(l.text())
}

// Secret reads a string that is never interned; null is empty.
func (l *Lexer) Secret() string {
	if l.null() {
		return ""
	}
	return l.copyString(l.text())
}

// charge takes memory from the budget, and reports whether there was enough.
func (l *Lexer) charge(size int) bool {
	if l.budget -= size; l.budget < 0 {
		l.fail()
	}
	return !l.failed
}

// Raw reads a value of any type as it is written, null too.
func (l *Lexer) Raw() []byte {
	l.peek()
	begin := l.pos
	l.skip(maxDepth - maxUnknownDepth)
	if l.failed {
		return nil
	}
	return bytes.Clone(l.body[begin:l.pos])
}

// Pointer reads what a pointer points at; null is nil.
func Pointer[T any](l *Lexer, read func(*Lexer, *T)) *T {
	if l.null() || !l.charge(sizeOf[T]()) {
		return nil
	}
	v := new(T)
	read(l, v)
	return v
}

// Map reads an object whose values are all of one type; null is nil. It fails at a key
// that appears twice.
func Map[T any](l *Lexer, read func(*Lexer, *T)) map[string]T {
	if l.null() {
		return nil
	}
	m := map[string]T{}
	for more := l.Object(); more; more = l.Member() {
		l.poll()
		key := l.internString(l.name)
		if _, twice := m[key]; twice || !l.charge(mapEntrySize(sizeOf[T]())) {
			l.fail()
			return nil
		}
		var v T
		read(l, &v)
		m[key] = v
	}
	return m
}

// List reads arrays of one type. It is safe for concurrent use.
//
// The length of an array is known only at its end: elements are read into a buffer, which
// is pooled, and then copied into a slice of their exact number. What does not fit into
// the buffer is counted first, and then read in place.
type List[T any] struct{ buffers sync.Pool }

// maxBuffered is how many elements a pooled buffer holds.
const maxBuffered = 4096

// Read reads an array; null is nil. It fails at an element that is null, which is not the
// same in each list.
func (list *List[T]) Read(l *Lexer, read func(*Lexer, *T)) []T {
	if l.null() {
		return nil
	}
	more := l.array()
	if !more {
		return []T{}
	}
	pooled, _ := list.buffers.Get().(*[]T)
	if pooled == nil {
		pooled = new([]T)
	}
	buffer := (*pooled)[:0]
	for ; more && len(buffer) < maxBuffered; more = l.element() {
		if l.peek() == 'n' {
			l.fail()
		}
		var empty T
		buffer = append(buffer, empty)
		read(l, &buffer[len(buffer)-1])
	}
	length := len(buffer)
	if more {
		length += l.countElements()
	}
	var exact []T
	if l.charge(length * sizeOf[T]()) {
		exact = make([]T, length)
		for i := copy(exact, buffer); more; more = l.element() {
			if l.peek() == 'n' {
				l.fail()
			}
			read(l, &exact[i])
			i++
		}
	}
	if cap(buffer) <= maxBuffered {
		clear(buffer) // the pool keeps nothing alive
		*pooled = buffer
		list.buffers.Put(pooled)
	}
	return exact
}

// countElements returns how many elements an array has from here on. It reads none.
func (l *Lexer) countElements() (n int) {
	begin := l.pos
	for more := true; more; more = l.element() {
		l.skip(maxDepth - maxUnknownDepth)
		n++
	}
	l.rewind(begin)
	return n
}

const (
	maxInterned  = 64   // the longest string that is interned, in bytes
	internedSize = 2048 // strings in the table, a power of two
)

// internTable holds recent strings, each in the slot of its hash, until another one takes
// the slot.
type internTable [internedSize]string

var internTables = sync.Pool{New: func() any { return new(internTable) }}

var seed = maphash.MakeSeed()

// internStrings turns interning on or off: a short string that repeats is allocated once,
// also across bodies. Nothing that is secret or personal may be interned.
func (l *Lexer) internStrings(on bool) {
	switch {
	case on && l.interned == nil:
		l.interned = internTables.Get().(*internTable)
	case !on && l.interned != nil:
		internTables.Put(l.interned)
		l.interned = nil
	}
}

// internString makes a string of bytes that will not last.
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
