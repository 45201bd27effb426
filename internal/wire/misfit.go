// Decoding around fields of the wrong type: what they are, and the rest.
//
// encoding/json reports the first such field only, and gives up at a quoted
// number that is none. An order must not be lost to one odd field, so here the
// document is held against the struct's own shape, every misfit is listed and
// taken out, and what remains is decoded. It runs only after a plain decode has
// failed.

package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decodeAround decodes data again after encoding/json has found a misfit.
func decodeAround(body []byte, env Envelope, data any, lenient bool) (Envelope, error) {
	raw := Data(body)
	if kind := kindOf(raw); kind != "object" {
		return env, &MismatchError{Misfits: []Misfit{{"data", "object", kind}}}
	}
	if !lenient {
		return env, &MismatchError{Misfits: misfitsOf(raw, reflect.TypeOf(data).Elem(), "data")}
	}
	found, err := decodeRest(raw, data, "data")
	if err != nil {
		return env, err
	}
	env.HasData, env.Misfits = true, found
	return env, nil
}

// DecodeAround reads a document that has no envelope. Fields of another type than
// documented are left out and returned.
func DecodeAround(body []byte, target Target) ([]Misfit, error) {
	if FastBare(body, target) {
		return nil, nil
	}
	into := target.Into
	err := json.Unmarshal(body, into)
	switch {
	case err == nil:
		return nil, nil
	case isSyntax(err):
		return nil, syntaxError(err)
	case kindOf(body) != "object":
		return nil, &MismatchError{Misfits: []Misfit{{"the document", "object", kindOf(body)}}}
	}
	return decodeRest(body, into, "")
}

// decodeRest decodes what fits.
func decodeRest(raw json.RawMessage, into any, path string) ([]Misfit, error) {
	target := reflect.ValueOf(into).Elem()
	var found misfits
	rest := fit(raw, target.Type(), path, &found)
	target.SetZero() // the failed decode may have left values behind
	err := json.Unmarshal(rest, into)
	if err != nil || found.n == 0 { // an odd value is hidden behind a second one of the same key
		found.add(Misfit{strings.TrimPrefix(path, "."), "each key once", "repeated keys"})
		target.SetZero()
		err = json.Unmarshal(withoutRepeats(rest), into)
	}
	if err != nil {
		return nil, &MismatchError{Misfits: found.list}
	}
	return found.list, nil
}

func misfitsOf(body []byte, t reflect.Type, path string) []Misfit {
	var found misfits
	fit(body, t, path, &found)
	return found.list
}

// maxMisfits is how many places are listed: a hostile answer may have a million.
const maxMisfits = 64

type misfits struct {
	list []Misfit
	n    int
}

func (m *misfits) add(one Misfit) {
	if m.n++; len(m.list) < maxMisfits {
		m.list = append(m.list, one)
	}
}

// withoutRepeats keeps the last value of each key.
func withoutRepeats(raw json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var doc any
	if dec.Decode(&doc) != nil {
		return raw
	}
	return rewritten(raw, doc, true)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// fit returns raw without what does not fit t, and adds those places to found. A
// value that does not fit at all becomes null, which decodes to nothing. What
// fits keeps its very bytes.
func fit(raw json.RawMessage, t reflect.Type, path string, found *misfits) json.RawMessage {
	kind := kindOf(raw)
	if kind == "null" || reflect.PointerTo(t).Implements(unmarshaler) {
		return raw
	}
	switch t.Kind() {
	case reflect.Pointer:
		return fit(raw, t.Elem(), path, found)
	case reflect.Struct:
		if kind == "object" {
			return fitObject(raw, func(key string) (reflect.Type, string) { return fieldOf(t, key) }, path, found)
		}
	case reflect.Map:
		if kind == "object" {
			return fitObject(raw, func(key string) (reflect.Type, string) { return t.Elem(), shownKey(key) }, path, found)
		}
	case reflect.Slice:
		if kind == "array" {
			return fitArray(raw, t.Elem(), path, found)
		}
	default:
		if fitsScalar(raw, kind, t) {
			return raw
		}
	}
	found.add(Misfit{strings.TrimPrefix(path, "."), wanted(t), kind})
	return json.RawMessage("null")
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

// fitObject takes what tells the type of a member, nil where it has none, and the
// name that a path calls it by.
func fitObject(raw json.RawMessage, typeOf func(key string) (reflect.Type, string), path string, found *misfits) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	before := found.n
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if t, name := typeOf(key); t != nil {
			members[key] = fit(members[key], t, path+"."+name, found)
		}
	}
	return rewritten(raw, members, found.n > before)
}

func fitArray(raw json.RawMessage, t reflect.Type, path string, found *misfits) json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return raw
	}
	before := found.n
	// Elements that are lost as a whole come first: what has room in the list of misfits
	// must not hide them.
	for _, whole := range []bool{true, false} {
		for i := range items {
			if whole == (kindOf(items[i]) != wanted(t)) {
				items[i] = fit(items[i], t, fmt.Sprintf("%s[%d]", path, i), found)
			}
		}
	}
	return rewritten(raw, items, found.n > before)
}

func rewritten(raw json.RawMessage, parts any, changed bool) json.RawMessage {
	if !changed {
		return raw
	}
	text, err := Encode(parts)
	if err != nil {
		return raw
	}
	return text
}

// fieldOf returns the type of the field that key is decoded into, or nil, and the
// field's documented name. Keys are matched as encoding/json does.
func fieldOf(t reflect.Type, key string) (reflect.Type, string) {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			if inner, name := fieldOf(field.Type, key); inner != nil {
				return inner, name
			}
			continue
		}
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && strings.EqualFold(key, name) {
			return field.Type, name
		}
	}
	return nil, ""
}

var number = reflect.TypeFor[json.Number]()

func fitsScalar(raw json.RawMessage, kind string, t reflect.Type) bool {
	switch {
	case t == number:
		return kind == "number" || kind == "string" && isNumber(raw)
	case kind == "boolean":
		return t.Kind() == reflect.Bool
	case kind == "string":
		return t.Kind() == reflect.String
	case kind != "number":
		return false
	}
	text := string(bytes.TrimSpace(raw))
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		_, err := strconv.ParseInt(text, 10, t.Bits())
		return err == nil
	case reflect.Float32, reflect.Float64:
		_, err := strconv.ParseFloat(text, t.Bits())
		return err == nil
	}
	return false
}

// isNumber tells a quoted number.
func isNumber(raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) != nil || text == "" || strings.TrimSpace(text) != text {
		return false
	}
	return json.Valid([]byte(text)) && kindOf(json.RawMessage(text)) == "number"
}

// wanted names the JSON type that t decodes from, in the document's words.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.String:
		if t == number {
			return "number"
		}
		return "string"
	case reflect.Slice:
		return "array"
	default:
		return "object"
	}
}

// kindOf names the JSON type of a text by its first character; what is not there
// is null.
func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return "null"
	}
	switch raw[0] {
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
