// The walk: one pass over an answer that the fast path did not read.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// memoryBudget is how much memory the lists, pointers and maps of an answer of that length
// may take, in bytes. Documented answers take about their own length; only nearly empty
// elements take more than twice that.
func memoryBudget(length int) int { return 2*length + 4<<20 }

// walk compares a document with its documented shape. It finds invalid JSON, duplicate
// names, lists above their limits and type mismatches. Its output is the document without
// them, which encoding/json reads without surprises.
type walk struct {
	*Lexer
	doc  []byte
	path []pathStep

	mismatches Mismatches
	lost       int  // values that did not fit, outside of structs with essential fields that are complete
	required   bool // a mismatch is in a value that must not be left out
	// topErr makes the whole document unusable, dataErr only what is below its members.
	topErr, dataErr error

	out    *bytes.Buffer // doc[:copied] with its replacements; nil while there are none
	copied int
}

// pathStep is a member of an object, or an element of an array.
type pathStep struct {
	name  string
	index int
}

func newWalk(ctx context.Context, doc []byte) *walk {
	w := &walk{Lexer: newLexer(ctx, doc, memoryBudget(len(doc))), doc: doc}
	w.lax = true
	return w
}

// document walks through all of the document and returns the output. The error is that of
// invalid JSON, of ctx, or of an unusable document.
func (w *walk) document(s *shape) ([]byte, error) {
	w.required = !w.value(s) || w.required
	switch {
	case w.end():
	case w.err != nil:
		return nil, w.err
	case w.pos == len(w.doc):
		return nil, &SyntaxError{Offset: int64(w.pos), Truncated: true}
	default:
		return nil, &SyntaxError{Offset: int64(w.pos) + 1}
	}
	if w.out == nil {
		return w.doc, w.topErr
	}
	w.out.Write(w.doc[w.copied:])
	return w.out.Bytes(), w.topErr
}

// result is what was found in a document of valid JSON.
func (w *walk) result(lenient bool) (Mismatches, error) {
	switch {
	case w.topErr != nil:
		return Mismatches{}, w.topErr
	case w.dataErr != nil:
		return Mismatches{}, w.dataErr
	case w.required || w.mismatches.Count > 0 && !lenient:
		return Mismatches{}, &MismatchError{w.mismatches}
	}
	return w.mismatches, nil
}

// envelope walks through an answer and returns its envelope and its data. Without a shape
// the data may be anything.
func (w *walk) envelope(data *shape) (env Envelope, rest []byte, err error) {
	if w.peek() != '{' {
		_, err := w.document(nil)
		return env, nil, err
	}
	if data != nil {
		required := *data
		required.required, data = true, &required
	}
	var codeAt, msgAt, dataAt span
	out, err := w.document(&shape{jsonType: "object", fields: map[string]*field{
		"code": {shape: &shape{}, name: "code", bit: 0, exact: true, at: &codeAt},
		"msg":  {shape: &shape{}, name: "msg", bit: 1, at: &msgAt},
		"data": {shape: data, name: "data", bit: 2, exact: true, at: &dataAt},
	}})
	if err != nil {
		return env, nil, err
	}
	if raw := codeAt.of(out); jsonTypeOf(raw) != "null" {
		code, ok := parseInt(raw, strconv.IntSize)
		if !ok {
			return env, nil, &MismatchError{Mismatches{[]Mismatch{{"code", "integer", jsonTypeOf(raw)}}, 1}}
		}
		env.Code, env.HasCode = int(code), true
	}
	switch raw := msgAt.of(out); {
	case jsonTypeOf(raw) == "null":
	case jsonTypeOf(raw) == "string" && len(raw) <= maxMsg:
		err = json.Unmarshal(raw, &env.Msg)
	case raw[0] == '{', raw[0] == '[': // its values may be about guests
		env.Msg = outlineOf(raw[:min(len(raw), maxMsg)])
	default:
		env.Msg = strings.ToValidUTF8(string(raw[:min(len(raw), maxMsg)]), "�")
	}
	return env, dataAt.of(out), err
}

// maxMsg is how long a msg may be, in bytes. A longer one is cut and stays as it is
// written.
const maxMsg = 64 << 10

// span is a part of a text.
type span struct{ from, to int }

func (s span) of(text []byte) []byte { return text[s.from:s.to] }

// value walks through a value, and reports whether it fits. A number in the place of text
// does, as its digits, although its type is a mismatch.
func (w *walk) value(s *shape) (fits bool) {
	c, begin := w.peek(), w.pos
	if s == nil || w.dataErr != nil || c == 'n' {
		w.skip(len(w.path))
		return true
	}
	w.spend(s.pointee)
	switch {
	case c == '{' && s.jsonType == "object":
		return w.members(s)
	case c == '[' && s.jsonType == "array":
		w.elements(s)
		return true
	}
	w.skip(len(w.path))
	text := w.doc[begin:w.pos]
	if s.fits(text) {
		return true
	}
	got := jsonTypeOf(text)
	w.mismatch(s, got)
	if s.jsonType == "string" && got == "number" {
		w.replace(begin, begin, `"`)
		w.replace(w.pos, w.pos, `"`)
		return true
	}
	return false
}

// members walks through an object, and reports whether its essential fields fit.
func (w *walk) members(s *shape) (fits bool) {
	var seen uint64          // a bit for each field
	var keys map[string]bool // of a map
	if s.elem != nil {
		keys = map[string]bool{}
	}
	outside := w.lost
	fits = true
	at := len(w.path)
	w.path = append(w.path, pathStep{})
	for more := w.Object(); more; more = w.Member() {
		switch f, name := s.lookup(w.Lexer); {
		case keys != nil:
			w.path[at].name = safeKey(string(name))
			w.rejectIf(keys[string(name)], "comes twice")
			w.spend(mapEntrySize(s.elem.size))
			keys[string(name)] = true
			w.valueOrNull(s.elem)
		case f != nil:
			w.path[at].name = f.name
			w.rejectIf(seen&(1<<f.bit) != 0, "comes twice")
			seen |= 1 << f.bit
			before := w.lost
			w.field(f)
			fits = fits && !(f.essential && w.lost > before)
		default:
			if f := s.inOtherCase(string(name)); f != nil {
				w.path[at].name = f.name
				w.rejectIf(f.exact, "comes in another letter case")
				w.blankName(w.name, w.nameOffset())
			}
			w.skip(len(w.path))
		}
	}
	w.path = w.path[:at]
	if s.essentials {
		w.lost = outside
	}
	return fits
}

// field walks through the value of a field. One that does not fit has its name blanked.
func (w *walk) field(f *field) {
	name, nameAt := w.name, w.nameOffset()
	w.peek()
	begin := w.outOffset()
	if !w.valueOrLost(f.shape) {
		w.blankName(name, nameAt)
	}
	if f.at != nil {
		*f.at = span{begin, w.outOffset()}
	}
}

// valueOrNull walks through an element or the value of a map. One that does not fit becomes
// null.
func (w *walk) valueOrNull(s *shape) {
	w.peek()
	begin := w.pos
	if !w.valueOrLost(s) {
		w.replace(begin, w.pos, "null")
	}
}

// valueOrLost walks through a value. One that does not fit is as it was in the output.
func (w *walk) valueOrLost(s *shape) (fits bool) {
	begin := w.mark()
	if fits = w.value(s); !fits {
		w.lost++
		w.required = w.required || s.required
		w.undo(begin)
	}
	return fits
}

// elements walks through an array. Elements with essential fields are left out if they do
// not fit.
func (w *walk) elements(s *shape) {
	at := len(w.path)
	w.path = append(w.path, pathStep{})
	kept, behind := false, w.pos+1 // the element before
	for more := w.array(); more; more = w.element() {
		w.spend(s.elem.size)
		if s.elem.required && w.peek() == 'n' {
			w.mismatch(s.elem, "null")
			w.required = true
		}
		switch {
		case !s.elem.essentials:
			w.valueOrNull(s.elem)
		case w.valueOrNothing(s.elem, kept, behind):
			kept = true
		}
		behind = w.pos
		w.path[at].index++
	}
	w.path = w.path[:at]
}

// valueOrNothing walks through an element, and reports whether it stays. A comma goes with
// it, or with the element before it if none was kept: that one ended at behind.
func (w *walk) valueOrNothing(s *shape, kept bool, behind int) bool {
	if !kept {
		w.replace(behind, w.pos, "")
	}
	null := w.peek() == 'n'
	begin, from := w.mark(), w.pos
	if w.value(s) && !null {
		return true
	}
	if null {
		w.mismatch(s, "null")
	}
	if kept {
		from = behind
	}
	w.undo(begin)
	w.replace(from, w.pos, "")
	return false
}

// rejectIf records that the document is unusable. Only the first problem counts.
func (w *walk) rejectIf(condition bool, problem string) {
	switch {
	case condition && len(w.path) == 1 && w.topErr == nil:
		w.topErr = &UnusableError{w.location(), problem}
	case condition && w.dataErr == nil:
		w.dataErr = &UnusableError{w.location(), problem}
	}
}

func (w *walk) spend(size int) {
	w.budget -= size
	w.rejectIf(w.budget < 0, "would make the answer take more memory than twice its length and 4 MiB")
}

func (w *walk) mismatch(s *shape, got string) {
	if w.mismatches.Count++; len(w.mismatches.List) < maxListed {
		w.mismatches.List = append(w.mismatches.List, Mismatch{w.location(), s.jsonType, got})
	}
}

// location is the JSON path of the current value.
func (w *walk) location() string {
	if len(w.path) == 0 {
		return "the document"
	}
	var path []byte
	for _, step := range w.path {
		if step.name != "" {
			path = append(append(path, '.'), step.name...)
		} else {
			path = append(strconv.AppendInt(append(path, '['), int64(step.index), 10), ']')
		}
	}
	return strings.TrimPrefix(string(path), ".")
}

// safeKey is a map's key as a path shows it. Keys are text of the answer: only what may be
// a currency is shown.
func safeKey(key string) string {
	const currency = 3
	if len(key) == currency && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return key
	}
	return "*"
}

// blankName empties the name of a member, so that it matches no field.
func (w *walk) blankName(name []byte, at int) { w.replace(at, at+len(name), "") }

// replace puts a text in the place of a part of the document. The output of a document
// that is an error is never read.
func (w *walk) replace(from, to int, with string) {
	if w.required || w.dataErr != nil || w.topErr != nil {
		return
	}
	if w.out == nil {
		w.out = outputs.Get().(*bytes.Buffer)
		w.out.Grow(len(w.doc))
	}
	w.out.Write(w.doc[w.copied:from])
	w.out.WriteString(with)
	w.copied = to
}

// mark is how far the output goes.
type mark struct{ written, copied int }

func (w *walk) mark() mark {
	if w.out == nil {
		return mark{}
	}
	return mark{w.out.Len(), w.copied}
}

// undo takes back the replacements since the mark.
func (w *walk) undo(to mark) {
	if w.out != nil {
		w.out.Truncate(to.written)
		w.copied = to.copied
	}
}

// outOffset is the current offset in the output.
func (w *walk) outOffset() int {
	if w.out == nil {
		return w.pos
	}
	return w.out.Len() + w.pos - w.copied
}

var outputs = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is how large a buffer is that goes back to the pool, in bytes.
const maxPooled = 16 << 20

// release also ends the life of the output.
func (w *walk) release() {
	w.Lexer.release()
	if w.out != nil && w.out.Cap() <= maxPooled {
		w.out.Reset()
		outputs.Put(w.out)
	}
}
