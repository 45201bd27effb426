// The fields of a struct, expected in the order in which the service writes them.

package wire

import (
	"strings"
	"sync/atomic"
)

// Field describes a field of a struct of type T, and how to read it.
type Field[T any] struct {
	Name string
	// Exact makes the answer unusable if the object writes Name in another letter case.
	Exact bool
	// Essential makes the whole struct a mismatch if this field has a mismatch. A mismatch inside a nested struct does
	// not count if the nested struct has essential fields, and these fields have no mismatch.
	Essential bool
	Read      func(l *Lexer, v *T)
}

// Struct returns a function that reads an object into a struct with these fields, 64 at most. A null leaves the struct
// unchanged. The function is safe for concurrent use.
func Struct[T any](fields []Field[T]) func(l *Lexer, v *T) {
	names, essentials := &fieldNames{quoted: make([]string, 0, len(fields))}, false
	for _, f := range fields {
		names.add(f.Name, f.Exact)
		essentials = essentials || f.Essential
	}
	return func(l *Lexer, v *T) {
		if l.peek() != '{' {
			l.noObject()
			return
		}
		var seen seenFields
		before, fits := l.mark(), true
		outside := before.lost
		l.depth++
		for i := l.next(names, &seen, -1); i >= 0; i = l.next(names, &seen, i) {
			fields[i].Read(l, v)
			if l.events != before.events {
				lost := l.leave(&before, fields[i].Name, 0)
				fits = fits && !(lost && fields[i].Essential)
			}
		}
		l.depth--
		if essentials {
			l.lost = outside
		}
		if !fits {
			*v, l.mismatched = *new(T), true
		}
	}
}

// fieldNames holds the names of a struct's fields, and the order in which the service writes them. At first this is the
// order of the struct's fields.
//
// Half of the bytes of an answer are field names, so the decoder must read names fast. After a field, the decoder first
// compares the text with the name that followed this field last time.
type fieldNames struct {
	quoted []string                    // the name of each field in quotation marks, followed by a colon
	next   [maxFields + 2]atomic.Int32 // next[i+1]: number of the field that followed field i last time; next[0]: first field
	learnt atomic.Int32
	exact  []string
}

func (f *fieldNames) add(name string, exact bool) {
	f.quoted = append(f.quoted, `"`+name+`":`)
	f.next[len(f.quoted)].Store(int32(len(f.quoted)))
	if exact {
		f.exact = append(f.exact, name)
	}
}

func (f *fieldNames) name(i int) string { return f.quoted[i][1 : len(f.quoted[i])-2] }

// seenFields has one bit for each field of a struct. The bit is 1 if the object had this field already.
type seenFields uint64

// unique marks a field as read, and returns its number. If the field was read before, unique rejects the answer and
// returns -1, because encoding/json would merge the two values.
func (l *Lexer) unique(f *fieldNames, seen *seenFields, field int) int {
	bit := seenFields(1) << field
	if *seen&bit != 0 {
		l.reject("."+f.name(field), "comes twice")
		return -1
	}
	*seen |= bit
	return field
}

const (
	maxFields = 64   // the most fields of a struct; for an unknown name, find returns maxFields
	maxAbsent = 2    // how many missing fields in a row expect passes over; if more are missing, find reads the name
	maxLearnt = 1024 // how many changes of the order are stored; too many writes would slow down other goroutines
)

// next moves to the next known field of an object, and returns the number of that field, or -1 at the end of the
// object. The parameter last is the field whose value was just read, or -1 at the beginning of the object.
func (l *Lexer) next(f *fieldNames, seen *seenFields, last int) int {
	if last < 0 || l.pos < len(l.body) && l.body[l.pos] == ',' {
		if i := l.expect(f, last); i >= 0 {
			return l.unique(f, seen, i)
		}
	}
	if last < 0 && !l.object() || last >= 0 && !l.member() {
		return -1
	}
	i := l.find(f, last)
	for ; i == maxFields; i = l.find(f, maxFields) {
		if l.skip(l.depth); !l.member() {
			return -1
		}
	}
	return l.unique(f, seen, i)
}

// expect compares the text with the names that usually follow the field in the parameter last. If a name matches,
// expect skips the name and returns the number of the field. Otherwise expect skips nothing and returns -1.
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

// find returns the field whose name the Lexer has just read, or maxFields for an unknown name. The parameter last is
// the field before. So that expect finds the name next time, find stores which field follows last. If the name differs
// from an Exact name only in letter case, find rejects the answer.
func (l *Lexer) find(f *fieldNames, last int) int {
	next := &f.next[last+1]
	expected := int(next.Load())
	for n := range f.quoted {
		i := (expected + n) % len(f.quoted)
		if f.name(i) == string(l.name) {
			if i != expected && f.learnt.Load() < maxLearnt {
				f.learnt.Add(1)
				next.Store(int32(i))
			}
			return i
		}
	}
	for _, exact := range f.exact {
		if strings.EqualFold(exact, string(l.name)) {
			l.reject("."+exact, "comes in another letter case")
		}
	}
	return maxFields
}
