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
	"reflect"
	"strconv"
	"strings"
)

// decodeAround decodes data again after encoding/json has found a misfit.
func decodeAround(body []byte, env Envelope, data any, lenient bool) (Envelope, error) {
	target := reflect.ValueOf(data).Elem()
	doc := parse(Data(body))
	if _, isObject := doc.(map[string]any); !isObject {
		return env, &MismatchError{Misfits: []Misfit{{"data", "object", kindOf(doc)}}}
	}
	var found []Misfit
	doc = fit(doc, target.Type(), "data", &found)
	if !lenient || len(found) == 0 {
		return env, &MismatchError{Misfits: found}
	}
	rest, err := json.Marshal(doc)
	if err != nil {
		return env, err
	}
	target.SetZero() // the failed decode may have left values behind
	if err := json.Unmarshal(rest, data); err != nil {
		return env, &MismatchError{Misfits: found}
	}
	env.HasData, env.Misfits = true, found
	return env, nil
}

func misfits(body []byte, t reflect.Type) []Misfit {
	var found []Misfit
	fit(parse(body), t, "", &found)
	return found
}

func parse(body []byte) any {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc any
	_ = dec.Decode(&doc) // a document that is not JSON has no places to report
	return doc
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// fit returns v without what does not fit t, and adds those places to found. A
// value that does not fit at all becomes nil, which decodes to nothing.
func fit(v any, t reflect.Type, path string, found *[]Misfit) any {
	if v == nil || reflect.PointerTo(t).Implements(unmarshaler) {
		return v
	}
	if t.Kind() == reflect.Pointer {
		return fit(v, t.Elem(), path, found)
	}
	switch v := v.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			fitFields(v, t, path, found)
			return v
		case reflect.Map:
			for key := range v {
				v[key] = fit(v[key], t.Elem(), path+"."+key, found)
			}
			return v
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i := range v {
				v[i] = fit(v[i], t.Elem(), fmt.Sprintf("%s[%d]", path, i), found)
			}
			return v
		}
	default:
		if fitsScalar(v, t) {
			return v
		}
	}
	if t.Kind() == reflect.Interface {
		return v
	}
	*found = append(*found, Misfit{strings.TrimPrefix(path, "."), wanted(t), kindOf(v)})
	return nil
}

func fitFields(v map[string]any, t reflect.Type, path string, found *[]Misfit) {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			fitFields(v, field.Type, path, found)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		for key, value := range v {
			if name != "-" && strings.EqualFold(key, name) { // as encoding/json matches keys
				v[key] = fit(value, field.Type, path+"."+key, found)
			}
		}
	}
}

var number = reflect.TypeFor[json.Number]()

func fitsScalar(v any, t reflect.Type) bool {
	switch v := v.(type) {
	case bool:
		return t.Kind() == reflect.Bool
	case string:
		return t.Kind() == reflect.String && (t != number || isNumber(v))
	case json.Number:
		switch t.Kind() {
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			_, err := strconv.ParseInt(string(v), 10, t.Bits())
			return err == nil
		case reflect.Float32, reflect.Float64:
			_, err := strconv.ParseFloat(string(v), t.Bits())
			return err == nil
		default:
			return t == number
		}
	}
	return false
}

func isNumber(s string) bool {
	return s != "" && strings.TrimSpace(s) == s && json.Valid([]byte(s)) && strings.IndexByte("-0123456789", s[0]) >= 0
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

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}
