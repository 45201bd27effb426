// The lexer, which accepts the same JSON texts as encoding/json.

package wire

import (
	"context"
	"reflect"
	"sync"

	"github.com/hotelstays/hotelstays-go/types"
)

// Lexer reads one JSON text from its beginning to its end, without reflection. It is not safe for concurrent use.
//
// A failure is permanent. After a failure, every object and every array ends, and every value is empty. So generated
// code need not check for a failure after each value. Invalid JSON, an unusable text and the end of ctx are failures. A
// type mismatch is not a failure, as mismatch.go explains.
type Lexer struct {
	body   []byte
	pos    int
	depth  int    // number of open objects and arrays around pos; skip does not change depth
	name   []byte // the name of the current member; valid until the value of the member is read
	failed bool

	ctx      context.Context
	nextPoll int   // when pos has reached this offset, poll checks ctx again
	budget   int   // how many bytes of memory may still be allocated
	err      error // the error of ctx or of the function take, if one of them ended the reading

	interned *internTable // the table of interned strings; nil while strings are not interned
	scratch  []byte       // a buffer for the decoding of escaped text
	notes
	reading answerReader
	feed    *Feed // the source of body
	// take, if set, receives each hotel when its last byte has arrived. The decoded list of hotels then stays empty.
	take func(*types.Hotel) error
}

var lexers = sync.Pool{New: func() any { return new(Lexer) }}

// pollInterval is how many bytes are read between two checks whether ctx has ended. A string without escapes is read
// without a check.
const pollInterval = 64 << 10

// newLexer returns a Lexer of a text that may still arrive. The Lexer fails if ctx ends, or if lists, pointers and maps
// take more memory than memoryBudget. The memory of strings does not count, because a string takes no more bytes than
// in the text. Release the Lexer after use.
func newLexer(ctx context.Context, feed *Feed) *Lexer {
	l := lexers.Get().(*Lexer)
	l.ctx, l.feed, l.body, l.nextPoll, l.budget = ctx, feed, feed.window(), pollInterval, memoryBudget(len(feed.text))
	return l
}

// memoryBudget returns how many bytes of memory the lists, pointers and maps of an answer may take. The parameter
// length is the size of the answer in bytes. A documented answer takes about as much memory as its size. Only an answer
// of many nearly empty elements takes more than twice its size.
func memoryBudget(length int) int { return 2*length + 4<<20 }

// poll checks whether ctx has ended, if at least pollInterval bytes were read since the last check.
func (l *Lexer) poll() {
	if l.pos >= l.nextPoll {
		l.pollAt(l.pos)
	}
}

func (l *Lexer) pollAt(pos int) {
	l.nextPoll = pos + pollInterval
	if err := l.ctx.Err(); err != nil {
		l.stop(err)
	}
}

// stop makes the Lexer fail with an error that is not a fault of the text, such as the end of ctx.
func (l *Lexer) stop(err error) {
	l.fail()
	l.err = err
}

func sizeOf[T any]() int { return int(reflect.TypeFor[T]().Size()) }

// mapEntrySize returns how many bytes of the memory budget a map entry takes. The parameter size is the size of its
// value. The result is twice the size of key and value, because about half of a map's memory is unused.
func mapEntrySize(size int) int { return 2 * (sizeOf[string]() + size) }

// maxScratch is the maximum size of a scratch buffer that the pool keeps, in bytes.
const maxScratch = 4 << 10

func (l *Lexer) release() {
	l.internStrings(false)
	scratch := l.scratch
	if cap(scratch) > maxScratch {
		scratch = nil
	}
	clear(scratch[:cap(scratch)])
	*l = Lexer{scratch: scratch}
	lexers.Put(l)
}

// fail makes the Lexer fail. After that, the methods of the Lexer act as if the text ended at the current position.
func (l *Lexer) fail() {
	l.failed = true
	l.body = l.body[:l.pos]
}

func (l *Lexer) failAt(pos int) {
	l.pos = pos
	l.fail()
}

// end reports whether the whole text was read without a failure, and only white space follows the value.
func (l *Lexer) end() bool {
	l.peek()
	if l.pos < len(l.body) {
		l.fail()
	}
	return !l.failed
}

// finish returns nil, or why the text cannot be used: an error of ctx, of take or of the arrival, a *SyntaxError, or an
// *UnusableError.
func (l *Lexer) finish() error {
	l.passAgain(0)
	switch {
	case l.end() && l.feed.err == nil && l.unusable == nil:
		return nil
	case l.err != nil:
		return l.err
	case l.feed.err != nil:
		return l.feed.err
	case !l.failed:
		return &UnusableError{rooted(l.unusable.Path), l.unusable.Problem}
	case l.pos == len(l.feed.text):
		return &SyntaxError{Offset: l.feed.offset(l.pos), Truncated: true}
	}
	return &SyntaxError{Offset: l.feed.offset(l.pos) + 1}
}

// rewind goes back to an earlier offset. The next read from there checks ctx again.
func (l *Lexer) rewind(pos int) {
	if !l.failed {
		l.pos = pos
		l.nextPoll = min(l.nextPoll, pos+pollInterval)
	}
}

// peek skips white space and returns the next byte, or 0 at the end. Keep peek
// small, so that the compiler can inline it.
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
		if l.at(l.pos) != text[i] {
			l.fail()
			return
		}
		l.pos++
	}
}

// null reports whether the next value is null, and skips it if so.
func (l *Lexer) null() bool {
	if l.peek() != 'n' {
		return false
	}
	l.literal("null")
	return true
}

// object enters an object, and reports whether the object has a member. If so, object reads the name of the first
// member. This is a loop over all members:
//
//	for more := l.object(); more; more = l.member() {
func (l *Lexer) object() bool {
	l.pos++
	if l.peek() == '}' {
		l.pos++
		return false
	}
	return l.readName()
}

// member moves from a value to the next member, and reports whether there is one.
func (l *Lexer) member() bool {
	switch l.peek() {
	case ',':
		l.pos++
		return l.readName()
	case '}':
		l.pos++
	default:
		l.fail()
	}
	return false
}

func (l *Lexer) readName() bool {
	if l.peek() != '"' {
		l.fail()
		return false
	}
	if l.name = l.text(); l.peek() != ':' {
		l.fail()
		return false
	}
	l.pos++
	return true
}

// array enters an array and reports whether it has a first element.
func (l *Lexer) array() bool {
	l.pos++
	if l.peek() == ']' {
		l.pos++
		return false
	}
	return true
}

// element moves from an element to the next element, and reports whether there is one.
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

// maxDepth is the maximum depth of nested values, as in encoding/json.
const maxDepth = 10_000

// skip validates and skips a value of any type. The parameter depth is the number of objects and arrays around the value.
func (l *Lexer) skip(depth int) {
	c := l.peek()
	if depth == maxDepth && (c == '{' || c == '[') {
		l.fail()
		return
	}
	switch c {
	case '{':
		for more := l.object(); more; more = l.member() {
			l.skip(depth + 1)
		}
	case '[':
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

// passed skips a value, and returns its text. The text is empty after a failure.
func (l *Lexer) passed() []byte {
	l.peek()
	begin := l.pos
	if l.skip(l.depth); l.failed {
		return nil
	}
	return l.body[begin:l.pos]
}

// skipString validates and skips the string at pos, and reports whether it has no escapes.
func (l *Lexer) skipString() (plain bool) {
	plain = true
	for i := l.pos + 1; !l.failed; {
		if i = SkipPlain(l.body, i); i < len(l.body) && l.body[i] == '"' {
			l.pos = i + 1
			break
		}
		length, ok := escapeLength(l.body[i:])
		switch {
		case !ok && l.moreAt(i+length):
			continue
		case !ok:
			l.failAt(i + length)
		case i >= l.nextPoll:
			l.pollAt(i)
		}
		i += length
		plain = false
	}
	return plain
}
