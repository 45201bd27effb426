// Strict decoding of request bodies. Unknown or repeated fields, names in another case,
// nulls, wrong types and data after the JSON object are refused, each with its path.

package hotelstaystest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// decoded is a function that executes an operation. It receives the request body as a struct. Its method run, which
// [runner] requires, decodes the body and calls the function.
type decoded[Req, Resp any] func(*Server, *call, *Req) (*Resp, error)

func runs[Req, Resp any](fn decoded[Req, Resp]) runner { return fn }

func (fn decoded[Req, Resp]) run(s *Server, c *call, body []byte) (any, error) {
	req := new(Req)
	if err := decodeStrict(body, req); err != nil {
		return nil, badRequest("%v", err)
	}
	return fn(s, c, req)
}

// inputError is the refusal of a request. It names the invalid field. If field is empty, the error is about the whole
// request.
type inputError struct {
	status int // HTTP status
	field  string
	msg    string
}

func (e *inputError) Error() string { return e.msg }

func refuse(status int, field, format string, args ...any) error {
	return &inputError{status, field, fmt.Sprintf(format, args...)}
}

func badField(field, format string, args ...any) error {
	return refuse(http.StatusBadRequest, field, format, args...)
}

func decodeStrict(body []byte, v any) error {
	if err := checkStrict(body, reflect.TypeOf(v).Elem()); err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return badField("", "the body is not valid JSON: %v", err)
	}
	return nil
}

// checkStrict checks that body is one JSON object, and that it fits the type t. An error is an inputError.
func checkStrict(body []byte, t reflect.Type) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	var value json.RawMessage
	switch err := dec.Decode(&value); {
	case err == io.EOF:
		return badField("", "the body is empty; it must be a JSON object")
	case err != nil:
		return badField("", "the body is not valid JSON: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return badField("", "the body has data after its JSON object")
	}
	return checkValue(value, "", t)
}

// checkValue checks that a JSON value fits the type t. The error names the path of the value in the body.
func checkValue(value json.RawMessage, path string, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case value[0] == 'n':
		return badField(path, "%s is null; omit the field instead", cmp.Or(path, "the body"))
	case value[0] == '{' && jsonName(t) == "object":
		return checkObject(value, path, t)
	case value[0] == '[' && t.Kind() == reflect.Slice:
		var items []json.RawMessage
		json.Unmarshal(value, &items)
		for i, item := range items {
			if err := checkValue(item, fmt.Sprintf("%s[%d]", path, i), t.Elem()); err != nil {
				return err
			}
		}
		return nil
	case t == typeOfDuration:
		t = reflect.TypeFor[configDuration]()
	}
	err := json.Unmarshal(value, reflect.New(t).Interface())
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return badField(path, "%s must be %s, not %s", cmp.Or(path, "the body"), jsonName(t), mismatch.Value)
	}
	if err != nil {
		return badField(path, "%s: %v", path, err)
	}
	return nil
}

// checkObject checks that t has each field of a JSON object, that no field appears twice, and that the values fit.
func checkObject(value json.RawMessage, path string, t reflect.Type) error {
	dec := json.NewDecoder(bytes.NewReader(value))
	seen := map[string]bool{}
	for dec.Token(); dec.More(); { // the first call of Token reads the opening brace
		tok, _ := dec.Token()
		name, _ := tok.(string)
		full := strings.TrimPrefix(path+"."+name, ".")
		ft, ok := fieldType(t, name)
		if !ok {
			return badField(full, "unknown field %s", full)
		}
		if seen[name] {
			return badField(full, "field %s appears twice", full)
		}
		seen[name] = true
		var field json.RawMessage
		dec.Decode(&field)
		if err := checkValue(field, full, ft); err != nil {
			return err
		}
	}
	return nil
}

// fieldType returns the type of t's field with exactly this JSON name. In a map, every name is a field.
func fieldType(t reflect.Type, name string) (reflect.Type, bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name && tag != "-" {
			return f.Type, true
		}
	}
	for f := range t.Fields() {
		if f.Anonymous {
			if inner, ok := fieldType(f.Type, name); ok {
				return inner, true
			}
		}
	}
	return nil, false
}

// jsonName returns the name of type t in JSON, such as "array", for error messages.
func jsonName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[duration](), reflect.TypeFor[configDuration]():
		return "a duration such as 30s"
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "integer"
	case reflect.Float64:
		return "number"
	}
	return t.Kind().String()
}
