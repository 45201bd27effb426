// Package wire is the one seam between bytes and structs: it encodes requests
// and decodes the envelope that surrounds every answer.
//
// encoding/json decides what a value means. Answers that are as documented are read
// faster, by functions that are generated from the structs (fast.go), with the same
// result; the build tag hotelstays_stdjson leaves those functions out. All others are
// walked through first (walk.go), and encoding/json reads what that leaves.
//
// What encoding/json would be more generous with is decided here:
//
//   - Names match exactly. One that is not documented is ignored, also where it differs
//     from a documented one in letter case alone. That of code, data or the list of
//     orders makes the answer unreadable: it might hide what counts.
//   - An object that has a documented name twice makes the answer unreadable, and so does
//     a map that has a key twice: nobody knows which of the two holds.
//   - A value of another type than documented is a mismatch: an error, or left out and
//     listed, as the caller asks. A list that must be whole loses no element.
//   - Lists, pointers and maps may take some twice the memory of the text (budget), and
//     no list is longer than the page that is documented.
//   - A ctx that ends ends the reading.
//
// Its errors name the JSON path of what does not fit and never quote a value,
// so that they can be logged.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Envelope is what surrounds the data of an answer.
type Envelope struct {
	// Code is 0 on success. Without HasCode the answer is no envelope.
	Code    int
	HasCode bool
	Msg     string
	// HasData reports that data is present and an object.
	HasData bool
	// Mismatches are those of data, where the caller asked to decode around them.
	Mismatches
}

// Mismatch is a place whose JSON type is not the documented one.
type Mismatch struct {
	Path string // such as data.hotelOrder.rooms[0].rate.netRate.amount
	Want string // integer, number, string, boolean, array, object
	Got  string
}

// String names the place and both types, and no value.
func (m Mismatch) String() string { return fmt.Sprintf("%s: want %s, got %s", m.Path, m.Want, m.Got) }

// maxListed is how many mismatches are listed: a hostile answer may have a million.
const maxListed = 64

// Mismatches are the mismatches of an answer: the first ones, and how many there are.
type Mismatches struct {
	List  []Mismatch
	Count int
}

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
type MismatchError struct{ Mismatches }

func (e *MismatchError) Error() string {
	if e.Count == 0 {
		return "the JSON is not of the documented shape"
	}
	const most = 8
	var texts []string
	for _, m := range e.List[:min(len(e.List), most)] {
		texts = append(texts, m.String())
	}
	if more := e.Count - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// UnusableError reports JSON that cannot be used, whatever its values are.
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

// Decode reads an answer and, where its code is 0, its data into the target. With
// lenient set, fields of another type than documented are left out and listed in
// Mismatches; without it they are a *MismatchError.
//
// The error is nil for a failure that the service explains (a code that is not
// 0): what its data holds does not matter. It is that of ctx where that ended first.
func Decode(ctx context.Context, body []byte, target Target, lenient bool) (Envelope, error) {
	if env, ok := Fast(ctx, body, target); ok {
		return env, nil
	}
	w := newWalk(ctx, body)
	defer w.release()
	env, data, err := w.envelope(target.shape())
	if err != nil || !env.HasCode || env.Code != 0 {
		return env, err
	}
	if env.Mismatches, err = w.outcome(lenient); err != nil || kindOf(data) == "null" {
		return env, err
	}
	env.HasData = true
	return env, target.read(ctx, data, w.text != nil)
}

// DecodeBare reads a document that has no envelope, as Decode reads data.
func DecodeBare(ctx context.Context, body []byte, target Target, lenient bool) (Mismatches, error) {
	if FastBare(ctx, body, target) {
		return Mismatches{}, nil
	}
	w := newWalk(ctx, body)
	defer w.release()
	text, err := w.document(target.shape())
	if err != nil {
		return Mismatches{}, err
	}
	found, err := w.outcome(lenient)
	if err != nil {
		return found, err
	}
	return found, target.read(ctx, text, w.text != nil)
}

// Peek reads the envelope without its data. It reports false for anything that
// is not an envelope, and where ctx ended first.
func Peek(ctx context.Context, body []byte) (Envelope, bool) {
	w := newWalk(ctx, body)
	defer w.release()
	env, _, err := w.envelope(nil)
	return env, err == nil && env.HasCode
}

// Data returns the bytes of an answer's data, or nil where it has none or ctx ended first.
func Data(ctx context.Context, body []byte) json.RawMessage {
	w := newWalk(ctx, body)
	defer w.release()
	if _, data, _ := w.envelope(nil); len(data) > 0 {
		return bytes.Clone(data)
	}
	return nil
}
