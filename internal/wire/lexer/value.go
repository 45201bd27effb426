// Values: numbers, booleans, and what is made of other values.

package lexer

import (
	"bytes"
	"strconv"
	"sync"
)

// Bool reads a boolean; null is false.
func (l *Lexer) Bool() bool {
	switch l.peek() {
	case 't':
		l.word("true")
		return !l.gaveUp
	case 'n':
		l.word("null")
	default:
		l.word("false")
	}
	return false
}

// Number reads a number as it is written; null is empty. A number in quotes is
// left to encoding/json.
func (l *Lexer) Number() string {
	if l.Null() {
		return ""
	}
	return l.keep(l.number())
}

// number reads a number as the grammar has it.
func (l *Lexer) number() []byte {
	l.peek()
	b, begin := l.body, l.pos
	i := begin
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := i
	i = digits(b, i)
	ok := i > whole
	if i > whole+1 && b[whole] == '0' {
		i = whole + 1 // what follows is no part of the number
	}
	if ok && i < len(b) && b[i] == '.' {
		fraction := i + 1
		i = digits(b, fraction)
		ok = i > fraction
	}
	if ok && i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		exponent := i
		i = digits(b, exponent)
		ok = i > exponent
	}
	if !ok {
		l.giveUpAt(i)
		return nil
	}
	l.pos = i
	return b[begin:i]
}

// digits returns where the digits end that begin at i.
func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

// Int64 reads a whole number; null is 0. One that is written with a fraction or an
// exponent, or is out of range, is left to encoding/json.
func (l *Lexer) Int64() int64 { return l.integer(64) }

// Int reads a whole number as Int64 does.
func (l *Lexer) Int() int { return int(l.integer(strconv.IntSize)) }

func (l *Lexer) integer(bits int) int64 {
	if l.Null() {
		return 0
	}
	n, ok := ParseInt(l.number(), bits)
	if !ok {
		l.GiveUp()
	}
	return n
}

// Float64 reads a number; null is 0.
func (l *Lexer) Float64() float64 {
	if l.Null() {
		return 0
	}
	f, ok := ParseFloat(l.number())
	if !ok {
		l.GiveUp()
	}
	return f
}

const (
	maxInteger = 20      // the longest integer that may be in range, in characters
	maxFloat   = 1 << 10 // the longest float that is read
)

// ParseInt reads a whole number, and reports whether it is in range.
func ParseInt(text []byte, bits int) (int64, bool) {
	if len(text) > maxInteger {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, bits)
	return n, err == nil
}

// ParseFloat reads a number, and reports whether it is in range and no longer than 1 KiB.
func ParseFloat(text []byte) (float64, bool) {
	if len(text) > maxFloat {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// Raw reads a value of any type as it is written, null too.
func (l *Lexer) Raw() []byte {
	l.peek()
	begin := l.pos
	l.Skip(maxDepth - maxUnknownDepth)
	if l.gaveUp {
		return nil
	}
	return bytes.Clone(l.body[begin:l.pos])
}

// Pointer reads what a pointer points at; null is nil.
func Pointer[T any](l *Lexer, read func(*Lexer, *T)) *T {
	if l.Null() || !l.charge(sizeOf[T]()) {
		return nil
	}
	v := new(T)
	read(l, v)
	return v
}

// Map reads an object whose members are all of one type; null is nil.
func Map[T any](l *Lexer, read func(*Lexer, *T)) map[string]T {
	if l.Null() {
		return nil
	}
	m := map[string]T{}
	for more := l.Object(); more; more = l.Member() {
		l.glance()
		name := l.keep(l.name)
		if _, twice := m[name]; twice || !l.charge(MapEntry(sizeOf[T]())) {
			l.GiveUp()
			return nil
		}
		var v T
		read(l, &v)
		m[name] = v
	}
	return m
}

// List reads arrays of one type. It is safe for concurrent use.
//
// How long an array is shows only at its end: its elements wait in memory that the
// next array uses again, and go from there into a slice that just holds them. The rest
// of an array that is too long for that is counted first.
type List[T any] struct{ waiting sync.Pool }

// maxWaiting is for how many elements memory is kept.
const maxWaiting = 4096

// Read reads an array; null is nil. It gives up at one with more than most elements;
// 0 is no limit.
func (list *List[T]) Read(l *Lexer, most int, read func(*Lexer, *T)) []T {
	if l.Null() {
		return nil
	}
	more := l.Array()
	if !more {
		return []T{}
	}
	memory, _ := list.waiting.Get().(*[]T)
	if memory == nil {
		memory = new([]T)
	}
	waiting := (*memory)[:0]
	room := maxWaiting
	if most > 0 {
		room = min(room, most)
	}
	for ; more && len(waiting) < room; more = l.Element() {
		var empty T
		waiting = append(waiting, empty)
		read(l, &waiting[len(waiting)-1])
	}
	length := len(waiting)
	if more {
		length += l.count()
	}
	if most > 0 && length > most {
		l.GiveUp()
	}
	var exact []T
	if l.charge(length * sizeOf[T]()) {
		exact = make([]T, length)
		for i := copy(exact, waiting); more; more = l.Element() {
			read(l, &exact[i])
			i++
		}
	}
	if cap(waiting) <= maxWaiting {
		clear(waiting) // or they would keep alive what they point at
		*memory = waiting
		list.waiting.Put(memory)
	}
	return exact
}

// count returns how many elements an array has from here on. It reads none of them.
func (l *Lexer) count() (n int) {
	begin := l.pos
	for more := true; more; more = l.Element() {
		l.Skip(maxDepth - maxUnknownDepth)
		n++
	}
	l.Rewind(begin)
	return n
}
