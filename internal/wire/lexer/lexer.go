// Package lexer reads JSON into structs without reflection, for the decode
// functions that package decodegen generates.
//
// It takes only what it is sure of: JSON of the expected types, in the usual
// spelling. At anything else it gives up, and what it has read so far means
// nothing; the caller then asks encoding/json, which decides. What it does take is
// exactly what encoding/json makes of it, so that nobody can tell the two apart.
//
// Nothing that it returns points into the text it has read.
package lexer

import (
	"strings"
	"sync"
)

// Lexer reads one JSON text from its beginning to its end. It is not safe for
// concurrent use.
//
// Giving up sticks: from then on every list and object is at its end and every
// value is empty, so that the functions that read need not ask after each value.
type Lexer struct {
	body   []byte
	pos    int
	name   []byte
	gaveUp bool

	share   bool
	texts   *texts
	scratch []byte // where escaped text is put together
}

var lexers = sync.Pool{New: func() any { return new(Lexer) }}

// New returns a Lexer of body. Release it when all is read.
func New(body []byte) *Lexer {
	l := lexers.Get().(*Lexer)
	l.body, l.pos, l.name, l.gaveUp, l.share = body, 0, nil, false, false
	return l
}

// Share says whether short texts that are read from now on are kept once where they
// repeat, also from one body to the next. It is for what holds no secret and no
// person.
func (l *Lexer) Share(on bool) {
	if l.share = on; on && l.texts == nil {
		l.texts = new(texts)
	}
}

// maxScratch is how much of the scratch is kept for the next text, in bytes.
const maxScratch = 4 << 10

// Release gives the Lexer back. Of what it has read it keeps the shared texts.
func (l *Lexer) Release() {
	l.body, l.name = nil, nil
	if cap(l.scratch) > maxScratch {
		l.scratch = nil
	}
	clear(l.scratch[:cap(l.scratch)])
	lexers.Put(l)
}

// GiveUp leaves the text to encoding/json.
func (l *Lexer) GiveUp() {
	l.gaveUp = true
	l.pos = len(l.body)
}

// End reports whether all was read: one value with nothing but white space after
// it, and no reason to give up.
func (l *Lexer) End() bool {
	l.peek()
	return !l.gaveUp && l.pos == len(l.body)
}

// peek passes over white space and returns the next byte, or 0 at the end.
func (l *Lexer) peek() byte {
	if l.pos < len(l.body) && l.body[l.pos] > ' ' {
		return l.body[l.pos]
	}
	return l.peekFurther()
}

func (l *Lexer) peekFurther() byte {
	for l.pos < len(l.body) {
		switch c := l.body[l.pos]; c {
		case ' ', '\n', '\r', '\t':
			l.pos++
		default:
			return c
		}
	}
	return 0
}

// word reads one of the words that JSON knows.
func (l *Lexer) word(w string) {
	if end := l.pos + len(w); end <= len(l.body) && string(l.body[l.pos:end]) == w {
		l.pos = end
		return
	}
	l.GiveUp()
}

// Null reads null, where that is next.
func (l *Lexer) Null() bool {
	if l.peek() != 'n' {
		return false
	}
	l.word("null")
	return true
}

// Object enters an object and reports whether it has a first member, whose name it
// reads. A null is an object without members: it leaves a struct as it is.
//
//	for more := l.Object(); more; more = l.Member() {
func (l *Lexer) Object() bool {
	if l.Null() {
		return false
	}
	if l.peek() != '{' {
		l.GiveUp()
		return false
	}
	l.pos++
	if l.peek() == '}' {
		l.pos++
		return false
	}
	return l.member()
}

// Member goes on from a value to the next member, if there is one.
func (l *Lexer) Member() bool {
	switch l.peek() {
	case ',':
		l.pos++
		return l.member()
	case '}':
		l.pos++
	default:
		l.GiveUp()
	}
	return false
}

// member reads a name and its colon. A name with an escape is left to
// encoding/json.
func (l *Lexer) member() bool {
	if l.peek() != '"' {
		l.GiveUp()
		return false
	}
	begin := l.pos + 1
	end := plain(l.body, begin)
	if end >= len(l.body) || l.body[end] != '"' {
		l.GiveUp()
		return false
	}
	l.name, l.pos = l.body[begin:end], end+1
	if l.peek() != ':' {
		l.GiveUp()
		return false
	}
	l.pos++
	return true
}

// Name is the name of the member that was entered last. It holds until its value
// is read.
func (l *Lexer) Name() []byte { return l.name }

// Seen remembers which fields of a struct were read.
type Seen uint64

// MaxFields is how many fields Seen can tell apart.
const MaxFields = 64

// Once gives up at a field's second coming: encoding/json merges the two.
func (l *Lexer) Once(seen *Seen, field uint) {
	bit := Seen(1) << field
	if *seen&bit != 0 {
		l.GiveUp()
	}
	*seen |= bit
}

// Unknown passes over a member that has no field of its exact name. It gives up
// where encoding/json may match a field regardless of case.
func (l *Lexer) Unknown(fields []string) {
	for _, c := range l.name {
		if c >= 0x80 { // two such characters are the lower case of an ASCII letter
			l.GiveUp()
			return
		}
	}
	for _, field := range fields {
		if len(field) == len(l.name) && strings.EqualFold(field, string(l.name)) {
			l.GiveUp()
			return
		}
	}
	l.skip(0)
}

// Array enters an array and reports whether it has a first element.
//
//	for more := l.Array(); more; more = l.Element() {
func (l *Lexer) Array() bool {
	if l.peek() != '[' {
		l.GiveUp()
		return false
	}
	l.pos++
	if l.peek() == ']' {
		l.pos++
		return false
	}
	return true
}

// Element goes on from an element to the next one, if there is one.
func (l *Lexer) Element() bool {
	switch l.peek() {
	case ',':
		l.pos++
		return true
	case ']':
		l.pos++
	default:
		l.GiveUp()
	}
	return false
}

// maxDepth is how deep a value that is passed over may nest. encoding/json allows
// more and decides what lies beyond.
const maxDepth = 500

// skip passes over a value of any type, and checks it.
func (l *Lexer) skip(depth int) {
	switch c := l.peek(); {
	case depth > maxDepth:
		l.GiveUp()
	case c == '{':
		l.skipObject(depth)
	case c == '[':
		for more := l.Array(); more; more = l.Element() {
			l.skip(depth + 1)
		}
	case c == '"':
		l.text()
	case c == 't':
		l.word("true")
	case c == 'f':
		l.word("false")
	case c == 'n':
		l.word("null")
	default:
		l.number()
	}
}

// skipObject allows every name, also one with escapes.
func (l *Lexer) skipObject(depth int) {
	l.pos++
	if l.peek() == '}' {
		l.pos++
		return
	}
	for {
		l.text()
		if l.peek() != ':' {
			l.GiveUp()
			return
		}
		l.pos++
		l.skip(depth + 1)
		switch l.peek() {
		case ',':
			l.pos++
		case '}':
			l.pos++
			return
		default:
			l.GiveUp()
			return
		}
	}
}
