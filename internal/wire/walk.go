// The walk: one pass over an answer that the fast path did not read.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

// memoryBudget is how much memory the lists, pointers and maps of an answer of that length
// may take, in bytes. Documented answers take about their own length; only nearly empty
// elements take more than twice that.
func memoryBudget(length int) int { return 2*length + 4<<20 }

// walk compares a document with its documented shape, and fills in the values that fit. It finds
// invalid JSON, duplicate names, lists above their limits and type mismatches.
type walk struct {
	*Lexer
	doc  []byte
	into reflect.Value // of an answer's data
	path []pathStep

	mismatches Mismatches
	lost       int  // values that did not fit, outside of structs with essential fields that are complete
	required   bool // a mismatch is in a value that must not be left out
	// topErr makes the whole document unusable, dataErr only what is below its members.
	topErr, dataErr error
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

// document walks through all of the document. The error is that of invalid JSON, of ctx, or of
// an unusable document.
func (w *walk) document(s *shape, v reflect.Value) error {
	w.required = !w.value(s, v) || w.required
	switch {
	case w.end():
		return w.topErr
	case w.err != nil:
		return w.err
	case w.pos == len(w.doc):
		return &SyntaxError{Offset: int64(w.pos), Truncated: true}
	}
	return &SyntaxError{Offset: int64(w.pos) + 1}
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

// envelope walks through an answer and returns its envelope and the text of its data. Without a
// shape the data may be anything.
func (w *walk) envelope(data *shape) (env Envelope, rest []byte, err error) {
	if w.peek() != '{' {
		return env, nil, w.document(nil, w.into)
	}
	if data != nil {
		required := *data
		required.required, data = true, &required
	}
	var codeAt, msgAt, dataAt span
	if err := w.document(&shape{jsonType: "object", fields: map[string]*field{
		"code": {name: "code", bit: 0, exact: true, at: &codeAt},
		"msg":  {name: "msg", bit: 1, at: &msgAt},
		"data": {name: "data", bit: 2, exact: true, at: &dataAt, shape: data},
	}}, reflect.Value{}); err != nil {
		return env, nil, err
	}
	if raw := codeAt.of(w.doc); jsonTypeOf(raw) != "null" {
		code, ok := parseInt(raw, strconv.IntSize)
		if !ok {
			return env, nil, &MismatchError{Mismatches{[]Mismatch{{"code", "integer", jsonTypeOf(raw)}}, 1}}
		}
		env.Code, env.HasCode = int(code), true
	}
	switch raw := msgAt.of(w.doc); {
	case jsonTypeOf(raw) == "null":
	case jsonTypeOf(raw) == "string" && len(raw) <= maxMsg:
		err = json.Unmarshal(raw, &env.Msg)
	case raw[0] == '{', raw[0] == '[': // its values may be about guests
		env.Msg = outlineOf(raw[:min(len(raw), maxMsg)])
	default:
		env.Msg = strings.ToValidUTF8(string(raw[:min(len(raw), maxMsg)]), "�")
	}
	return env, dataAt.of(w.doc), err
}

// maxMsg is how long a msg may be, in bytes. A longer one is cut and stays as it is
// written.
const maxMsg = 64 << 10

// span is a part of a text.
type span struct{ from, to int }

func (s span) of(text []byte) []byte { return text[s.from:s.to] }

// value walks through a value and stores it, and reports whether it fits. A number in the place
// of text does, as its digits, although its type is a mismatch.
func (w *walk) value(s *shape, v reflect.Value) (fits bool) {
	c, begin := w.peek(), w.pos
	if s == nil || w.unusable() || c == 'n' && (s.jsonType != "" || s.pointee > 0) {
		w.skip(len(w.path))
		return true
	}
	if w.spend(s.pointee); s.pointee > 0 {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case c == '{' && s.jsonType == "object":
		return w.members(s, v)
	case c == '[' && s.jsonType == "array":
		w.elements(s, v)
		return true
	}
	w.skip(len(w.path))
	text := w.doc[begin:w.pos]
	got := jsonTypeOf(text)
	if fits = w.failed || s.fits(text); !fits {
		w.mismatch(s, got)
		if s.jsonType != "string" || got != "number" {
			return false
		}
		if v.Kind() != reflect.String {
			text = slices.Concat([]byte{'"'}, text, []byte{'"'})
		}
	}
	switch {
	case w.failed:
	case got == "number" && v.Kind() == reflect.String: // also json.Number
		v.SetString(w.internString(text))
	case v.Type() == rawMessage: // may be long, and has been read
		v.SetBytes(bytes.Clone(text))
	case s.jsonType == "integer":
		n, _ := parseWhole(text, s.t.Bits())
		v.SetInt(n)
	case v.Kind() == reflect.Bool:
		v.SetBool(text[0] == 't')
	case got == "string" && v.Kind() == reflect.String: // encoding/json does not look at ctx
		w.rewind(begin)
		v.SetString(w.internString(w.text()))
	default:
		w.required = json.Unmarshal(text, v.Addr().Interface()) != nil || w.required // of a type that decodes itself
	}
	return true
}

// members walks through an object, and reports whether its essential fields fit.
func (w *walk) members(s *shape, v reflect.Value) (fits bool) {
	var seen uint64 // a bit for each field
	if s.elem != nil {
		v.Set(reflect.MakeMap(v.Type()))
	}
	outside := w.lost
	fits = true
	at := len(w.path)
	w.path = append(w.path, pathStep{})
	for more := w.Object(); more; more = w.Member() {
		switch f, name := s.lookup(w.Lexer); {
		case s.elem != nil:
			w.path[at].name = safeKey(string(name))
			w.entry(s.elem, v, string(name))
		case f != nil:
			w.path[at].name = f.name
			w.rejectIf(seen&(1<<f.bit) != 0, "comes twice")
			seen |= 1 << f.bit
			before := w.lost
			w.field(f, v)
			fits = fits && !(f.essential && w.lost > before)
		default:
			if f := s.inOtherCase(string(name)); f != nil {
				w.path[at].name = f.name
				w.rejectIf(f.exact, "comes in another letter case")
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

// entry walks through the value of a map.
func (w *walk) entry(elem *shape, m reflect.Value, name string) {
	key := reflect.ValueOf(name).Convert(m.Type().Key())
	w.rejectIf(m.MapIndex(key).IsValid(), "comes twice")
	w.spend(mapEntrySize(elem.size))
	v := reflect.New(m.Type().Elem()).Elem()
	if w.valueOrLost(elem, v); !w.unusable() {
		m.SetMapIndex(key, v)
	}
}

// field walks through the value of a field of that struct.
func (w *walk) field(f *field, of reflect.Value) {
	if f.at == nil {
		w.valueOrLost(f.shape, of.Field(f.index))
		return
	}
	w.peek()
	f.at.from = w.pos
	w.valueOrLost(f.shape, w.into)
	f.at.to = w.pos
}

// valueOrLost walks through a value. One that does not fit stays empty, or is types.OrderStatusUnreadable.
func (w *walk) valueOrLost(s *shape, v reflect.Value) {
	if !w.value(s, v) {
		w.lost++
		w.required = w.required || s.required
		if v.SetZero(); v.Type() == orderStatus {
			v.SetInt(int64(types.OrderStatusUnreadable))
		}
	}
}

// elements walks through an array. Elements with essential fields are left out if they do
// not fit.
func (w *walk) elements(s *shape, v reflect.Value) {
	at, begin, length := len(w.path), w.pos, 0
	for more := w.array(); more; more = w.element() {
		w.skip(at + 1)
		length++
	}
	if w.spend(length * s.elem.size); w.failed || w.unusable() {
		return
	}
	w.rewind(begin)
	v.Set(reflect.MakeSlice(v.Type(), length, length))
	kept := 0
	w.path = append(w.path, pathStep{})
	for more := w.array(); more; more = w.element() {
		null := w.peek() == 'n'
		if null && (s.elem.required || s.elem.essentials) {
			w.mismatch(s.elem, "null")
			w.required = w.required || s.elem.required
		}
		element := v.Index(kept)
		switch {
		case !s.elem.essentials:
			w.valueOrLost(s.elem, element)
			kept++
		case w.value(s.elem, element) && !null:
			kept++
		default:
			element.SetZero()
		}
		w.path[at].index++
	}
	w.path = w.path[:at]
	v.SetLen(kept)
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

func (w *walk) unusable() bool { return w.topErr != nil || w.dataErr != nil }

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
