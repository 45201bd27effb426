// The lexer: strict for the fast path, lax for the walk and for a stream's envelope.

package wire

import (
	"bytes"
	"context"
	"reflect"
	"sync"
	"unicode/utf8"
)

// Lexer reads one JSON text from its beginning to its end, without reflection. It is not
// safe for concurrent use. Of what it returns, Name alone points into the text.
//
// It is strict: what it reads is exactly what encoding/json makes of the same text. It
// fails at a type that was not asked for, at invalid JSON, and at the spellings that
// encoding/json repairs or merges. The caller then reads the text another way.
//
// A failure sticks: from then on every object and array is at its end and every value is
// empty, so that generated code need not check after each value.
type Lexer struct {
	body   []byte
	pos    int
	name   []byte // of the member entered last, as it is written
	failed bool

	ctx      context.Context
	nextPoll int // the offset at which ctx is polled again
	budget   int // bytes of memory that may still be allocated
	err      error
	lax      bool // reads escaped names, lone surrogates and invalid UTF-8 as encoding/json does

	interned *internTable // nil: strings are not interned
	scratch  []byte       // where escaped text is decoded

	feed *Feed // where more of the body comes from; nil: this is all
}

var lexers = sync.Pool{New: func() any { return new(Lexer) }}

// pollInterval is how many bytes are read between two polls of ctx; only a plain string
// is read without any.
const pollInterval = 64 << 10

// newLexer returns a Lexer of body. It fails when ctx ends, and when lists, pointers and
// maps take more memory than the budget, in bytes. Strings take no more than in the body,
// and are not counted. Release it after use.
func newLexer(ctx context.Context, body []byte, budget int) *Lexer {
	l := lexers.Get().(*Lexer)
	*l = Lexer{body: body, ctx: ctx, nextPoll: pollInterval, budget: budget, scratch: l.scratch}
	return l
}

// poll checks ctx, once in each interval.
func (l *Lexer) poll() {
	if l.pos >= l.nextPoll {
		l.pollAt(l.pos)
	}
}

func (l *Lexer) pollAt(pos int) {
	l.nextPoll = pos + pollInterval
	if err := l.ctx.Err(); err != nil {
		l.fail()
		l.err = err
	}
}

func sizeOf[T any]() int { return int(reflect.TypeFor[T]().Size()) }

// mapEntrySize is how much memory is charged for an entry of a map with values of that
// size: maps keep about half of their room free.
func mapEntrySize(size int) int { return 2 * (sizeOf[string]() + size) }

// maxScratch is how much of the scratch is kept for the next text, in bytes.
const maxScratch = 4 << 10

// release returns the Lexer to the pool.
func (l *Lexer) release() {
	l.internStrings(false)
	l.body, l.name, l.ctx, l.feed = nil, nil, nil, nil
	if cap(l.scratch) > maxScratch {
		l.scratch = nil
	}
	clear(l.scratch[:cap(l.scratch)])
	lexers.Put(l)
}

// fail ends the text here.
func (l *Lexer) fail() {
	l.failed = true
	l.body = l.body[:l.pos]
}

func (l *Lexer) failAt(pos int) {
	l.pos = pos
	l.fail()
}

// end reports whether the text was one value with nothing but white space behind it, and
// was read without a failure.
func (l *Lexer) end() bool {
	l.peek()
	if l.pos < len(l.body) {
		l.fail()
	}
	return !l.failed
}

// rewind goes back to an earlier offset. What is read again is polled again.
func (l *Lexer) rewind(pos int) {
	if !l.failed {
		l.pos = pos
		l.nextPoll = min(l.nextPoll, pos+pollInterval)
	}
}

// peek skips white space and returns the next byte, or 0 at the end. It is just small
// enough to be inlined.
func (l *Lexer) peek() (c byte) {
	if l.pos < len(l.body) {
		if c = l.body[l.pos]; c <= ' ' {
			return l.skipSpace()
		}
	}
	return c
}

func (l *Lexer) skipSpace() byte {
	for l.pos < len(l.body) {
		switch c := l.body[l.pos]; c {
		case ' ', '\n', '\r', '\t':
			l.pos++
			l.poll()
		default:
			if c != 0 || !l.moreAt(l.pos) {
				return c
			}
		}
	}
	return 0
}

// literal reads true, false or null. It fails at the first byte that differs.
func (l *Lexer) literal(text string) {
	if end := l.pos + len(text); end <= len(l.body) && string(l.body[l.pos:end]) == text {
		l.pos = end
		return
	}
	for i := range len(text) {
		if l.moreAt(l.pos); l.pos >= len(l.body) || l.body[l.pos] != text[i] {
			l.fail()
			return
		}
		l.pos++
	}
}

// null reads null, if that is next.
func (l *Lexer) null() bool {
	if l.peek() != 'n' {
		return false
	}
	l.literal("null")
	return true
}

// Object enters an object and reports whether it has a first member, whose name it reads.
// A null is an object without members: it leaves a struct as it is.
//
//	for more := l.Object(); more; more = l.Member() {
func (l *Lexer) Object() bool {
	if l.null() {
		return false
	}
	if l.peek() != '{' {
		l.fail()
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
		l.fail()
	}
	return false
}

// member reads a name and its colon.
func (l *Lexer) member() bool {
	if l.peek() != '"' {
		l.fail()
		return false
	}
	begin := l.pos + 1
	end := l.morePlain(skipPlain(l.body, begin))
	if end < len(l.body) && l.body[end] == '"' {
		l.pos = end + 1
	} else if l.skipString(); l.failed || !l.lax {
		l.fail()
		return false
	}
	l.name = l.body[begin : l.pos-1]
	if l.peek() != ':' {
		l.fail()
		return false
	}
	l.pos++
	return true
}

// Name is the name of the member entered last, as it is written.
func (l *Lexer) Name() []byte { return l.name }

// unquotedName is that name without escapes. It holds until the value is read, and is
// empty if ctx ended.
func (l *Lexer) unquotedName() []byte {
	name := l.name
	if bytes.IndexByte(name, '\\') >= 0 {
		begin, behind := l.nameOffset(), l.pos
		l.rewind(begin)
		name = l.unescape(begin, skipPlain(l.body, begin))
		l.rewind(behind)
	}
	if !utf8.Valid(name) {
		name = []byte(l.toValidUTF8(name))
	}
	return name
}

// nameOffset is where that name begins, behind its quote.
func (l *Lexer) nameOffset() int { return cap(l.body) - cap(l.name) }

// array enters an array and reports whether it has a first element.
func (l *Lexer) array() bool {
	if l.peek() != '[' {
		l.fail()
		return false
	}
	l.pos++
	if l.peek() == ']' {
		l.pos++
		return false
	}
	return true
}

// element goes on from an element to the next one, if there is one.
func (l *Lexer) element() bool {
	l.poll()
	switch l.peek() {
	case ',':
		l.pos++
		return true
	case ']':
		l.pos++
	default:
		l.fail()
	}
	return false
}

// maxDepth is how deep encoding/json lets values nest.
const maxDepth = 10_000

// skip validates a value of any type at that depth, and passes it.
func (l *Lexer) skip(depth int) {
	switch l.peek() {
	case '{':
		l.skipObject(depth + 1)
	case '[':
		if depth == maxDepth {
			l.fail()
		}
		for more := l.array(); more; more = l.element() {
			l.skip(depth + 1)
		}
	case '"':
		l.skipString()
	case 't':
		l.literal("true")
	case 'f':
		l.literal("false")
	case 'n':
		l.literal("null")
	default:
		l.number()
	}
	l.poll()
}

// skipObject allows escaped names, also in a strict Lexer.
func (l *Lexer) skipObject(depth int) {
	if depth > maxDepth {
		l.fail()
	}
	defer func(lax bool) { l.lax = lax }(l.lax)
	l.lax = true
	for more := l.Object(); more; more = l.Member() {
		l.skip(depth)
	}
}

// skipString validates a string and passes it. No white space is before it.
func (l *Lexer) skipString() {
	if l.pos >= len(l.body) || l.body[l.pos] != '"' {
		l.fail()
		return
	}
	for i := l.pos + 1; ; {
		if i = skipPlain(l.body, i); i < len(l.body) && l.body[i] == '"' {
			l.pos = i + 1
			return
		}
		length, ok := escapeLength(l.body[i:])
		if !ok && l.moreAt(i+length) {
			continue
		}
		if i += length; !ok {
			l.failAt(i)
		} else if i >= l.nextPoll {
			l.pollAt(i)
		}
		if l.failed {
			return
		}
	}
}
