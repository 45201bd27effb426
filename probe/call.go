// Calls: one road for all requests of the rules, and what they expect of the answers.

package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	currency string            // if it is not the run's
	token    string            // likewise
	edit     func(http.Header) // changes the request's header before it leaves
	opts     []hotelstays.CallOption
}

// answer is what came, for a rule to judge.
type answer struct {
	*Exchange
	op  operation
	err error // why there is no answer
	// cause is the client's error, also of an answer. It says whether a Book may have been carried out.
	cause error
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
	on := &tape{edit: c.edit}
	if c.currency != "" {
		c.opts = append(c.opts, hotelstays.WithCurrency(c.currency))
	}
	_, err := client.Do(context.WithValue(r.ctx, recorded{}, on), &hotelstays.DoRequest{Path: paths[c.op], Body: c.body, SessionID: c.session,
		Idempotent: c.op != opBook && c.op != opCancel}, c.opts...)
	seen := on.taken()
	r.log = append(r.log, seen...)
	for _, ex := range slices.Backward(seen) {
		if !strings.HasSuffix(ex.URL, paths[c.op]) {
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

// came expects an answer that says something about a rule.
func (a *answer) came() {
	skip(a.err != nil, "%s: %v", a.op, a.err)
	skip(slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout}, a.Status), "%s answered %s", a.op, a)
}

// allowed expects that the account may call the operation, too.
func (a *answer) allowed() {
	a.came()
	skip(a.Status == http.StatusForbidden, "the account may not call %s: %s", a.op, a)
}

// refusal reports whether it is one in an envelope, as far as that is known: not a failure of the service.
func (a *answer) refusal() bool {
	return a.err == nil && a.Code != nil && *a.Code != 0 && a.Status < http.StatusInternalServerError
}

// msg is that of the envelope, or "".
func (a *answer) msg() string {
	if a.Msg == nil {
		return ""
	}
	return *a.Msg
}

func (a *answer) succeeded() bool { return a.Status == http.StatusOK && a.Code != nil && *a.Code == 0 }

// ok expects a success.
func (a *answer) ok() {
	a.allowed()
	breaks(!a.succeeded(), "%s: expected a success, got %s", a.op, a)
}

// refused expects a refusal with an HTTP status and a code; 0: any.
func (a *answer) refused(status, code int) {
	if a.came(); status == 0 || status == http.StatusNotFound {
		a.allowed()
	}
	breaks(status != 0 && a.Status != status, "%s: expected HTTP %d, got %s", a.op, status, a)
	breaks(!a.refusal(), "%s: expected a refusal, got %s", a.op, a)
	breaks(code != 0 && *a.Code != int64(code), "%s: expected code %d, got %s", a.op, code, a)
}

// refuses is a rule of which each answer is a refusal.
func refuses(status, code int, calls ...func(*run) *answer) func(*run) {
	return func(r *run) {
		for _, call := range calls {
			call(r).refused(status, code)
		}
	}
}

// asking is a call of such a rule.
func asking(op operation, body obj) func(*run) *answer {
	return func(r *run) *answer { return r.get(op, body) }
}

// read decodes the data of a success.
func read[T any](a *answer) *T {
	a.ok()
	v := new(T)
	err := json.Unmarshal(a.Data, v)
	breaks(err != nil, "%s: data has another form than documented: %v", a.op, err)
	return v
}

// shape expects of the data of a success the form of each line, a path and a type, and returns how many values it has
// seen. [] stands for each element, ? for what may be absent or null. A type is a JSON type, a range, or values:
//
//	list[].rooms[]?.rates[]?.refundableMode full|partial|no
func (a *answer) shape(lines ...string) (seen int) {
	var wrong []string
	var element any
	root := a.root()
	for _, line := range lines {
		path, kind, _ := strings.Cut(line, " ")
		bad := 0
		root.below(strings.Split(path, "."), func(p place) {
			if seen++; p.is(kind) {
				return
			}
			if bad++; bad == 1 {
				wrong, element = append(wrong, p.named("expected %s, got %s", kind, p.shown())), cmp.Or(element, p.element)
			}
		})
		if bad > 1 {
			wrong[len(wrong)-1] += fmt.Sprintf(", and %d more", bad-1)
		}
	}
	if wrong != nil {
		panic(stop{misfit{fmt.Errorf("%s: %s", a.op, strings.Join(wrong, "; ")), a.Exchange, element}})
	}
	return seen
}

// each calls a function for each object at a path of the data of a success, and returns how many there are.
func (a *answer) each(path string, judge func(place)) (n int) {
	a.root().below(strings.Split(path, "."), func(p place) {
		p.breaks(!p.is("object"), "expected an object, got %s", p.shown())
		judge(p)
		n++
	})
	return n
}

// root is the data of a success.
func (a *answer) root() place {
	a.ok()
	root := place{answer: a, at: "data"}
	dec := json.NewDecoder(bytes.NewReader(a.Data))
	dec.UseNumber()
	breaks(dec.Decode(&root.v) != nil, "%s: there is no data", a.op)
	root.element = root.v
	return root
}

// place is a value in the data of an answer.
type place struct {
	*answer
	at      string // such as data.list[3].rooms[0]
	v       any
	element any      // the innermost element of a list around it
	ids     []string // those of the elements around it
}

// misfit is an error of an element of an answer.
type misfit struct {
	error
	from    *Exchange
	element any
}

// named is a text about the value.
func (p place) named(format string, args ...any) string {
	at := p.at
	if len(p.ids) > 0 {
		at += " (id " + strings.Join(p.ids, ", ") + ")"
	}
	return at + ": " + fmt.Sprintf(format, args...)
}

// breaks ends the rule as broken because of the value.
func (p place) breaks(wrong bool, format string, args ...any) {
	if wrong {
		panic(stop{misfit{fmt.Errorf("%s: %s", p.op, p.named(format, args...)), p.Exchange, p.element}})
	}
}

// as decodes the value.
func as[T any](p place) *T {
	v := new(T)
	err := json.Unmarshal([]byte(encoded(p.v)), v)
	p.breaks(err != nil, "it has another form than documented: %v", err)
	return v
}

// strange is what stands where a path cannot go on.
type strange string

// idNames are the members that name an element of a list.
var idNames = []string{"id", "platformHotelId", "hotelId", "roomTypeId", "ratePkgId", "platformReferenceNo"}

func (p place) below(path []string, visit func(place)) {
	if len(path) == 0 {
		visit(p)
		return
	}
	name, optional := strings.CutSuffix(path[0], "?")
	name, list := strings.CutSuffix(name, "[]")
	object, ok := p.v.(obj)
	if !ok {
		p.v = strange(p.shown() + " that is no object")
		visit(p)
		return
	}
	member, there := object[name]
	p.at, p.v = p.at+"."+name, member
	switch elements, isList := member.([]any); {
	case optional && member == nil:
	case !there:
		p.v = strange("nothing")
		visit(p)
	case !list:
		p.below(path[1:], visit)
	case !isList:
		p.v = strange(p.shown() + " that is no array")
		visit(p)
	default:
		at, ids := p.at, p.ids
		for i, element := range elements {
			p.at, p.v, p.element, p.ids = fmt.Sprintf("%s[%d]", at, i), element, element, ids
			object, _ := element.(obj)
			for _, name := range idNames {
				if id, _ := object[name].(string); id != "" {
					p.ids = append(slices.Clone(ids), id)
					break
				}
			}
			p.below(path[1:], visit)
		}
	}
}

func (p place) is(kind string) (ok bool) {
	text, isText := p.v.(string)
	number, isNumber := p.v.(json.Number)
	switch kind {
	case "string":
		ok = isText
	case "text":
		ok = text != ""
	case "boolean":
		_, ok = p.v.(bool)
	case "object":
		_, ok = p.v.(obj)
	case "array":
		_, ok = p.v.([]any)
	case "number":
		ok = isNumber
	case "integer":
		_, err := number.Int64()
		ok = err == nil
	case "date":
		_, err := types.Date(text).Time()
		ok = err == nil
	case "uuid":
		ok = len(text) == 36 && strings.Count(text, "-") == 4 && strings.Trim(strings.ToLower(text), "0123456789abcdef-") == ""
	case "0..5":
		n, err := number.Float64()
		ok = err == nil && n >= 0 && n <= 5
	default:
		ok = slices.Contains(strings.Split(kind, "|"), fmt.Sprint(p.v)) && isNumber == (strings.Trim(kind, "0123456789|") == "")
	}
	return ok
}

// shown is the value in a few words, without what may identify somebody.
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

// pace is a limiter that calls with a burst in their context do not wait for.
type pace struct {
	hotelstays.RateLimiter

	mu   sync.Mutex
	next map[hotelstays.RateLimitKey]time.Time // of operations without a documented limit
}

type burst struct{}

// paced uses a share of each rate limit, as one of several processes would. An operation without a
// documented limit has one request a second.
func paced(share float64) *pace {
	return &pace{next: map[hotelstays.RateLimitKey]time.Time{},
		RateLimiter: hotelstays.NewRateLimiter(&hotelstays.RateLimiterOptions{Processes: int(math.Ceil(min(1/share, 1e6)))})}
}

func (p *pace) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	key := req.Key
	switch {
	case ctx.Value(burst{}) != nil:
		return nil, ctx.Err()
	case key.Operation.RateLimit() > 0:
		return p.RateLimiter.Acquire(ctx, req)
	}
	p.mu.Lock()
	defer p.mu.Unlock() // one rule runs at a time
	d := time.Until(p.next[key])
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d { // a Retry-After of hours is no reason to wait minutes
		return nil, fmt.Errorf("%w: the next request may leave in %s", hotelstays.ErrRateLimited, d.Round(time.Second))
	}
	err := wait(ctx, d)
	p.next[key] = time.Now().Add(time.Second)
	return nil, err
}

func (p *pace) Pause(key hotelstays.RateLimitKey, until time.Time) {
	p.RateLimiter.Pause(key, until)
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.next[key]) {
		p.next[key] = until
	}
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
