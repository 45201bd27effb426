// The guards of the control API, and how it reads and writes.

package hotelstaystest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// controlled starts a server with the control API for one test.
func controlled(t testing.TB, opts ...Option) (*Server, *controller) {
	t.Helper()
	s := start(t, append([]Option{WithControl()}, opts...)...)
	return s, &controller{t: t, s: s}
}

// controller is a client of the control API.
type controller struct {
	t      testing.TB
	s      *Server
	change func(*http.Request) // before it is sent
}

// answered is an answer of the control API.
type answered struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// call sends a request. A body is JSON text, or a value to encode.
func (c *controller) call(method, path string, body any) *answered {
	c.t.Helper()
	text, ok := body.(string)
	if !ok && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(encoded)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.s.URL+path, strings.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	if text != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.change != nil {
		c.change(req)
	}
	client := c.s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	a := &answered{t: c.t, status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// must sends and requires success. It decodes the answer into out, unless that is nil.
func (c *controller) must(method, path string, body, out any) {
	c.t.Helper()
	a := c.call(method, path, body)
	if a.status != 200 && a.status != 204 {
		c.t.Fatalf("%s %s: HTTP %d, %s", method, path, a.status, a.body)
	}
	if out != nil {
		if err := json.Unmarshal(a.body, out); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, path, err, a.body)
		}
	}
}

// refused sends, and checks that the answer is this error.
func (c *controller) refused(method, path string, body any, status int, field, text string) *answered {
	c.t.Helper()
	a := c.call(method, path, body)
	var got struct {
		Error struct{ Field, Message string }
	}
	err := json.Unmarshal(a.body, &got)
	if a.status != status || err != nil || got.Error.Field != field || !strings.Contains(got.Error.Message, text) {
		c.t.Errorf("%s %s: got HTTP %d %s, want %d for field %q with %q", method, path, a.status, a.body, status, field, text)
	}
	return a
}

func TestControlIsOffByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		c := &controller{t: t, s: s}
		for _, path := range []string{healthPath, "/_sandbox/", "/_sandbox/clock"} {
			if got := c.call("GET", path, nil); got.status != 404 || !strings.Contains(string(got.body), `"code"`) {
				t.Errorf("%s: HTTP %d, %s", path, got.status, got.body)
			}
		}
		if got := len(s.Ledger().Requests("")); got != 3 {
			t.Errorf("%d requests in the ledger", got)
		}
	})
}

func TestControlIsNotInTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := controlled(t, WithRateLimit(OpTicket, 1))
		s.Inject(Fault{Kind: FaultCutBeforeRead, Times: -1})
		before := len(s.Ledger().Entries(0))
		for range 50 {
			c.must("GET", healthPath, nil, nil)
			c.must("GET", "/_sandbox/ledger", nil, nil)
			c.refused("GET", "/_sandbox/nothing", nil, 404, "", "openapi.json")
		}
		if got := s.Ledger(); got.Count("") != 0 || len(got.Entries(0)) != before {
			t.Errorf("%+v", got.Entries(0))
		}
	})
}
