// Reading values by encoding/json, in pieces.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"

	"github.com/hotelstays/hotelstays-go/internal/wire/lexer"
)

// piece is how long a text is, in bytes, that is handed to encoding/json as a whole. What
// is longer is taken apart: encoding/json does not look at a ctx, and grows a long list
// through several times its memory.
const piece = 64 << 10

// standard reads a text that a walk has left.
func standard(ctx context.Context, text []byte, into any) error {
	r := reader{Lexer: lexer.New(text), text: text}
	defer r.Release()
	r.Guard(ctx, math.MaxInt)
	r.Loose()
	v := reflect.ValueOf(into).Elem()
	return r.value(v, shapeOf(v.Type()))
}

type reader struct {
	*lexer.Lexer
	text []byte
	list []byte // memory for the text of some elements
}

func (r *reader) value(v reflect.Value, s *shape) error {
	first, begin, length := r.Peek(), r.Offset(), 0
	if first == '[' {
		for more := r.Array(); more; more = r.Element() {
			r.Skip(0)
			length++
		}
	} else {
		r.Skip(0)
	}
	text := r.text[begin:r.Offset()]
	switch {
	case r.Err() != nil:
		return r.Err()
	case len(text) <= piece:
	case v.Kind() == reflect.Pointer:
		r.Rewind(begin)
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(v.Elem(), s)
	case s.want == "object" && first == '{':
		r.Rewind(begin)
		return r.object(v, s)
	case s.want == "array" && first == '[':
		r.Rewind(begin)
		return r.array(v, s, length)
	case s.want == "string" && first == '"' && v.Kind() == reflect.String:
		r.Rewind(begin)
		v.SetString(r.String())
		return r.Err()
	case s.t == number && first != '"':
		v.SetString(string(text))
		return nil
	case s.t == rawMessage:
		v.SetBytes(bytes.Clone(text))
		return nil
	}
	return unmarshal(text, v)
}

func (r *reader) object(v reflect.Value, s *shape) error {
	if s.elem != nil {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for more := r.Object(); more; more = r.Member() {
		name := r.NameText()
		switch f := s.fields[string(name)]; {
		case f != nil:
			if err := r.value(v.FieldByIndex(f.index), f.shape); err != nil {
				return err
			}
		case s.elem != nil:
			key := reflect.ValueOf(string(name)).Convert(v.Type().Key())
			entry := reflect.New(v.Type().Elem()).Elem()
			if err := r.value(entry, s.elem); err != nil {
				return err
			}
			v.SetMapIndex(key, entry)
		default:
			r.Skip(0)
		}
	}
	return r.Err()
}

// array reads a long array of a known length, several elements at a time.
func (r *reader) array(v reflect.Value, s *shape, length int) error {
	v.Set(reflect.MakeSlice(v.Type(), length, length))
	var run span // of the elements that are not read yet
	from, i := 0, 0
	for more := r.Array(); more; more = r.Element() {
		r.Peek()
		begin := r.Offset()
		if from == i {
			run.from = begin
		}
		r.Skip(0)
		if r.Offset()-begin > piece {
			if err := r.elements(v.Slice3(from, from, i), run); err != nil {
				return err
			}
			r.Rewind(begin)
			if err := r.value(v.Index(i), s.elem); err != nil {
				return err
			}
			from = i + 1
		}
		i++
		if run.to = r.Offset(); run.to-run.from > piece && from < i {
			if err := r.elements(v.Slice3(from, from, i), run); err != nil {
				return err
			}
			from = i
		}
	}
	if r.Err() != nil {
		return r.Err()
	}
	return r.elements(v.Slice3(from, from, i), run)
}

// elements reads elements into the room that a slice has for them.
func (r *reader) elements(room reflect.Value, run span) error {
	if room.Cap() == 0 {
		return nil
	}
	r.list = append(append(append(r.list[:0], '['), run.of(r.text)...), ']')
	into := reflect.New(room.Type())
	into.Elem().Set(room)
	return unmarshal(r.list, into.Elem())
}

func unmarshal(text []byte, v reflect.Value) error {
	if json.Unmarshal(text, v.Addr().Interface()) != nil {
		return &MismatchError{} // by a type that decodes itself
	}
	return nil
}
