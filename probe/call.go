// The rules send all their requests with do, and check the answers with the methods of answer.

package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// obj is a JSON object.
type obj = map[string]any

// call is a request of a rule.
type call struct {
	op       operation
	body     any // nil: an empty object
	session  string
	currency string            // default: the currency of the run
	token    string            // default: the token of the run
	edit     func(http.Header) // changes the request's header before it leaves
	opts     []hotelstays.CallOption
}

// answer is the answer to a call, or the error instead of an answer.
type answer struct {
	*Exchange
	op  operation
	err error // the reason, if there is no answer
	// cause is the error of the client, even if an answer came. It says whether a Book may have been executed.
	cause error
	coded
	tree any // Data
}

// coded is an envelope. Code is nil if the answer has no envelope.
type coded struct {
	Code *int64          `json:"code"`
	Msg  *string         `json:"msg"`
	Data json.RawMessage `json:"data"`
}

// get calls an operation with the run's token.
func (r *run) get(op operation, body any) *answer { return r.do(call{op: op, body: body}) }

// do makes a call. The client may send it several times; the last answer counts.
func (r *run) do(c call) *answer {
	client := r.client
	if c.token != "" {
		var err error
		if client, err = client.WithCredential(hotelstays.TokenCredential{Token: types.NewSecret(c.token)}); err != nil {
			return &answer{op: c.op, err: err}
		}
	}
	if c.op.RateLimit() == 0 { // the rate limit is undocumented
		r.wait(time.Second)
	}
	on := &tape{edit: c.edit}
	if c.currency != "" {
		c.opts = append(c.opts, hotelstays.WithCurrency(c.currency))
	}
	_, err := client.Do(context.WithValue(r.ctx, recorded{}, on), &hotelstays.DoRequest{Path: c.op.Path(), Body: c.body, SessionID: c.session,
		Idempotent: c.op != opBook && c.op != opCancel}, c.opts...)
	seen := on.taken()
	r.log = append(r.log, seen...)
	for _, ex := range slices.Backward(seen) {
		if types.OperationAt(ex.URL) != c.op {
			continue
		}
		a := &answer{Exchange: ex, op: c.op, cause: err}
		if ex.raw == nil {
			a.err = fmt.Errorf("no answer: %s", ex.Error)
		} else if json.Unmarshal(ex.raw.body, &a.coded) != nil {
			a.coded = coded{}
		}
		return a
	}
	return &answer{op: c.op, err: err, cause: err}
}

// String describes an answer in a few words.
func (a *answer) String() string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.Code == nil:
		return fmt.Sprintf("HTTP %d without an envelope", a.Status)
	}
	return fmt.Sprintf("HTTP %d with code %d", a.Status, *a.Code)
}

// came requires an answer that a rule can judge.
func (a *answer) came() {
	skip(a.err != nil, "%s: %v", a.op, a.err)
	skip(slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout}, a.Status), "%s answered %s", a.op, a)
}

// allowed is like came, and also requires that the account may call the operation.
func (a *answer) allowed() {
	a.came()
	skip(a.Status == http.StatusForbidden, "the account may not call %s: %s", a.op, a)
}

// refusal reports whether the answer is an enveloped refusal. An answer with a status from 500 on is a failure instead.
func (a *answer) refusal() bool {
	return a.err == nil && a.Code != nil && *a.Code != 0 && a.Status < http.StatusInternalServerError
}

// msg returns the msg of the envelope, or "".
func (a *answer) msg() string {
	if a.Msg == nil {
		return ""
	}
	return *a.Msg
}

func (a *answer) succeeded() bool { return a.Status == http.StatusOK && a.Code != nil && *a.Code == 0 }

// ok requires a success.
func (a *answer) ok() {
	a.allowed()
	breaks(!a.succeeded(), "%s: expected a success, got %s", a.op, a)
}

// refused requires a refusal with an HTTP status and a code. 0 allows any.
func (a *answer) refused(status, code int) {
	if a.came(); status == 0 || status == http.StatusNotFound {
		a.allowed()
	}
	breaks(status != 0 && a.Status != status, "%s: expected HTTP %d, got %s", a.op, status, a)
	breaks(!a.refusal(), "%s: expected a refusal, got %s", a.op, a)
	breaks(code != 0 && *a.Code != int64(code), "%s: expected code %d, got %s", a.op, code, a)
}

// read decodes the data of a success.
func read[T any](a *answer) *T {
	a.ok()
	v := new(T)
	err := json.Unmarshal(a.Data, v)
	breaks(err != nil, "%s: data does not have the documented form: %v", a.op, err)
	return v
}

// at returns the values at a path of data. A path through a list returns values of all its elements. null is not a value.
func (a *answer) at(path string) []any {
	if a.tree == nil {
		a.tree = decoded(a.Data)
	}
	found := []any{a.tree}
	for _, name := range strings.FieldsFunc(path, func(c rune) bool { return c == '.' }) {
		var below []any
		for _, v := range found {
			o, _ := v.(obj)
			if list, isList := o[name].([]any); isList {
				below = append(below, list...)
			} else if o[name] != nil {
				below = append(below, o[name])
			}
		}
		found = below
	}
	return found
}

// first returns the first value at one of the paths, or nil.
func (a *answer) first(paths ...string) any {
	for _, path := range paths {
		if found := a.at(path); len(found) > 0 {
			return found[0]
		}
	}
	return nil
}

// total returns the total of a page, or 0.
func (a *answer) total() int {
	n, _ := strconv.Atoi(fmt.Sprint(a.first("total", "page.total")))
	return n
}

// more reports whether a page says that another page follows.
func (a *answer) more() bool { return a.first("hasMore", "page.hasMore") == true }

// member returns the JSON of a member of data, or "absent".
func (a *answer) member(name string) string {
	o, _ := decoded(a.Data).(obj)
	if v, there := o[name]; there {
		return encoded(v)
	}
	return "absent"
}

// number returns the number in a header.
func (a *answer) number(header string) int64 {
	n, err := strconv.ParseInt(a.raw.header.Get(header), 10, 64)
	breaks(err != nil, "%s of %s is %q instead of a number", header, a.op, a.raw.header.Get(header))
	return n
}

// decoded decodes JSON and keeps every digit of its numbers. Invalid JSON is nil.
func decoded(text []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	_ = dec.Decode(&v)
	return v
}

// place is a value in an answer.
type place struct {
	at      string // such as data.list[3].rooms[0]
	v       any
	element any      // the innermost element of a list around it
	ids     []string // ids of the list elements around it
}

// idNames are the members that identify an element of a list.
var idNames = []string{"id", "platformHotelId", "hotelId", "roomTypeId", "ratePkgId", "platformReferenceNo"}

// located finds a value by its path.
func located(body []byte, path string) place {
	p := place{at: path, v: decoded(body)}
	for _, name := range strings.FieldsFunc(path, func(c rune) bool { return strings.ContainsRune(".[]", c) }) {
		switch around := p.v.(type) {
		case obj:
			member, there := around[name]
			if p.v = member; !there {
				p.v = strange("nothing")
			}
		case []any:
			n, _ := strconv.Atoi(name)
			p.v = around[min(n, len(around)-1)]
			p.element = p.v
			object, _ := p.v.(obj)
			for _, name := range idNames {
				if id, _ := object[name].(string); id != "" {
					p.ids = append(p.ids, id)
					break
				}
			}
		default:
			p.v = strange("nothing")
		}
	}
	return p
}

// named returns a text with the place of the value.
func (p place) named(format string, args ...any) string {
	at := p.at
	if len(p.ids) > 0 {
		at += " (id " + strings.Join(p.ids, ", ") + ")"
	}
	return at + ": " + fmt.Sprintf(format, args...)
}

// strange marks a value at which a path cannot continue.
type strange string

// shown describes the value in a few words, without personal data.
func (p place) shown() string {
	hidden := slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(p.at), func(c rune) bool { return strings.ContainsRune(".[]", c) }),
		func(name string) bool { return slices.Contains(maskedNames, name) })
	switch v := p.v.(type) {
	case obj:
		return "an object"
	case []any:
		return "an array"
	case nil:
		return "null"
	case strange:
		return string(v)
	case string:
		if hidden {
			return fmt.Sprintf("a text of %d bytes", len(v))
		}
		return strconv.Quote(cut(v, 60))
	}
	if hidden {
		return "a value"
	}
	return fmt.Sprint(p.v)
}

// paced limits calls to a share of each rate limit. Calls with a burst in their context do not wait.
type paced struct{ hotelstays.RateLimiter }

type burst struct{}

func newPaced(share float64) paced {
	return paced{hotelstays.NewRateLimiter(&hotelstays.RateLimiterOptions{Processes: int(math.Ceil(min(1/share, 1e6)))})}
}

func (p paced) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	if ctx.Value(burst{}) != nil {
		return nil, ctx.Err()
	}
	return p.RateLimiter.Acquire(ctx, req)
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
