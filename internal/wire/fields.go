// The fields of a struct, expected in the order in which the service writes them.

package wire

import "sync/atomic"

// Fields are the fields of a struct. It is safe for concurrent use.
//
// Names are half of an answer, and a service writes them in one order: so the name that came
// last behind a field is compared with the text before it is read.
type Fields struct {
	quoted []string                    // each with its quotes and a colon
	next   [maxFields + 2]atomic.Int32 // the field that came last behind field i-1; of 0: at the beginning
	learnt atomic.Int32
	exact  []string // see Lexer.Unknown
}

// NewFields returns the fields with these names, 64 at most. At first they are expected in that
// order.
func NewFields(names ...string) *Fields {
	f := new(Fields)
	for i, name := range names {
		f.quoted = append(f.quoted, `"`+name+`":`)
		f.next[i+1].Store(int32(i + 1))
	}
	return f
}

// Exact makes an object unreadable in which one of these names comes in another letter case.
func (f *Fields) Exact(names ...string) *Fields {
	f.exact = names
	return f
}

// Seen remembers which fields of a struct were read.
type Seen uint64

// Once fails if the field was read before: encoding/json would merge the two.
func (l *Lexer) Once(seen *Seen, field int) {
	bit := Seen(1) << field
	if *seen&bit != 0 {
		l.fail()
	}
	*seen |= bit
}

const (
	maxFields = 64   // of a struct; also the index of a field that it has not
	maxAbsent = 2    // fields in a row that may be absent, and are still passed
	maxLearnt = 1024 // then the order is one that changes: goroutines would wait for each other's writes
)

// First enters an object, passes what has no field, and returns the index of its first field. It is -1
// at the end, and for null.
//
//	var seen Seen
//	for i := l.First(f, &seen); i >= 0; i = l.Next(f, &seen, i) {
func (l *Lexer) First(f *Fields, seen *Seen) int {
	if l.pos < len(l.body) && l.body[l.pos] == '{' {
		if i := l.expect(f, -1); i >= 0 {
			l.Once(seen, i)
			return i
		}
	}
	if !l.Object() {
		return -1
	}
	return l.known(f, seen, -1)
}

// Next goes on from the value of that field to the next one.
func (l *Lexer) Next(f *Fields, seen *Seen, last int) int {
	if l.pos < len(l.body) && l.body[l.pos] == ',' {
		if i := l.expect(f, last); i >= 0 {
			l.Once(seen, i)
			return i
		}
	}
	if !l.Member() {
		return -1
	}
	return l.known(f, seen, last)
}

// known passes what has no field, from the name that was read on, and returns the field of the next name.
func (l *Lexer) known(f *Fields, seen *Seen, last int) int {
	i := l.find(f, last)
	for ; i == maxFields; i = l.find(f, maxFields) {
		if l.Unknown(f.exact...); !l.Member() {
			return -1
		}
	}
	l.Once(seen, i)
	return i
}

// expect passes a byte and the name of a field that is expected behind last, or nothing.
func (l *Lexer) expect(f *Fields, last int) int {
	text := l.body[l.pos+1:]
	for range maxAbsent + 1 {
		if last = int(f.next[last+1].Load()); last >= len(f.quoted) {
			break
		}
		if name := f.quoted[last]; len(text) >= len(name) && string(text[:len(name)]) == name {
			l.pos += 1 + len(name)
			return last
		}
	}
	return -1
}

// find returns the field of the name that was read, or 64 for none, and expects it here from now on.
func (l *Lexer) find(f *Fields, last int) int {
	next := &f.next[last+1]
	expected := int(next.Load())
	for n := range f.quoted {
		i := (expected + n) % len(f.quoted)
		if name := f.quoted[i]; name[1:len(name)-2] == string(l.name) {
			if n > 0 && f.learnt.Load() < maxLearnt {
				f.learnt.Add(1)
				next.Store(int32(i))
			}
			return i
		}
	}
	return maxFields
}
