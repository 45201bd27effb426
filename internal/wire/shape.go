// The documented JSON of a struct, computed once for each type.

package wire

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/hotelstays/hotelstays-go/types"
)

// shape is the documented JSON of a Go type.
type shape struct {
	t        reflect.Type
	jsonType string // in the document's words; empty for any
	// size is how much memory a value takes, and pointee what it points at.
	size, pointee int
	fields        map[string]*field // of a struct, by their names on the wire
	elem          *shape            // of a list or a map
	essentials    bool              // a struct with essential fields
	required      bool              // a mismatch here, or in an element, must not be left out
}

// field is a field of a struct.
//
// With the tag essential a struct is useless without it: if something in it does not fit,
// the struct does not fit either, and is left out of its list. What does not fit in a struct
// below that has essential fields itself is a matter of that struct alone.
//
// With the tag whole nothing of the list may be left out, and its name must not come in
// another letter case.
type field struct {
	*shape
	name  string // on the wire
	index int    // of the field in its struct
	bit   uint   // where the walk notes that it was seen
	exact bool   // the name must not come in another letter case

	essential bool
	at        *span // where the walk stores the value's place in the document, if set
}

var (
	shapes          sync.Map // *shape by reflect.Type
	number          = reflect.TypeFor[json.Number]()
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	orderStatus     = reflect.TypeFor[types.OrderStatus]()
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
		s.jsonType = "string"
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		*s = *shapeOf(t.Elem())
		s.size, s.pointee = int(t.Size()), s.size
	case reflect.Struct:
		s.jsonType, s.fields = "object", map[string]*field{}
		s.addFields(t)
	case reflect.Map:
		s.jsonType, s.elem = "object", shapeOf(t.Elem())
	case reflect.Slice:
		s.jsonType, s.elem = "array", shapeOf(t.Elem())
	case reflect.String:
		s.jsonType = "string"
		if t == number {
			s.jsonType = "number"
		}
	case reflect.Bool:
		s.jsonType = "boolean"
	case reflect.Float64:
		s.jsonType = "number"
	default:
		s.jsonType = "integer"
	}
	return s
}

// addFields adds the fields of a struct. None is embedded: decodegen refuses that.
func (s *shape) addFields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		of := *shapeOf(f.Type)
		essential := f.Tag.Get("essential") != ""
		s.essentials = s.essentials || essential
		exact := f.Tag.Get("whole") != ""
		if exact {
			elem := *of.elem
			of.required, elem.required, of.elem = true, true, &elem
		}
		s.fields[name] = &field{shape: &of, name: name, index: i, bit: uint(len(s.fields)), exact: exact, essential: essential}
	}
}

// lookup returns the field of the member that a Lexer has entered, or its unquoted name.
func (s *shape) lookup(l *Lexer) (*field, []byte) {
	if f := s.fields[string(l.name)]; f != nil {
		return f, nil
	}
	name := l.unquotedName()
	return s.fields[string(name)], name
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

// fits reports whether encoding/json decodes a text that is no object, no array and not
// null. A whole number fits an integer however it is written. A float or a quoted number
// above 1 KiB does not fit: parsing it takes too long.
func (s *shape) fits(text []byte) bool {
	got := jsonTypeOf(text)
	switch s.jsonType {
	case "":
		return true
	case "integer":
		_, ok := parseWhole(text, s.t.Bits())
		return got == "number" && ok
	case "number":
		if s.t == number {
			return got == "number" || got == "string" && isQuotedNumber(text)
		}
		_, ok := parseFloat(text)
		return got == "number" && ok
	}
	return got == s.jsonType
}

// isQuotedNumber reports whether a json.Number takes the number in a string.
func isQuotedNumber(quoted []byte) bool {
	var text string
	if len(quoted) > maxFloat || json.Unmarshal(quoted, &text) != nil || text == "" || strings.TrimSpace(text) != text {
		return false
	}
	return jsonTypeOf([]byte(text)) == "number" && json.Valid([]byte(text))
}

// jsonTypeOf is the type of a JSON text, judged by its first byte. No text is null.
func jsonTypeOf(text []byte) string {
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
