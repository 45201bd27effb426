// Reading the walk's output with encoding/json, in chunks.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"
)

// chunkSize is how long a text is that encoding/json reads as a whole, in bytes. A longer
// one is taken apart: encoding/json does not look at a ctx, and grows a long list through
// several times its memory.
const chunkSize = 64 << 10

// read decodes a walk's output. If the walk replaced something, the generated code may be
// able to read it now.
func (t Target) read(ctx context.Context, text []byte, replaced bool) error {
	if replaced && t.fast(newLexer(ctx, text, math.MaxInt), nil) {
		return nil
	}
	err := standard(ctx, text, t.Into)
	if err != nil {
		t.empty()
	}
	return err
}

func standard(ctx context.Context, text []byte, into any) error {
	r := reader{Lexer: newLexer(ctx, text, math.MaxInt), doc: text}
	defer r.release()
	r.lax = true
	v := reflect.ValueOf(into).Elem()
	return r.value(v, shapeOf(v.Type()))
}

type reader struct {
	*Lexer
	doc   []byte
	chunk []byte // reused for the text of some elements
}

func (r *reader) value(v reflect.Value, s *shape) error {
	first, begin, length := r.peek(), r.pos, 0
	if first == '[' {
		for more := r.array(); more; more = r.element() {
			r.skip(0)
			length++
		}
	} else {
		r.skip(0)
	}
	text := r.doc[begin:r.pos]
	switch {
	case r.err != nil:
		return r.err
	case len(text) <= chunkSize:
	case v.Kind() == reflect.Pointer:
		r.rewind(begin)
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(v.Elem(), s)
	case s.jsonType == "object" && first == '{':
		r.rewind(begin)
		return r.members(v, s)
	case s.jsonType == "array" && first == '[':
		r.rewind(begin)
		return r.elements(v, s, length)
	case s.jsonType == "string" && first == '"' && v.Kind() == reflect.String:
		r.rewind(begin)
		v.SetString(r.copyString(r.text()))
		return r.err
	case s.t == number && first != '"':
		v.SetString(string(text))
		return nil
	case s.t == rawMessage:
		v.SetBytes(bytes.Clone(text))
		return nil
	}
	return unmarshal(text, v)
}

func (r *reader) members(v reflect.Value, s *shape) error {
	if s.elem != nil {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for more := r.Object(); more; more = r.Member() {
		switch f, name := s.lookup(r.Lexer); {
		case f != nil:
			if err := r.value(v.Field(f.index), f.shape); err != nil {
				return err
			}
		case s.elem != nil:
			key := reflect.ValueOf(string(name)).Convert(v.Type().Key())
			value := reflect.New(v.Type().Elem()).Elem()
			if err := r.value(value, s.elem); err != nil {
				return err
			}
			v.SetMapIndex(key, value)
		default:
			r.skip(0)
		}
	}
	return r.err
}

// elements reads a long array, whose length is known, in chunks of several elements.
func (r *reader) elements(v reflect.Value, s *shape, length int) error {
	v.Set(reflect.MakeSlice(v.Type(), length, length))
	var chunk span // of the elements from first to i, which are not read yet
	first, i := 0, 0
	for more := r.array(); more; more = r.element() {
		r.peek()
		begin := r.pos
		r.skip(0)
		if first < i && r.pos-chunk.from > chunkSize {
			if err := r.unmarshalChunk(v.Slice3(first, first, i), chunk); err != nil {
				return err
			}
			first = i
		}
		if first == i {
			chunk.from = begin
		}
		chunk.to = r.pos
		if i++; r.pos-begin > chunkSize {
			r.rewind(begin)
			if err := r.value(v.Index(first), s.elem); err != nil {
				return err
			}
			first = i
		}
	}
	if r.err != nil {
		return r.err
	}
	return r.unmarshalChunk(v.Slice3(first, first, i), chunk)
}

// unmarshalChunk reads elements into the room that a slice has for them.
func (r *reader) unmarshalChunk(room reflect.Value, chunk span) error {
	if room.Cap() == 0 {
		return nil
	}
	r.chunk = append(append(append(r.chunk[:0], '['), chunk.of(r.doc)...), ']')
	into := reflect.New(room.Type())
	into.Elem().Set(room)
	return unmarshal(r.chunk, into.Elem())
}

func unmarshal(text []byte, v reflect.Value) error {
	if json.Unmarshal(text, v.Addr().Interface()) != nil {
		return &MismatchError{} // of a type that decodes itself
	}
	return nil
}
