// A sandbox to probe, and a proxy before it that behaves wrongly in one way.

package probe

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// proxy is a service with one fault, in front of the sandbox.
type proxy struct {
	http.RoundTripper
	op    operation       // "": all
	asked func(*question) // changes the request
	told  func(*reply)    // changes the answer
	mu    sync.Mutex      // held by asked and told
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
	data   obj // that of body
}

// refuse makes the answer a refusal.
func (a *reply) refuse(status, code int) {
	a.status, a.body, a.data = status, obj{"code": code, "msg": "refused"}, nil
}

// succeed makes the answer a success.
func (a *reply) succeed(data obj) {
	a.status, a.body, a.data = 200, obj{"code": 0, "msg": "success", "data": data}, data
}

func (p *proxy) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.op != "" && !strings.HasSuffix(req.URL.Path, paths[p.op]) {
		return p.RoundTripper.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	sent, _ := io.ReadAll(req.Body)
	q := question{req.URL.Path, req.Header, numbers(sent)}
	if p.asked != nil {
		p.mu.Lock()
		p.asked(&q)
		p.mu.Unlock()
		sent, _ = json.Marshal(q.body)
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
	resp, err := p.RoundTripper.RoundTrip(req)
	if err != nil || p.told == nil {
		return resp, err
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	a := &reply{asked: q, status: resp.StatusCode, header: resp.Header, body: numbers(body)}
	a.data, _ = a.body["data"].(obj)
	p.mu.Lock()
	p.told(a)
	p.mu.Unlock()
	body, _ = json.Marshal(a.body)
	resp.StatusCode, resp.Body, resp.ContentLength = a.status, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

// numbers decodes an object without touching its numbers.
func numbers(text []byte) (o obj) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	_ = dec.Decode(&o)
	return o
}

// probed runs the rules against a sandbox in virtual time.
func probed(t *testing.T, sandbox hotelstaystest.Config, fault *proxy, change func(*Config)) (report *Report, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sandbox.InMemory = true
		sandbox.Catalog.HotelsPerCity, sandbox.Catalog.RoomsPerHotel, sandbox.Catalog.RatesPerRoom = 60, 1, 2
		srv := hotelstaystest.NewServer(&sandbox)
		defer srv.Close()
		through := srv.Client()
		defer through.CloseIdleConnections()
		cfg := Config{
			BaseURL: srv.URL, Credential: testkit.TicketOf(srv), HTTPClient: &http.Client{Transport: through.Transport},
			OAuth: &hotelstays.OAuthCredential{ClientID: srv.ClientID, ClientSecret: types.NewSecret(srv.ClientSecret)},
			Burst: true, Patience: time.Hour, DestinationID: "",
		}
		if fault != nil {
			fault.RoundTripper = through.Transport
			cfg.HTTPClient.Transport = fault
		}
		if change != nil {
			change(&cfg)
		}
		report, err = Run(t.Context(), cfg)
	})
	return report, err
}

// result returns the result of a rule.
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

// broken are the names of the broken rules.
func (r *Report) broken() (names []string) {
	for _, result := range r.Results {
		if result.State == Broken {
			names = append(names, result.Name)
		}
	}
	return names
}
