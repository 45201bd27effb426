// The fields of a struct, expected in the order in which the service writes them.

package wire

import "sync/atomic"

// Field is a field of a struct.
type Field[T any] struct {
	Name string
	// Exact makes an object unreadable in which the name comes in another letter case.
	Exact bool
	Read  func(l *Lexer, v *T)
}

// Struct returns a function that reads an object into a struct with these fields, 64 at most.
// A null leaves the struct as it is. It is safe for concurrent use.
func Struct[T any](fields []Field[T]) func(l *Lexer, v *T) {
	names := new(fieldNames)
	for _, f := range fields {
		names.add(f.Name, f.Exact)
	}
	return func(l *Lexer, v *T) {
		var seen Seen
		for i := l.first(names, &seen); i >= 0; i = l.next(names, &seen, i) {
			fields[i].Read(l, v)
		}
	}
}

// fieldNames are the names of a struct's fields. At first they are expected in that order.
//
// Names are half of an answer, and a service writes them in one order: so the name that came
// last behind a field is compared with the text before it is read.
type fieldNames struct {
	quoted []string                    // each with its quotes and a colon
	next   [maxFields + 2]atomic.Int32 // the field that came last behind field i-1; of 0: at the beginning
	learnt atomic.Int32
	exact  []string // see Lexer.Unknown
}

func (f *fieldNames) add(name string, exact bool) {
	f.quoted = append(f.quoted, `"`+name+`":`)
	f.next[len(f.quoted)].Store(int32(len(f.quoted)))
	if exact {
		f.exact = append(f.exact, name)
	}
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

// first enters an object, passes what has no field, and returns the index of its first field. It is -1
// at the end, and for null.
func (l *Lexer) first(f *fieldNames, seen *Seen) int {
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

// next goes on from the value of that field to the next one.
func (l *Lexer) next(f *fieldNames, seen *Seen, last int) int {
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
func (l *Lexer) known(f *fieldNames, seen *Seen, last int) int {
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
func (l *Lexer) expect(f *fieldNames, last int) int {
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
func (l *Lexer) find(f *fieldNames, last int) int {
	next := &f.next[last+1]
	expected := int(next.Load())
	for n := range f.quoted {
		i := (expected + n) % len(f.quoted)
		if name := f.quoted[i]; name[1:len(name)-2] == string(l.name) {
			if i != expected && f.learnt.Load() < maxLearnt {
				f.learnt.Add(1)
				next.Store(int32(i))
			}
			return i
		}
	}
	return maxFields
}
