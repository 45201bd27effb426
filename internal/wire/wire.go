// Package wire encodes requests, and decodes answers and webhooks.
//
// A value means the same as in encoding/json. Generated code reads an answer while it arrives, by means of a Lexer.
//
// This package is stricter than encoding/json, but an integer may be written 2.0 or 2e0:
//
//   - Names match exactly. A name in another letter case is ignored as undocumented. If it
//     is the name of code, data or the list of orders, the answer is unusable.
//   - A name or a map's key that appears twice makes the answer unusable.
//   - A value of an undocumented type is a mismatch. The caller decides whether a mismatch is an error, or is left out and
//     listed. In the second case, a number in the place of text is still read as its digits. A struct that is useless
//     without the mismatched value is left out, too. In a list that must be whole, a mismatch is always an error.
//   - Lists, pointers and maps may take about twice the memory of the text.
//   - Decoding ends when ctx ends.
//
// Errors name the JSON path of a problem and quote no value, so that they can be logged.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Envelope is an answer without its data.
type Envelope struct {
	// Code is 0 on success. If HasCode is false, the answer is not enveloped.
	Code    int
	HasCode bool
	Msg     string
	// HasData reports whether data is present and an object.
	HasData bool
	// Mismatches are the mismatches that were left out of data.
	Mismatches
}

// Mismatch is a value whose JSON type is not the documented type.
type Mismatch struct {
	Path string // the path of the value, such as data.hotelOrder.rooms[0].rate.netRate.amount
	Want string // the expected type: integer, number, string, boolean, array or object
	Got  string
}

func (m Mismatch) String() string { return fmt.Sprintf("%s: want %s, got %s", m.Path, m.Want, m.Got) }

// Mismatches are the first mismatches of an answer, and how many there are.
type Mismatches struct {
	List  []Mismatch
	Count int
}

// maxListed is the maximum number of listed mismatches, because a hostile answer may have a million mismatches.
const maxListed = 64

// SyntaxError reports invalid JSON.
type SyntaxError struct {
	Offset    int64
	Truncated bool // the text ended before the JSON was complete
}

func (e *SyntaxError) Error() string {
	switch {
	case e.Truncated && e.Offset == 0:
		return "the body is empty"
	case e.Truncated:
		return fmt.Sprintf("the JSON ends after %d bytes, before it is complete", e.Offset)
	}
	return fmt.Sprintf("not JSON: the fault is at byte %d", e.Offset)
}

// MismatchError reports mismatches whose values may not be left out.
type MismatchError struct{ Mismatches }

func (e *MismatchError) Error() string {
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

// Encode returns the JSON of a request body.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
