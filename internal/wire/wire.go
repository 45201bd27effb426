// Package wire encodes requests, and decodes answers and webhooks.
//
// encoding/json decides what a value means. There are two readers on one Lexer. Generated code
// reads an answer of the documented types (fast.go); the build tag hotelstays_stdjson leaves it
// out. Any other answer is walked through by reflection (walk.go).
//
// This package is stricter than encoding/json, but for an integer, which may be written 2.0 or 2e0:
//
//   - Names match exactly. One that differs in letter case is an undocumented name, and
//     ignored; if it is that of code, data or the list of orders, the answer is unusable.
//   - A name or a map's key that appears twice makes the answer unusable.
//   - A value of an undocumented type is a mismatch: an error, or left out and listed, as
//     the caller asks. Then a number in the place of text is read as its digits, and what
//     is useless without the value is left out with it. Where a list must be whole, it is
//     an error.
//   - Lists, pointers and maps may take about twice the memory of the text.
//   - Decoding ends when ctx ends.
//
// Errors name the JSON path of a problem and quote no value, so that they can be logged.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Envelope is an answer without its data.
type Envelope struct {
	// Code is 0 on success. Without HasCode the answer has no envelope.
	Code    int
	HasCode bool
	Msg     string
	// HasData reports that data is present and an object.
	HasData bool
	// Mismatches are those that were left out of data.
	Mismatches
}

// Mismatch is a value whose JSON type is not the documented one.
type Mismatch struct {
	Path string // such as data.hotelOrder.rooms[0].rate.netRate.amount
	Want string // integer, number, string, boolean, array, object
	Got  string
}

func (m Mismatch) String() string { return fmt.Sprintf("%s: want %s, got %s", m.Path, m.Want, m.Got) }

// Mismatches are the first mismatches of an answer, and how many there are.
type Mismatches struct {
	List  []Mismatch
	Count int
}

// maxListed is how many mismatches are listed: a hostile answer may have a million.
const maxListed = 64

func (m *Mismatches) add(more Mismatches) {
	m.List = append(m.List, more.List[:min(len(more.List), maxListed-len(m.List))]...)
	m.Count += more.Count
}

// SyntaxError reports invalid JSON.
type SyntaxError struct {
	Offset    int64
	Truncated bool // the JSON ends before it is complete
}

func (e *SyntaxError) Error() string {
	if e.Truncated {
		return fmt.Sprintf("the JSON ends after %d bytes, before it is complete", e.Offset)
	}
	return fmt.Sprintf("not JSON: the fault is at byte %d", e.Offset)
}

// MismatchError reports mismatches that were not left out.
type MismatchError struct{ Mismatches }

func (e *MismatchError) Error() string {
	if e.Count == 0 {
		return "the JSON is not of the documented shape"
	}
	const shown = 8
	var texts []string
	for _, m := range e.List[:min(len(e.List), shown)] {
		texts = append(texts, m.String())
	}
	if more := e.Count - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// UnusableError reports an answer that is ambiguous or too large.
type UnusableError struct{ Path, Problem string }

func (e *UnusableError) Error() string { return e.Path + " " + e.Problem }

// Encode writes a request body.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Target is what a document is decoded into.
type Target struct {
	// Into points at an empty struct.
	Into any
	// Read decodes into that struct. It is generated; without it there is no fast path.
	Read func(*Lexer)
	// InternStrings allocates strings that repeat only once, also across answers. It is
	// for answers without secrets and personal data.
	InternStrings bool
}

func (t Target) shape() *shape { return shapeOf(reflect.TypeOf(t.Into).Elem()) }

func (t Target) value() reflect.Value { return reflect.ValueOf(t.Into).Elem() }

func (t Target) empty() { t.value().SetZero() }

// Decode decodes an answer's envelope and, if its code is 0, its data into the target. If
// lenient, mismatches are left out and listed; else they are a *MismatchError.
//
// The error is nil for a failure that the service explains (a code that is not 0),
// whatever its data is. It is that of ctx if ctx ended first.
func Decode(ctx context.Context, body []byte, target Target, lenient bool) (Envelope, error) {
	if env, ok := Fast(ctx, body, target); ok {
		return env, nil
	}
	return DecodeSlowly(ctx, body, target, lenient)
}

// DecodeSlowly is Decode for an answer that the generated code could not read.
func DecodeSlowly(ctx context.Context, body []byte, target Target, lenient bool) (Envelope, error) {
	w := newWalk(ctx, body)
	defer w.release()
	w.into = target.value()
	w.internStrings(target.InternStrings)
	env, data, err := w.envelope(target.shape())
	if err == nil && env.HasCode && env.Code == 0 {
		env.Mismatches, err = w.result(lenient)
		env.HasData = err == nil && jsonTypeOf(data) != "null"
	}
	if !env.HasData {
		target.empty()
	}
	return env, err
}

// DecodeBare decodes a document without an envelope, as Decode decodes data.
func DecodeBare(ctx context.Context, body []byte, target Target, lenient bool) (Mismatches, error) {
	if FastBare(ctx, body, target) {
		return Mismatches{}, nil
	}
	w := newWalk(ctx, body)
	defer w.release()
	err := w.document(target.shape(), target.value())
	if err == nil {
		w.mismatches, err = w.result(lenient)
	}
	if err != nil {
		target.empty()
		return Mismatches{}, err
	}
	return w.mismatches, nil
}

// Peek decodes the envelope without its data. It reports false if there is none, or if ctx
// ended first.
func Peek(ctx context.Context, body []byte) (Envelope, bool) {
	w := newWalk(ctx, body)
	defer w.release()
	env, _, err := w.envelope(nil)
	return env, err == nil && env.HasCode
}

// Data returns the JSON of an answer's data, or nil if there is none or ctx ended first.
func Data(ctx context.Context, body []byte) json.RawMessage {
	w := newWalk(ctx, body)
	defer w.release()
	if _, data, _ := w.envelope(nil); len(data) > 0 {
		return bytes.Clone(data)
	}
	return nil
}
