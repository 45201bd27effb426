// Answers: an envelope with its data, or a document without one.

package wire

import (
	"cmp"
	"context"
	"reflect"
	"strconv"
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

//go:generate go run ./decodegen ../..

// Target describes the struct into which a document is decoded.
type Target struct {
	// Into points at the empty struct that receives the data. After an error the struct is empty again.
	Into any
	// Read decodes the data into the struct of Into.
	Read func(*Lexer)
	// InternStrings allocates a repeated string only once, also across answers. The strings stay in memory after the
	// answer, so set InternStrings only for answers without secrets and personal data.
	InternStrings bool
	// Lenient leaves mismatched values out and lists them. If Lenient is false, a mismatch is a *MismatchError.
	Lenient bool
	// Take, if set, receives each hotel when its last byte has arrived. Then the list of hotels in Into stays empty, and
	// the Feed keeps only the text of the first hotel. An error of Take ends the decoding.
	Take func(*types.Hotel) error
}

func (t Target) empty() { reflect.ValueOf(t.Into).Elem().SetZero() }

// Decode decodes an answer's envelope and, if its code is 0, its data into the target.
//
// If the code is not 0, a mismatch or an ambiguity in the data is no error. If ctx ends first, Decode returns the error
// of ctx.
func Decode(ctx context.Context, body []byte, target Target) (Envelope, error) {
	return target.decode(newLexer(ctx, whole(body)))
}

// DecodeFeed is like Decode, but the answer may still be arriving. If the arrival fails, DecodeFeed returns the error of the
// arrival.
func DecodeFeed(ctx context.Context, feed *Feed, target Target) (Envelope, error) {
	return target.decode(newLexer(ctx, feed))
}

func (t Target) decode(l *Lexer) (env Envelope, err error) {
	defer l.release()
	a, err := l.answer(t)
	env = a.Envelope
	if err == nil && env.HasCode && env.Code == 0 {
		if err = a.dataErr; err == nil {
			env.Mismatches, err = l.verdict(t.Lenient)
		}
		env.HasData = err == nil && a.hasData
	}
	if !env.HasData {
		t.empty()
	}
	return env, err
}

// DecodeBare is like Decode, for a document without an envelope. The whole document is the data.
func DecodeBare(ctx context.Context, body []byte, target Target) (found Mismatches, err error) {
	l := newLexer(ctx, whole(body))
	defer l.release()
	target.readDocument(l)
	if err = l.finish(); err == nil {
		found, err = l.verdict(target.Lenient)
	}
	if err != nil {
		target.empty()
	}
	return found, err
}

func (t Target) readDocument(l *Lexer) {
	l.take = t.Take
	l.internStrings(t.InternStrings)
	t.Read(l)
	l.internStrings(false)
	l.take = nil
	l.required = l.required || l.mismatched
}

// Peek reads the envelope, and returns the JSON text of data. ok is false if there is no envelope, or if ctx ended
// first.
func Peek(ctx context.Context, body []byte) (env Envelope, data []byte, ok bool) {
	l := newLexer(ctx, whole(body))
	defer l.release()
	a, err := l.answer(Target{})
	return a.Envelope, a.data, err == nil && a.HasCode
}

type answerReader struct {
	Envelope
	target  Target // if target.Read is nil, the data is skipped
	data    []byte // the JSON text of the data, if the data was skipped
	hasData bool   // whether the data was decoded into target
	dataErr error  // why the data is unusable, or nil
	codeErr error
}

var readAnswer = Struct([]Field[answerReader]{
	{Name: "code", Exact: true, Read: func(l *Lexer, a *answerReader) { a.readCode(l) }},
	{Name: "msg", Read: func(l *Lexer, a *answerReader) { a.Msg = l.message() }},
	{Name: "data", Exact: true, Read: func(l *Lexer, a *answerReader) { a.readData(l) }},
})

// answer reads an answer. It fails if the text or the envelope is unusable, or if ctx ends.
func (l *Lexer) answer(t Target) (a answerReader, err error) {
	l.reading.target = t
	if l.peek() == '{' {
		readAnswer(l, &l.reading)
	} else {
		l.skip(0)
	}
	a, l.reading = l.reading, answerReader{}
	if err = cmp.Or(l.finish(), a.codeErr); err != nil {
		a.Envelope, a.data = Envelope{}, nil
	}
	return a, err
}

func (a *answerReader) readCode(l *Lexer) {
	if l.null() {
		return
	}
	text := l.passed()
	code, ok := parseInt(text, strconv.IntSize)
	if a.Code, a.HasCode = int(code), ok; !ok {
		a.codeErr = &MismatchError{Mismatches{[]Mismatch{{"code", "integer", jsonTypeOf(text)}}, 1}}
	}
}

func (a *answerReader) readData(l *Lexer) {
	c, begin := l.peek(), l.pos
	if c == 'n' || a.target.Read == nil || a.Code != 0 || a.codeErr != nil {
		a.data = l.passed()
		return
	}
	a.hasData = true
	a.target.readDocument(l)
	if l.passAgain(begin); l.unusable != nil && !l.failed {
		a.dataErr = &UnusableError{"data" + l.unusable.Path, l.unusable.Problem}
		l.unusable = nil
	}
}

// maxMsg is how long a msg may be, in bytes. A longer msg is cut off, and its escapes are not decoded.
const maxMsg = 64 << 10

// message reads the msg of an envelope. The text is never interned, because a msg may quote anything. If msg is an
// object or an array, message returns only names and types, because the values may be about guests.
func (l *Lexer) message() (msg string) {
	c, begin := l.peek(), l.pos
	text := l.passed()
	switch {
	case l.failed, c == 'n':
		return ""
	case c == '"' && len(text) <= maxMsg:
		l.rewind(begin)
		return l.copyString(l.text())
	}
	text = text[:min(len(text), maxMsg)]
	if c == '{' || c == '[' {
		return outlineOf(text)
	}
	return strings.ToValidUTF8(string(text), "�")
}
