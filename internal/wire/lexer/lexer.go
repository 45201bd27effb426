// Package lexer reads JSON into structs without reflection, for the decode
// functions that package decodegen generates.
//
// It takes only what it is sure of: JSON of the expected types, in the usual
// spelling. At anything else it gives up, and what it has read so far means
// nothing; the caller then asks encoding/json, which decides. What it does take is
// exactly what encoding/json makes of it, so that nobody can tell the two apart.
// Names alone it matches more strictly: a name counts only as it is documented, to
// the letter case.
//
// Skip passes over any JSON, and gives up at what encoding/json finds invalid.
//
// Nothing that it returns points into the text it has read.
package lexer

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"
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

	ctx    context.Context
	look   int // ctx is looked at when pos gets here
	budget int // bytes of memory that may still be taken
	err    error
	loose  bool

	share   bool
	texts   *texts
	scratch []byte // where escaped text is put together
}

var lexers = sync.Pool{New: func() any { return new(Lexer) }}

// New returns a Lexer of body. Release it when all is read.
func New(body []byte) *Lexer {
	l := lexers.Get().(*Lexer)
	l.body, l.pos, l.name, l.gaveUp, l.share = body, 0, nil, false, false
	l.ctx, l.look, l.budget, l.err, l.loose = context.Background(), math.MaxInt, math.MaxInt, nil, false
	return l
}

// lookEvery is how many bytes are read between two looks at the ctx, longer texts and
// numbers aside: a few milliseconds' worth where each name has escapes.
const lookEvery = 64 << 10

// Guard makes the Lexer give up when ctx ends, and when lists, pointers and maps take
// more memory than budget, in bytes. Text takes no more than it takes in the body, and
// is not counted.
func (l *Lexer) Guard(ctx context.Context, budget int) {
	l.ctx, l.look, l.budget = ctx, l.pos+lookEvery, budget
}

// glance looks at the ctx, where it is time to.
func (l *Lexer) glance() {
	if l.pos >= l.look {
		l.lookAt(l.pos)
	}
}

// lookAt looks at the ctx, at a place in the body.
func (l *Lexer) lookAt(pos int) {
	l.look = pos + lookEvery
	if err := l.ctx.Err(); err != nil {
		l.GiveUp()
		l.err = err
	}
}

// Err returns the error of the ctx, where the Lexer gave up because of it.
func (l *Lexer) Err() error { return l.err }

// charge reports whether the budget allows for so many bytes.
func (l *Lexer) charge(size int) bool {
	if l.budget -= size; l.budget < 0 {
		l.GiveUp()
	}
	return !l.gaveUp
}

func sizeOf[T any]() int { return int(reflect.TypeFor[T]().Size()) }

// MapEntry is how much memory is counted for an entry of a map whose values are that
// large: with the room that a map leaves free, about twice key and value.
func MapEntry(size int) int { return 2 * (sizeOf[string]() + size) }

// Loose makes the Lexer take names with escapes, too, and text that is no UTF-8 or has
// half a surrogate pair. It reads them as encoding/json does.
func (l *Lexer) Loose() { l.loose = true }

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
	l.body, l.name, l.ctx = nil, nil, nil
	if cap(l.scratch) > maxScratch {
		l.scratch = nil
	}
	clear(l.scratch[:cap(l.scratch)])
	lexers.Put(l)
}

// GiveUp leaves the text to encoding/json. From here on the text is at its end.
func (l *Lexer) GiveUp() {
	l.gaveUp = true
	l.body = l.body[:l.pos]
}

func (l *Lexer) giveUpAt(pos int) {
	l.pos = pos
	l.GiveUp()
}

// End reports whether all was read: one value with nothing but white space after
// it, and no reason to give up.
func (l *Lexer) End() bool {
	l.peek()
	if l.pos < len(l.body) {
		l.GiveUp()
	}
	return !l.gaveUp
}

// Peek passes over white space and returns the next byte, or 0 at the end.
func (l *Lexer) Peek() byte { return l.peek() }

// Offset returns how far the text was read: where the Lexer gave up, if it did.
func (l *Lexer) Offset() int { return l.pos }

// Rewind goes back to an earlier offset.
func (l *Lexer) Rewind(offset int) {
	if !l.gaveUp {
		l.pos = offset
		l.lookFrom(offset)
	}
}

// lookFrom keeps looking at the ctx in a part that is read again.
func (l *Lexer) lookFrom(pos int) {
	if l.look < math.MaxInt {
		l.look = min(l.look, pos+lookEvery)
	}
}

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
	l.giveUpIn(w)
}

// giveUpIn gives up where the text differs from a word.
func (l *Lexer) giveUpIn(w string) {
	for i := 0; l.pos < len(l.body) && i < len(w) && l.body[l.pos] == w[i]; i++ {
		l.pos++
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
		if end = l.looseName(); end < begin {
			return false
		}
	}
	l.name, l.pos = l.body[begin:end], end+1
	if l.peek() != ':' {
		l.GiveUp()
		return false
	}
	l.pos++
	return true
}

// looseName returns where a name with escapes ends, or a negative number.
func (l *Lexer) looseName() int {
	if l.skipText(); l.gaveUp || !l.loose {
		l.GiveUp()
		return -1
	}
	return l.pos - 1
}

// Name is the name of the member that was entered last, as it is written. It holds until
// its value is read.
func (l *Lexer) Name() []byte { return l.name }

// NameText is what that name means. It holds as long, and is empty where ctx ended.
func (l *Lexer) NameText() []byte {
	name := l.name
	if bytes.IndexByte(name, '\\') >= 0 {
		begin, behind := l.NameOffset(), l.pos
		l.lookFrom(begin)
		name = l.unescape(begin, plain(l.body, begin))
		l.pos = behind
	}
	if !utf8.Valid(name) {
		name = []byte(l.mend(name))
	}
	return name
}

// NameOffset returns where that name begins, behind its quote.
func (l *Lexer) NameOffset() int { return cap(l.body) - cap(l.name) }

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

// Unknown passes over a member that has no field of its exact name. It gives up at a
// name that differs in letter case alone from one of these.
func (l *Lexer) Unknown(exact ...string) {
	for _, name := range exact {
		if strings.EqualFold(name, string(l.name)) {
			l.GiveUp()
			return
		}
	}
	l.Skip(maxDepth - maxUnknownDepth)
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
	l.glance()
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

const (
	maxDepth        = 10_000 // how deep encoding/json lets values nest
	maxUnknownDepth = 500    // what lies deeper in a value that is passed over is left to it
)

// Skip passes over a value of any type that lies that deep, and checks it.
func (l *Lexer) Skip(depth int) {
	switch c := l.peek(); c {
	case '{':
		l.skipObject(depth + 1)
	case '[':
		if depth == maxDepth {
			l.GiveUp()
		}
		for more := l.Array(); more; more = l.Element() {
			l.Skip(depth + 1)
		}
	case '"':
		l.skipText()
	case 't':
		l.word("true")
	case 'f':
		l.word("false")
	case 'n':
		l.word("null")
	default:
		l.number()
	}
	l.glance()
}

// skipObject allows every name, also one with escapes.
func (l *Lexer) skipObject(depth int) {
	if depth > maxDepth {
		l.GiveUp()
		return
	}
	l.pos++
	if l.peek() == '}' {
		l.pos++
		return
	}
	for {
		l.peek()
		l.skipText()
		if l.peek() != ':' {
			l.GiveUp()
			return
		}
		l.pos++
		l.Skip(depth)
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

// skipText passes over a string: at its beginning there is no white space.
func (l *Lexer) skipText() {
	if l.pos >= len(l.body) || l.body[l.pos] != '"' {
		l.GiveUp()
		return
	}
	for i := l.pos + 1; ; {
		if i = plain(l.body, i); i < len(l.body) && l.body[i] == '"' {
			l.pos = i + 1
			return
		}
		length, ok := escapeLength(l.body[i:])
		if i += length; !ok {
			l.giveUpAt(i)
		} else if i >= l.look {
			l.lookAt(i)
		}
		if l.gaveUp {
			return
		}
	}
}
