// Reading an answer that is not as documented: all but its values.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/hotelstays/hotelstays-go/internal/wire/lexer"
)

// budget is how much memory the lists, pointers and maps of an answer of that length
// may take, in bytes. What is documented takes about as much as its text: only elements
// that are all but empty take more than twice that.
func budget(length int) int { return 2*length + 4<<20 }

// walk goes through a document once, guided by the shape that it should have. It finds
// all that this package decides itself: bytes that are not JSON, names that come twice,
// lists that take too much memory, values of another type than documented. The text
// that it leaves holds none of it, and encoding/json reads that as it is meant.
type walk struct {
	*lexer.Lexer
	ctx    context.Context
	body   []byte
	budget int
	path   []step

	found Mismatches
	lost  bool // one of them is of a value that must not be left out
	// broken is why the document cannot be used, though it is JSON, fault why some
	// member of it cannot.
	broken, fault error

	text   *bytes.Buffer // the body up to copied, without what was taken out
	copied int
}

// step is a member of an object, or an element of an array.
type step struct {
	name  string
	index int
}

func newWalk(ctx context.Context, body []byte) *walk {
	w := &walk{Lexer: lexer.New(body), ctx: ctx, body: body, budget: budget(len(body))}
	w.Guard(ctx, 0) // which the walk does not spend
	w.Loose()
	return w
}

// document walks through all of it. It returns the text that is left, or the error of
// bytes that are not JSON, of a ctx that ended, or of a document that cannot be used.
func (w *walk) document(s *shape) ([]byte, error) {
	w.value(s)
	switch {
	case w.End():
	case w.Err() != nil:
		return nil, w.Err()
	case w.Offset() == len(w.body):
		return nil, &SyntaxError{Offset: int64(w.Offset()), Truncated: true}
	default:
		return nil, &SyntaxError{Offset: int64(w.Offset()) + 1}
	}
	if w.text == nil {
		return w.body, w.broken
	}
	w.text.Write(w.body[w.copied:])
	return w.text.Bytes(), w.broken
}

// outcome is what there is to say of a document that is JSON, and of its members.
func (w *walk) outcome(lenient bool) (Mismatches, error) {
	switch {
	case w.broken != nil:
		return Mismatches{}, w.broken
	case w.fault != nil:
		return Mismatches{}, w.fault
	case w.lost || w.found.Count > 0 && !lenient:
		return Mismatches{}, &MismatchError{w.found}
	}
	return w.found, nil
}

// envelope walks through an enveloped answer whose data has a shape; nil is any. It
// returns what is left of data, too.
func (w *walk) envelope(data *shape) (env Envelope, left []byte, err error) {
	if w.Peek() != '{' {
		_, err := w.document(nil)
		return env, nil, err
	}
	if data != nil {
		whole := *data
		whole.whole, data = true, &whole
	}
	var code, msg, rest span
	text, err := w.document(&shape{want: "object", fields: map[string]*field{
		"code": {shape: &shape{}, name: "code", bit: 0, exact: true, span: &code},
		"msg":  {shape: &shape{}, name: "msg", bit: 1, span: &msg},
		"data": {shape: data, name: "data", bit: 2, exact: true, span: &rest},
	}})
	if err != nil {
		return env, nil, err
	}
	if raw := code.of(text); kindOf(raw) != "null" {
		code, ok := lexer.ParseInt(raw, strconv.IntSize)
		if !ok {
			return Envelope{}, nil, &MismatchError{Mismatches{List: []Mismatch{{"code", "integer", kindOf(raw)}}, Count: 1}}
		}
		env.Code, env.HasCode = int(code), true
	}
	switch raw := msg.of(text); {
	case kindOf(raw) == "null":
	case kindOf(raw) == "string" && len(raw) <= maxMsg:
		err = json.Unmarshal(raw, &env.Msg)
	default:
		env.Msg = strings.ToValidUTF8(string(raw[:min(len(raw), maxMsg)]), "�")
	}
	return env, rest.of(text), err
}

// maxMsg is how long a msg may be, in bytes. Of a longer one, the beginning counts, as
// it is written.
const maxMsg = 64 << 10

// span is a part of a text.
type span struct{ from, to int }

func (s span) of(text []byte) []byte { return text[s.from:s.to] }

// value walks through a value, and reports whether it is of the documented type.
func (w *walk) value(s *shape) (fits bool) {
	c, begin := w.Peek(), w.Offset()
	if s == nil || w.fault != nil || c == 'n' {
		w.Skip(len(w.path))
		return true
	}
	w.spend(s.target)
	switch {
	case c == '{' && s.want == "object":
		w.object(s)
		return true
	case c == '[' && s.want == "array":
		w.array(s)
		return true
	}
	w.Skip(len(w.path))
	text := w.body[begin:w.Offset()]
	if fits = s.fits(text); !fits {
		w.mismatch(s, kindOf(text))
	}
	return fits
}

func (w *walk) object(s *shape) {
	var seen lexer.Seen
	var keys map[string]bool // of a map
	if s.elem != nil {
		keys = map[string]bool{}
	}
	at := len(w.path)
	w.path = append(w.path, step{})
	for more := w.Object(); more; more = w.Member() {
		name := w.NameText()
		switch f := s.fields[string(name)]; {
		case keys != nil:
			w.path[at].name = shownKey(string(name))
			w.refuse(keys[string(name)], "comes twice")
			w.spend(lexer.MapEntry(s.elem.size))
			keys[string(name)] = true
			w.valueOrNull(s.elem)
		case f != nil:
			w.path[at].name = f.name
			w.refuse(seen&(1<<f.bit) != 0, "comes twice")
			seen |= 1 << f.bit
			w.member(f)
		default:
			if f := s.inOtherCase(string(name)); f != nil {
				w.path[at].name = f.name
				w.refuse(f.exact, "comes in another letter case")
				w.rename(w.Name(), w.NameOffset())
			}
			w.Skip(len(w.path))
		}
	}
	w.path = w.path[:at]
}

// member walks through the value of a field, and remembers where it is in the text that
// is left. One of another type than documented loses its name.
func (w *walk) member(f *field) {
	name, at := w.Name(), w.NameOffset()
	w.Peek()
	begin := w.left(w.Offset())
	if !w.value(f.shape) && !f.whole {
		w.rename(name, at)
	}
	if f.span != nil {
		*f.span = span{begin, w.left(w.Offset())}
	}
}

// valueOrNull walks through an element or an entry. One of another type than documented
// becomes null, which decodes to nothing.
func (w *walk) valueOrNull(s *shape) {
	w.Peek()
	begin := w.Offset()
	if !w.value(s) {
		w.replace(begin, w.Offset(), "null")
	}
}

func (w *walk) array(s *shape) {
	at := len(w.path)
	w.path = append(w.path, step{})
	for more := w.Array(); more; more = w.Element() {
		w.refuse(s.most > 0 && w.path[at].index == s.most, "is beyond the longest page that is documented")
		w.spend(s.elem.size)
		w.valueOrNull(s.elem)
		w.path[at].index++
	}
	w.path = w.path[:at]
}

// refuse makes the document one that cannot be used, where that is so.
func (w *walk) refuse(so bool, problem string) {
	switch {
	case so && len(w.path) == 1 && w.broken == nil:
		w.broken = &UnusableError{w.where(), problem}
	case so && w.fault == nil:
		w.fault = &UnusableError{w.where(), problem}
	}
}

func (w *walk) spend(size int) {
	w.budget -= size
	w.refuse(w.budget < 0, "would make the answer take more memory than twice its length and 4 MiB")
}

func (w *walk) mismatch(s *shape, got string) {
	w.lost = w.lost || s.whole || len(w.path) == 0
	if w.found.Count++; len(w.found.List) < maxListed {
		w.found.List = append(w.found.List, Mismatch{w.where(), s.want, got})
	}
}

// where is the path of the value that is walked through.
func (w *walk) where() string {
	if len(w.path) == 0 {
		return "the document"
	}
	var path []byte
	for _, s := range w.path {
		if s.name != "" {
			path = append(append(path, '.'), s.name...)
		} else {
			path = append(strconv.AppendInt(append(path, '['), int64(s.index), 10), ']')
		}
	}
	return strings.TrimPrefix(string(path), ".")
}

// shownKey is what a path shows of a map's key. The key is no documented name but a
// text of the answer, which may be anything: only what may be a currency stands.
func shownKey(key string) string {
	const currency = 3
	if len(key) == currency && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return key
	}
	return "*"
}

// rename takes the name away from a member, so that it is none of a field.
func (w *walk) rename(name []byte, at int) { w.replace(at, at+len(name), "") }

// replace puts another text in the place of a part of the body. Nobody reads what is
// left of a document that cannot be used.
func (w *walk) replace(from, to int, with string) {
	if w.lost || w.fault != nil || w.broken != nil {
		return
	}
	if w.text == nil {
		w.text = texts.Get().(*bytes.Buffer)
		w.text.Grow(len(w.body))
	}
	w.text.Write(w.body[w.copied:from])
	w.text.WriteString(with)
	w.copied = to
}

// left returns where a place of the body is in the text that is left.
func (w *walk) left(offset int) int {
	if w.text == nil {
		return offset
	}
	return w.text.Len() + offset - w.copied
}

// texts are the buffers of texts that walks have left.
var texts = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is how large a buffer is that is kept for the next walk, in bytes.
const maxPooled = 16 << 20

// release gives the memory back, the text that is left with it.
func (w *walk) release() {
	w.Release()
	if w.text != nil && w.text.Cap() <= maxPooled {
		w.text.Reset()
		texts.Put(w.text)
	}
}
