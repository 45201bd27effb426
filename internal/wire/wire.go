// Package wire is the one seam between bytes and structs: it encodes requests
// and decodes the envelope that surrounds every answer.
//
// encoding/json decides what an answer means. Ordinary answers are read faster, by
// functions that are generated from the structs (fast.go), with the same result. The
// build tag hotelstays_stdjson leaves those functions out.
//
// Its errors name the JSON path of what does not fit and never quote a value,
// so that they can be logged.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Envelope is what surrounds the data of an answer.
type Envelope struct {
	// Code is 0 on success. Without HasCode the answer is no envelope.
	Code    int
	HasCode bool
	Msg     string
	// HasData tells that data is present and an object.
	HasData bool
	// Misfits are the places in data whose type was another one than documented,
	// where the caller asked to decode around them.
	Misfits []Misfit
}

// Misfit is a place whose JSON type is not the documented one.
type Misfit struct {
	Path string // such as data.hotelOrder.rooms[0].rate.netRate.amount
	Want string // integer, number, string, boolean, array, object
	Got  string
}

// String names the place and both types, and no value.
func (m Misfit) String() string { return fmt.Sprintf("%s: want %s, got %s", m.Path, m.Want, m.Got) }

// SyntaxError reports bytes that are not JSON.
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

// MismatchError reports JSON whose types are not the documented ones.
type MismatchError struct{ Misfits []Misfit }

func (e *MismatchError) Error() string {
	if len(e.Misfits) == 0 {
		return "the JSON is not of the documented shape"
	}
	const most = 8
	var texts []string
	for _, m := range e.Misfits[:min(len(e.Misfits), most)] {
		texts = append(texts, m.String())
	}
	if more := len(e.Misfits) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

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

// Decode reads an answer and, where its code is 0, its data into the target. With
// lenient set, fields of another type than documented are left out and listed in
// Misfits; without it they are a *MismatchError.
//
// The error is nil for a failure that the service explains (a code that is not
// 0): what its data holds does not matter.
func Decode(body []byte, target Target, lenient bool) (Envelope, error) {
	if env, ok := Fast(body, target); ok {
		return env, nil
	}
	data := target.Into
	raw := rawEnvelope{Data: data}
	err := json.Unmarshal(body, &raw)
	if err != nil && isSyntax(err) {
		return Envelope{}, syntaxError(err)
	}
	env := raw.envelope()
	if !env.HasCode && len(raw.Code) > 0 && string(raw.Code) != "null" {
		return env, &MismatchError{Misfits: []Misfit{{"code", "integer", kindOf(raw.Code)}}}
	}
	if !env.HasCode || env.Code != 0 {
		return env, nil
	}
	if err != nil {
		return decodeAround(body, env, data, lenient)
	}
	env.HasData = raw.Data != nil && (!reflect.ValueOf(data).Elem().IsZero() || hasData(body))
	return env, nil
}

// DecodeBare reads an answer that has no envelope.
func DecodeBare(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	switch {
	case err == nil:
		return nil
	case isSyntax(err):
		return syntaxError(err)
	default:
		return &MismatchError{Misfits: misfitsOf(body, reflect.TypeOf(into).Elem(), "")}
	}
}

// Peek reads the envelope without its data. It reports false for anything that
// is not an envelope.
func Peek(body []byte) (Envelope, bool) {
	var raw rawEnvelope
	if err := json.Unmarshal(body, &raw); err != nil && isSyntax(err) {
		return Envelope{}, false
	}
	env := raw.envelope()
	return env, env.HasCode
}

// Data returns the bytes of an answer's data, or nil where it has none.
func Data(body []byte) json.RawMessage {
	var raw struct {
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &raw) != nil {
		return nil
	}
	return raw.Data
}

// rawEnvelope keeps code and msg apart from their types: a stray msg must not hide
// what the code says, and a code that is text must not be taken for 0.
type rawEnvelope struct {
	Code json.RawMessage `json:"code"`
	Msg  json.RawMessage `json:"msg"`
	Data any             `json:"data"`
}

func (r *rawEnvelope) envelope() Envelope {
	var env Envelope
	if code, err := strconv.Atoi(string(r.Code)); err == nil {
		env.Code, env.HasCode = code, true
	}
	if len(r.Msg) > 0 && json.Unmarshal(r.Msg, &env.Msg) != nil {
		env.Msg = string(r.Msg)
	}
	return env
}

func hasData(body []byte) bool {
	return kindOf(Data(body)) == "object"
}

// isSyntax tells bytes that are not JSON from JSON of an unexpected type.
// encoding/json returns a plain error for a number inside quotes that is none;
// that is of the second kind.
func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

func syntaxError(err error) *SyntaxError {
	var syntax *json.SyntaxError
	errors.As(err, &syntax)
	return &SyntaxError{Offset: syntax.Offset, Truncated: strings.Contains(err.Error(), "unexpected end")}
}
