// Calls: one road for all requests of the rules, and what they expect of the answers.

package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// obj is a JSON object.
type obj = map[string]any

// call is a request of a rule.
type call struct {
	op      operation
	body    any // nil: an empty object
	session string
	token   string            // instead of the run's
	edit    func(http.Header) // changes the request's header before it leaves
	opts    []hotelstays.CallOption
}

// answer is what came, for a rule to judge.
type answer struct {
	*Exchange
	op  operation
	err error // why there is no answer
	coded
}

// coded is an envelope. Code is nil if there is none.
type coded struct {
	Code *int64          `json:"code"`
	Msg  *string         `json:"msg"`
	Data json.RawMessage `json:"data"`
}

// get calls an operation with the run's token.
func (r *run) get(op operation, body any) *answer { return r.do(call{op: op, body: body}) }

// do makes a call. The last answer counts, because calls are resent as by every client.
func (r *run) do(c call) *answer {
	client := r.client
	if c.token != "" {
		var err error
		if client, err = client.WithCredential(hotelstays.TokenCredential{Token: types.NewSecret(c.token)}); err != nil {
			return &answer{op: c.op, err: err}
		}
	}
	on := &tape{}
	ctx := context.WithValue(r.ctx, recorded{}, on)
	if c.edit != nil {
		ctx = context.WithValue(ctx, edits{}, c.edit)
	}
	_, err := client.Do(ctx, &hotelstays.DoRequest{Path: paths[c.op], Body: c.body, SessionID: c.session, Idempotent: true}, c.opts...)
	seen := on.taken()
	r.log = append(r.log, seen...)
	for _, ex := range slices.Backward(seen) {
		if !strings.HasSuffix(ex.URL, paths[c.op]) {
			continue
		}
		a := &answer{Exchange: ex, op: c.op}
		if ex.raw == nil {
			a.err = fmt.Errorf("no answer: %s", ex.Error)
		} else if json.Unmarshal(ex.raw.body, &a.coded) != nil {
			a.coded = coded{}
		}
		return a
	}
	return &answer{op: c.op, err: err}
}

// String is an answer in a few words.
func (a *answer) String() string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.Code == nil:
		return fmt.Sprintf("HTTP %d without an envelope", a.Status)
	}
	return fmt.Sprintf("HTTP %d with code %d", a.Status, *a.Code)
}

// unjudged is why an answer says nothing about a rule, or nil.
func (a *answer) unjudged() error {
	switch {
	case a.err != nil:
		return notTried("%s: %v", a.op, a.err)
	case slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout}, a.Status):
		return notTried("%s answered %s", a.op, a)
	}
	return nil
}

// barred is unjudged, or that the account may not call the operation.
func (a *answer) barred() error {
	err := a.unjudged()
	if err == nil && a.Status == http.StatusForbidden {
		err = notTried("the account may not call %s: %s", a.op, a)
	}
	return err
}

// ok expects a success.
func (a *answer) ok() error {
	if err := a.barred(); err != nil {
		return err
	}
	if a.Status != http.StatusOK || a.Code == nil || *a.Code != 0 {
		return fmt.Errorf("%s: expected a success, got %s", a.op, a)
	}
	return nil
}

// refused expects a refusal with a code; 0: with any.
func (a *answer) refused(code int) error {
	if err := a.barred(); err != nil {
		return err
	}
	return a.failed(code)
}

func (a *answer) failed(code int) error {
	switch {
	case a.Code == nil || *a.Code == 0, a.Status >= http.StatusInternalServerError:
		return fmt.Errorf("%s: expected a refusal, got %s", a.op, a)
	case code != 0 && *a.Code != int64(code):
		return fmt.Errorf("%s: expected code %d, got %s", a.op, code, a)
	}
	return nil
}

// refusedWith expects a refusal with an HTTP status, and a code unless that is 0.
func (a *answer) refusedWith(status, code int) error {
	if err := a.unjudged(); err != nil {
		return err
	}
	if a.Status != status {
		return fmt.Errorf("%s: expected HTTP %d, got %s", a.op, status, a)
	}
	return a.failed(code)
}

// read decodes the data of a success.
func read[T any](a *answer) (*T, error) {
	if err := a.ok(); err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(a.Data, v); err != nil {
		return nil, fmt.Errorf("%s: data has another form than documented: %w", a.op, err)
	}
	return v, nil
}

// same reports whether two answers have the same data, apart from sessions.
func same(a, b *answer) bool { return bytes.Equal(a.Data, b.Data) }

// shape expects of the data of a success the form of each line: a path and a type. [] stands for each
// element, ? for what may be absent or null. A type is a JSON type, or the values of an enumeration:
//
//	list[].rooms[]?.rates[]?.refundableMode full|partial|no
func (a *answer) shape(lines ...string) error {
	if err := a.ok(); err != nil {
		return err
	}
	var data any
	dec := json.NewDecoder(bytes.NewReader(a.Data))
	dec.UseNumber()
	if err := dec.Decode(&data); err != nil {
		return fmt.Errorf("%s: there is no data", a.op)
	}
	for _, line := range lines {
		path, kind, _ := strings.Cut(line, " ")
		if err := fits(data, strings.Split(path, "."), kind); err != nil {
			return fmt.Errorf("%s: data.%s: %w", a.op, path, err)
		}
	}
	return nil
}

func fits(v any, path []string, kind string) error {
	if len(path) == 0 {
		return isA(v, kind)
	}
	object, ok := v.(obj)
	if !ok {
		return fmt.Errorf("%s is no object", excerpt(v))
	}
	name, optional := strings.CutSuffix(path[0], "?")
	name, list := strings.CutSuffix(name, "[]")
	member, there := object[name]
	if optional && (!there || member == nil) {
		return nil
	}
	if !there {
		return fmt.Errorf("%s is missing", name)
	}
	if !list {
		return fits(member, path[1:], kind)
	}
	elements, ok := member.([]any)
	if !ok {
		return fmt.Errorf("%s is no array", name)
	}
	for _, element := range elements {
		if err := fits(element, path[1:], kind); err != nil {
			return err
		}
	}
	return nil
}

func isA(v any, kind string) error {
	var ok bool
	switch kind {
	case "string":
		_, ok = v.(string)
	case "text":
		text, is := v.(string)
		ok = is && text != ""
	case "boolean":
		_, ok = v.(bool)
	case "object":
		_, ok = v.(obj)
	case "array":
		_, ok = v.([]any)
	case "number":
		_, ok = v.(json.Number)
	case "integer":
		n, is := v.(json.Number)
		_, err := n.Int64()
		ok = is && err == nil
	case "date":
		text, _ := v.(string)
		_, err := types.Date(text).Time()
		ok = err == nil
	case "uuid":
		text, _ := v.(string)
		ok = len(text) == 36 && strings.Count(text, "-") == 4 && strings.Trim(strings.ToLower(text), "0123456789abcdef-") == ""
	default:
		_, number := v.(json.Number)
		ok = slices.Contains(strings.Split(kind, "|"), fmt.Sprint(v)) && number == (strings.Trim(kind, "0123456789|") == "")
	}
	if !ok {
		return fmt.Errorf("expected %s, got %s", kind, excerpt(v))
	}
	return nil
}

// excerpt is a value in a few characters. A text is not shown: it may be part of a secret.
func excerpt(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("a text of %d bytes", len(v))
	case obj:
		return "an object"
	case []any:
		return "an array"
	}
	return fmt.Sprint(v)
}
