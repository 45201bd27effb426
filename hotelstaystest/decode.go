// Strict decoding of request bodies. Unknown or repeated fields, names in another case,
// nulls, wrong types and data after the JSON object are refused, each with its path.

package hotelstaystest

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// decoded is an operation's function, as a runner.
type decoded[Req, Resp any] func(*Server, *call, *Req) (*Resp, error)

func runs[Req, Resp any](fn decoded[Req, Resp]) runner { return fn }

func (fn decoded[Req, Resp]) run(s *Server, c *call, body []byte) (any, error) {
	req := new(Req)
	if err := decodeStrict(body, req); err != nil {
		return nil, badRequest("%v", err)
	}
	return fn(s, c, req)
}

// inputError is a refusal that names the field at fault. The field is empty for the whole body.
type inputError struct {
	status int // HTTP status
	field  string
	msg    string
}

func (e *inputError) Error() string { return e.msg }

// badField is a refusal of a field's value.
func badField(field, format string, args ...any) error {
	return &inputError{http.StatusBadRequest, field, fmt.Sprintf(format, args...)}
}

// noSuch is a refusal of a name that stands for nothing.
func noSuch(field, format string, args ...any) error {
	return &inputError{http.StatusNotFound, field, fmt.Sprintf(format, args...)}
}

// conflict is a refusal because of the present state.
func conflict(field, format string, args ...any) error {
	return &inputError{http.StatusConflict, field, fmt.Sprintf(format, args...)}
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

// checkStrict checks a JSON object against the type t. An error is an inputError.
func checkStrict(body []byte, t reflect.Type) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := checkValue(dec, "", t); err != nil {
		if f, ok := errors.AsType[*inputError](err); ok {
			return f
		}
		return badField("", "the body is not valid JSON: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return badField("", "the body has data after its JSON object")
	}
	return nil
}

func checkValue(dec *json.Decoder, path string, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	object := t.Kind() == reflect.Struct || t.Kind() == reflect.Map
	tok, err := dec.Token()
	if err != nil {
		if err == io.EOF && path == "" {
			return badField("", "the body is empty; it must be a JSON object")
		}
		return err
	}
	where := path
	if where == "" {
		where = "the body"
	}
	text, isText := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.New(t))
	switch {
	case tok == nil:
		return badField(path, "%s is null; omit the field instead", where)
	case isText:
		return checkText(tok, path, text)
	case t == typeOfDuration:
		if text, ok := tok.(string); !ok {
			return badField(path, "%s must be a duration such as 30s, not %s", path, tokenName(tok))
		} else if _, err := parseDuration(text); err != nil {
			return badField(path, "%s: %v", path, err)
		}
		return nil
	case tok == json.Delim('{'):
		if !object {
			return badField(path, "%s must be %s, not object", where, jsonName(t))
		}
		return checkObject(dec, path, t)
	case tok == json.Delim('['):
		if t.Kind() != reflect.Slice {
			return badField(path, "%s must be %s, not array", where, jsonName(t))
		}
		return checkArray(dec, path, t)
	case object || t.Kind() == reflect.Slice:
		return badField(path, "%s must be %s", where, jsonName(t))
	}
	return checkScalar(tok, path, t)
}

func checkScalar(tok json.Token, path string, t reflect.Type) error {
	number, _ := tok.(json.Number)
	ok, err := true, error(nil)
	switch t.Kind() {
	case reflect.String:
		_, ok = tok.(string)
	case reflect.Bool:
		_, ok = tok.(bool)
	case reflect.Uint64:
		_, err = strconv.ParseUint(number.String(), 10, 64)
	case reflect.Float64:
		_, err = number.Float64()
	default:
		_, err = number.Int64()
	}
	if !ok || err != nil {
		return badField(path, "%s must be %s, not %s", path, jsonName(t), tokenName(tok))
	}
	return nil
}

// checkText checks a value whose type reads itself from text.
func checkText(tok json.Token, path string, into encoding.TextUnmarshaler) error {
	text, ok := tok.(string)
	if !ok {
		return badField(path, "%s must be string", path)
	}
	if err := into.UnmarshalText([]byte(text)); err != nil {
		return badField(path, "%s: %v", path, err)
	}
	return nil
}

func checkObject(dec *json.Decoder, path string, t reflect.Type) error {
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
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
		if err := checkValue(dec, full, ft); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func checkArray(dec *json.Decoder, path string, t reflect.Type) error {
	for i := 0; dec.More(); i++ {
		if err := checkValue(dec, fmt.Sprintf("%s[%d]", path, i), t.Elem()); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// fieldType finds the field of t with exactly this JSON name. A map has all.
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

func jsonName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "integer"
	}
	return "number"
}

// tokenName is the JSON word for a scalar.
func tokenName(tok json.Token) string {
	switch tok := tok.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	default:
		return fmt.Sprint("number ", tok)
	}
}
