// Calls: one road for all requests of the rules, and what they expect of the answers.

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

// read decodes the data of a success.
func read[T any](a *answer) *T {
	a.ok()
	v := new(T)
	err := json.Unmarshal(a.Data, v)
	breaks(err != nil, "%s: data has another form than documented: %v", a.op, err)
	return v
}

// place is a value in an answer.
type place struct {
	at      string // such as data.list[3].rooms[0]
	v       any
	element any      // the innermost element of a list around it
	ids     []string // those of the elements around it
}

// idNames are the members that name an element of a list.
var idNames = []string{"id", "platformHotelId", "hotelId", "roomTypeId", "ratePkgId", "platformReferenceNo"}

// located finds a value by its path.
func located(body []byte, path string) place {
	p := place{at: path}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	_ = dec.Decode(&p.v) // in what cannot be read there is nothing
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

// named is a text about the value.
func (p place) named(format string, args ...any) string {
	at := p.at
	if len(p.ids) > 0 {
		at += " (id " + strings.Join(p.ids, ", ") + ")"
	}
	return at + ": " + fmt.Sprintf(format, args...)
}

// strange is what stands where a path cannot go on.
type strange string

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
