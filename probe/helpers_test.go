// A sandbox to probe, and a proxy in front of it with one fault.

package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/judge"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) {
	chaostest.Main(part.play)
	testkit.Main(m)
}

// fault is one difference from the document, and the names of the rules that find it.
type fault struct {
	op     operation       // "": all operations
	asked  func(*question) // changes the request
	told   func(*reply)    // changes the answer
	breaks string          // names of rules, separated by spaces
}

// question is a request before it reaches the sandbox.
type question struct {
	path   string
	header http.Header
	body   obj
}

// reply is an answer before it reaches the probe.
type reply struct {
	asked  question
	status int
	header http.Header
	body   obj
	data   obj   // the data in body
	err    error // error at the end of the body, or instead of the answer if status is 0
}

func (a *reply) refuse(status, code int) {
	a.status, a.body, a.data = status, obj{"code": code, "msg": "refused"}, nil
}

func (a *reply) succeed(data obj) {
	a.status, a.body, a.data = 200, obj{"code": 0, "msg": "success", "data": data}, data
}

// before returns a transport that sends requests to the service, and changes requests and answers by the fault.
func (f fault) before(service http.RoundTripper) http.RoundTripper {
	var mu sync.Mutex // held by asked and told
	return testkit.Transport(func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, f.op.Path()) {
			return service.RoundTrip(req)
		}
		req = req.Clone(req.Context())
		sent, _ := io.ReadAll(req.Body)
		q := question{req.URL.Path, req.Header, numbers(sent)}
		if f.asked != nil {
			mu.Lock()
			f.asked(&q)
			mu.Unlock()
			sent, _ = json.Marshal(q.body)
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
		resp, err := service.RoundTrip(req)
		if err != nil || f.told == nil {
			return resp, err
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		a := &reply{asked: q, status: resp.StatusCode, header: resp.Header, body: numbers(body)}
		a.data, _ = a.body["data"].(obj)
		mu.Lock()
		f.told(a)
		mu.Unlock()
		if a.status == 0 {
			return nil, a.err
		}
		body, _ = json.Marshal(a.body)
		resp.StatusCode, resp.Body, resp.ContentLength = a.status, io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if resp.Header.Del("Content-Length"); a.err != nil {
			resp.Body = io.NopCloser(iotest.ErrReader(a.err))
		}
		return resp, nil
	})
}

// numbers decodes an object and keeps every digit of its numbers.
func numbers(text []byte) (o obj) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	_ = dec.Decode(&o)
	return o
}

// asks reports whether a member of a request or of its page has a value. An upper-case name is a header. The value may be
// a func(any) bool; nil means absent.
func (q *question) asks(name string, want any) bool {
	value := q.holder(name)[name]
	if text := q.header.Get(name); text != "" && name[0] <= 'Z' {
		value = text
	}
	if is, ok := want.(func(any) bool); ok {
		return is(value)
	}
	return fmt.Sprint(value) == fmt.Sprint(want)
}

// holder returns the object that has the member name: the page of the request, or otherwise the request.
func (q *question) holder(name string) obj {
	if page, ok := q.body["page"].(obj); ok && page[name] != nil {
		return page
	}
	return q.body
}

func present(v any) bool { return v != nil }

// sized matches a list with least to most elements, or a text with least to most bytes.
func sized(least, most int) func(any) bool {
	return func(v any) bool {
		n := 0
		if list := reflect.ValueOf(v); v != nil {
			n = list.Len()
		}
		return n >= least && n <= most
	}
}

// takes returns a change of requests in which a member (name) has a value (is). The change replaces this value by another value
// (as), or removes the member if as is nil. The service then seems to accept a wrong value, or to have another default.
func takes(name string, is, as any) func(*question) {
	return func(q *question) {
		if q.asks(name, is) {
			set(q.holder(name), name, as)
		}
	}
}

// on returns a function that changes the answer if the member name of the request has the value want.
func on(name string, want any, change func(*reply)) func(*reply) {
	return func(a *reply) {
		if a.asked.asks(name, want) {
			change(a)
		}
	}
}

// answers applies the function change to each refusal with this code, or to each refusal if code is 0.
func answers(code int, change func(*reply)) func(*reply) {
	return func(a *reply) {
		got := fmt.Sprint(a.body["code"])
		if got == strconv.Itoa(code) && code != 0 || got != "0" && code == 0 {
			change(a)
		}
	}
}

func refused(status, code int) func(*reply) { return func(a *reply) { a.refuse(status, code) } }

func denied(a *reply) { a.refuse(400, types.CodeParam) }

func granted(data obj) func(*reply) { return func(a *reply) { a.succeed(data) } }

// headed changes a header in answers that have this header. "" removes the header.
func headed(name, value string) func(*reply) {
	return func(a *reply) {
		if a.header.Get(name) != "" {
			a.header.Set(name, value)
		}
		if value == "" {
			a.header.Del(name)
		}
	}
}

// sets changes a member in the data of successes. The value nil removes the member. If the value is a function, its argument is
// the object that has the member, and its result is the new value.
func sets(path string, value any) func(*reply) {
	return func(a *reply) {
		if a.data != nil {
			set(a.data, path, value)
		}
	}
}

// sandboxed configures a run of all reading rules against a sandbox with a fault.
func sandboxed(t *testing.T, sandbox hotelstaystest.Config, f fault) (Config, *hotelstaystest.Server) {
	t.Helper()
	sandbox.Catalog.RoomsPerHotel, sandbox.Catalog.RatesPerRoom = 1, 2
	srv, _ := testkit.NewSandbox(t, sandbox)
	through := srv.Client()
	t.Cleanup(through.CloseIdleConnections)
	return Config{
		BaseURL: srv.URL, Credential: testkit.TicketOf(srv), HTTPClient: &http.Client{Transport: f.before(through.Transport)},
		OAuth:   &hotelstays.OAuthCredential{ClientID: srv.ClientID, ClientSecret: types.NewSecret(srv.ClientSecret)},
		Options: []hotelstays.Option{hotelstays.WithMarket("AE"), hotelstays.WithUserRef("agent-7")}, Burst: true, Patience: time.Hour,
	}, srv
}

// probed runs the reading rules against a sandbox in virtual time.
func probed(t *testing.T, sandbox hotelstaystest.Config, f fault, change func(*Config)) (report *Report, err error) {
	t.Helper()
	sandbox.Catalog.HotelsPerCity = 60
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := sandboxed(t, sandbox, f)
		change(&cfg)
		report, err = Run(t.Context(), cfg)
	})
	return report, err
}

// during applies a fault only for the time d after the first request of op for an order.
func during(op operation, d time.Duration, f fault) fault {
	var began time.Time
	now := func() bool { return !began.IsZero() && time.Since(began) < d }
	return fault{asked: func(q *question) {
		if began.IsZero() && q.path == op.Path() && q.body["supplierReferenceNo"] != unknownReference {
			began = time.Now()
		}
		if now() && f.asked != nil {
			f.asked(q)
		}
	}, told: func(a *reply) {
		if now() && f.told != nil {
			f.told(a)
		}
	}, breaks: f.breaks}
}

func (r *Report) result(t *testing.T, rule string) Result {
	t.Helper()
	for _, result := range r.Results {
		if result.Name == rule {
			return result
		}
	}
	require.Fail(t, "no such rule", rule)
	return Result{}
}

func (r *Report) broken() (names []string) {
	for _, result := range r.Results {
		if result.State == Broken {
			names = append(names, result.Name)
		}
	}
	return names
}

// isJudged reports whether package judge has decided the result.
func isJudged(result Result) bool {
	return slices.ContainsFunc(judge.Rules(), func(r judge.Rule) bool { return r.Name == result.Name })
}

func only(names ...string) func(*Config) { return func(c *Config) { c.Only = names } }
