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

type obj = map[string]any

// call is a request that a rule sends.
type call struct {
	op       operation
	body     any // nil sends an empty object
	session  string
	currency string            // empty means the currency of the run
	token    string            // empty means the token of the run
	edit     func(http.Header) // changes the header of the request before it is sent
	opts     []hotelstays.CallOption
}

// answer has the service's answer to a call, or in err the reason why no answer came.
type answer struct {
	*exchange
	op  operation
	err error
	// cause is the error that the client returned, even if an answer came. It shows whether a Book may have been executed.
	cause error
	coded
	tree any // Data
}

// coded is the JSON envelope of an answer. Code is nil if the answer has no envelope.
type coded struct {
	Code *int64          `json:"code"`
	Msg  *string         `json:"msg"`
	Data json.RawMessage `json:"data"`
}

func (r *run) get(op operation, body any) *answer { return r.do(call{op: op, body: body}) }

// do sends a request. If the client retries it, do returns the last answer.
func (r *run) do(c call) *answer {
	client := r.client
	if c.token != "" {
		var err error
		if client, err = client.WithCredential(hotelstays.TokenCredential{Token: types.NewSecret(c.token)}); err != nil {
			return &answer{op: c.op, err: err}
		}
	}
	if c.op.RateLimit() == 0 { // the rate limit of this operation is undocumented, so its requests are a second apart
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
		a := &answer{exchange: ex, op: c.op, cause: err}
		if ex.err != nil {
			a.err = fmt.Errorf("no answer: %w", ex.err)
		} else if json.Unmarshal(ex.Body, &a.coded) != nil {
			a.coded = coded{}
		}
		return a
	}
	return &answer{op: c.op, err: err, cause: err}
}

// String returns the error, or a summary such as "HTTP 404 with code 100000404".
func (a *answer) String() string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.Code == nil:
		return fmt.Sprintf("HTTP %d without an envelope", a.Status)
	}
	return fmt.Sprintf("HTTP %d with code %d", a.Status, *a.Code)
}

// came skips the rule if there is no answer, or an answer with HTTP 429, 502, 503 or 504.
func (a *answer) came() {
	skip(a.err != nil, "%s: %v", a.op, a.err)
	skip(slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout}, a.Status), "%s answered %s", a.op, a)
}

// allowed is like came, and also skips the rule after HTTP 403: the account may not call the operation.
func (a *answer) allowed() {
	a.came()
	skip(a.Status == http.StatusForbidden, "the account may not call %s: %s", a.op, a)
}

// refusal reports whether the answer has a code other than 0, and an HTTP status below 500.
func (a *answer) refusal() bool {
	return a.err == nil && a.Code != nil && *a.Code != 0 && a.Status < http.StatusInternalServerError
}

func (a *answer) msg() string {
	if a.Msg == nil {
		return ""
	}
	return *a.Msg
}

func (a *answer) succeeded() bool { return a.Status == http.StatusOK && a.Code != nil && *a.Code == 0 }

// ok breaks the rule unless the answer is HTTP 200 with code 0.
func (a *answer) ok() {
	a.allowed()
	breaks(!a.succeeded(), "%s: expected a success, got %s", a.op, a)
}

// refused breaks the rule unless the answer is a refusal with this HTTP status and this code. 0 allows every value.
func (a *answer) refused(status, code int) {
	if a.came(); status == 0 || status == http.StatusNotFound {
		a.allowed()
	}
	breaks(status != 0 && a.Status != status, "%s: expected HTTP %d, got %s", a.op, status, a)
	breaks(!a.refusal(), "%s: expected a refusal, got %s", a.op, a)
	breaks(code != 0 && *a.Code != int64(code), "%s: expected code %d, got %s", a.op, code, a)
}

// read decodes the data of a successful answer. If the answer is not a success, or the data does not fit T, the rule ends
// as Broken.
func read[T any](a *answer) *T {
	a.ok()
	v := new(T)
	err := json.Unmarshal(a.Data, v)
	breaks(err != nil, "%s: data does not have the documented form: %v", a.op, err)
	return v
}

// at returns the values at a path of data, such as "list.rooms.rates". If a name on the path is a list, at continues in
// each of its elements. The result has no null.
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

// first tries the paths in turn, and returns the first value found, or nil.
func (a *answer) first(paths ...string) any {
	for _, path := range paths {
		if found := a.at(path); len(found) > 0 {
			return found[0]
		}
	}
	return nil
}

// total returns the member total of a page: the number of items on all pages. It returns 0 if the page has no total.
func (a *answer) total() int {
	n, _ := strconv.Atoi(fmt.Sprint(a.first("total", "page.total")))
	return n
}

// more reports whether the answer says that another page follows.
func (a *answer) more() bool { return a.first("hasMore", "page.hasMore") == true }

// member returns a member of data as JSON text, or "absent".
func (a *answer) member(name string) string {
	o, _ := decoded(a.Data).(obj)
	if v, there := o[name]; there {
		return encoded(v)
	}
	return "absent"
}

// decoded decodes JSON and keeps every digit of its numbers. For invalid JSON it returns nil.
func decoded(text []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	_ = dec.Decode(&v)
	return v
}

// place is a value in an answer.
type place struct {
	at      string // the path of the value, such as data.list[3].rooms[0]
	v       any
	element any      // the innermost list element that contains the value, or nil
	ids     []string // ids of the list elements that contain the value
}

// idNames are the members that identify an element of a list.
var idNames = []string{"id", "platformHotelId", "hotelId", "roomTypeId", "ratePkgId", "platformReferenceNo"}

// located finds the value at a path such as data.list[3].rooms[0].
func located(body []byte, path string) place {
	p := place{at: path, v: decoded(body)}
	for _, name := range strings.FieldsFunc(path, func(c rune) bool { return strings.ContainsRune(".[]", c) }) {
		switch around := p.v.(type) {
		case obj:
			member, there := around[name]
			if p.v = member; !there {
				p.v = missing{}
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
			p.v = missing{}
		}
	}
	return p
}

// named puts the position of the value before a text: "data.list[3] (id 4711): the text".
func (p place) named(format string, args ...any) string {
	at := p.at
	if len(p.ids) > 0 {
		at += " (id " + strings.Join(p.ids, ", ") + ")"
	}
	return at + ": " + fmt.Sprintf(format, args...)
}

// missing is the value of a place that the answer does not have.
type missing struct{}

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
	case missing:
		return "nothing"
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

// paced makes calls wait, so that they use only a share of each rate limit. A call does not wait if its context has the
// key burst.
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
