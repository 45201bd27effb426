// What a struct looks like on the wire, once for each type.

package wire

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hotelstays/hotelstays-go/internal/wire/lexer"
)

// shape is how values of a Go type are written in JSON.
type shape struct {
	t reflect.Type
	// want is the JSON type in the document's words; empty for any.
	want string
	// size is how much memory a value takes, and target what it points at.
	size, target int
	fields       map[string]*field // of a struct, by their names on the wire
	elem         *shape            // of a list or a map
	most         int               // elements of a list; 0 is no limit
	// whole is of a value that must not be left out, nor an element of it.
	whole bool
}

// field is a field of a struct.
//
// Its tag max limits the elements of a list. With the tag whole nothing of the list may
// be left out, and the name may not come in another letter case.
type field struct {
	*shape
	name  string // on the wire
	index []int  // of the field in its struct
	bit   uint   // in a lexer.Seen
	exact bool   // the name may not come in another letter case
	span  *span  // where the value is to be remembered, if anywhere
}

var (
	shapes          sync.Map // the shape of each reflect.Type that was asked for
	number          = reflect.TypeFor[json.Number]()
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := newShape(t)
	shapes.Store(t, s)
	return s
}

func newShape(t reflect.Type) *shape {
	s := &shape{t: t, size: int(t.Size())}
	switch pointer := reflect.PointerTo(t); {
	case pointer.Implements(unmarshaler):
		return s
	case pointer.Implements(textUnmarshaler):
		s.want = "string"
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		*s = *shapeOf(t.Elem())
		s.size, s.target = int(t.Size()), s.size
	case reflect.Struct:
		s.want, s.fields = "object", map[string]*field{}
		s.addFields(t, nil)
	case reflect.Map:
		s.want, s.elem = "object", shapeOf(t.Elem())
	case reflect.Slice:
		s.want, s.elem = "array", shapeOf(t.Elem())
	case reflect.String:
		s.want = "string"
		if t == number {
			s.want = "number"
		}
	case reflect.Bool:
		s.want = "boolean"
	case reflect.Float64:
		s.want = "number"
	default:
		s.want = "integer"
	}
	return s
}

// addFields adds the fields of a struct, and those of the structs that it embeds.
func (s *shape) addFields(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clip(index), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			s.addFields(f.Type, at)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		of := *shapeOf(f.Type)
		of.most, _ = strconv.Atoi(f.Tag.Get("max"))
		exact := f.Tag.Get("whole") != ""
		if exact {
			elem := *of.elem
			of.whole, elem.whole, of.elem = true, true, &elem
		}
		s.fields[name] = &field{&of, name, at, uint(len(s.fields)), exact, nil}
	}
}

// inOtherCase returns the field whose name differs in letter case alone, or nil.
func (s *shape) inOtherCase(name string) *field {
	for documented, f := range s.fields {
		if strings.EqualFold(documented, name) {
			return f
		}
	}
	return nil
}

// fits reports whether encoding/json makes a value of a text that is no object, no
// array and not null. A float or a number in quotes that is longer than 1 KiB is none:
// reading it would take its time.
func (s *shape) fits(text []byte) bool {
	kind := kindOf(text)
	switch s.want {
	case "":
		return true
	case "integer":
		_, ok := lexer.ParseInt(text, s.t.Bits())
		return kind == "number" && ok
	case "number":
		if s.t == number {
			return kind == "number" || kind == "string" && isNumber(text)
		}
		_, ok := lexer.ParseFloat(text)
		return kind == "number" && ok
	}
	return kind == s.want
}

// maxQuoted is how long a number in quotes may be, in bytes.
const maxQuoted = 1 << 10

// isNumber reports whether a quoted text is a number, which a json.Number takes.
func isNumber(quoted []byte) bool {
	var text string
	if len(quoted) > maxQuoted || json.Unmarshal(quoted, &text) != nil || text == "" || strings.TrimSpace(text) != text {
		return false
	}
	return kindOf([]byte(text)) == "number" && json.Valid([]byte(text))
}

// kindOf names the JSON type of a text by its first character; what is not there
// is null.
func kindOf(text []byte) string {
	if len(text) == 0 {
		return "null"
	}
	switch text[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
