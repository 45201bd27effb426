// The webhook handler: rejections, duplicates and leases.
// WakeHub, which wakes waiting calls.

package hotelstays_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/types"
)

type hookReceiver struct {
	http.Handler

	mu     sync.Mutex
	events []*hotelstays.WebhookEvent
	errs   []error
	fn     func(context.Context, *hotelstays.WebhookEvent) error
}

func newHookReceiver(changes ...func(*hotelstays.WebhookOptions)) *hookReceiver {
	r, opts := &hookReceiver{}, hookOptions(changes...)
	opts.OnError = func(_ *http.Request, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	}
	handler, err := hotelstays.NewWebhookHandler(opts, func(ctx context.Context, event *hotelstays.WebhookEvent) error {
		r.mu.Lock()
		r.events = append(r.events, event)
		fn := r.fn
		r.mu.Unlock()
		if fn == nil {
			return nil
		}
		return fn(ctx, event)
	})
	if err != nil {
		panic(err)
	}
	r.Handler = handler
	return r
}

func newHookHandler(t *testing.T, opts hotelstays.WebhookOptions) *hotelstays.WebhookHandler {
	t.Helper()
	handler, err := hotelstays.NewWebhookHandler(opts, func(context.Context, *hotelstays.WebhookEvent) error { return nil })
	require.NoError(t, err)
	return handler
}

func (r *hookReceiver) runs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

func (r *hookReceiver) deliver(req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

func (r *hookReceiver) send(id, body string) int { return r.deliver(hookRequest(id, body)).Code }

func hookRequest(id, body string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(signatureHeader, hookSign(hookSecret, time.Now(), body))
	if id != "" {
		req.Header.Set(eventIDHeader, id)
	}
	return req
}

// The handler calls OnError with a rejected delivery, and claims no event. So a later genuine delivery is still handled.
func TestRefusedDeliveryDoesNotCallTheFunction(t *testing.T) {
	type row struct {
		name   string
		status int
		is     error
		change func(*http.Request)
	}
	body := func(parts ...io.Reader) func(*http.Request) {
		return func(r *http.Request) { r.ContentLength, r.Body = -1, io.NopCloser(io.MultiReader(parts...)) }
	}
	cut := iotest.ErrReader(io.ErrUnexpectedEOF)
	rows := []row{
		{"no signature", 401, hotelstays.ErrWebhookSignature, func(r *http.Request) { r.Header.Del(signatureHeader) }},
		{"a signed time older than the tolerance", 401, hotelstays.ErrWebhookTime, func(*http.Request) { time.Sleep(301 * time.Second) }},
		{"the connection broke", 408, io.ErrUnexpectedEOF, body(strings.NewReader(hookPaid[:40]), cut)},
		{"the connection broke after the last byte", 408, io.ErrUnexpectedEOF, body(strings.NewReader(hookPaid), cut)},
		{"a body above the limit", 413, nil,
			func(r *http.Request) { *r = *hookRequest("evt-1", hookPaid+strings.Repeat(" ", 1<<20+1-len(hookPaid))) }},
		{"an endless body", 413, nil, body(readerFunc(func(p []byte) (int, error) { return len(p), nil }))},
	}
	for _, method := range []string{"GET", "PUT", "post", ""} {
		rows = append(rows, row{"method " + method, 405, nil, func(r *http.Request) { r.Method = method }})
	}
	for _, body := range hookNoEvents[:3] { // TestBodyWithoutAnEventIsRefused tests all bodies without an event
		rows = append(rows, row{fmt.Sprintf("body %.30q", body), 400, hotelstays.ErrWebhookBody,
			func(r *http.Request) { *r = *hookRequest("evt-1", body) }})
	}
	for _, row := range rows {
		inBubble(t, row.name, func(t *testing.T) {
			r := newHookReceiver()
			req := hookRequest("evt-1", hookPaid)
			row.change(req)
			w := r.deliver(req)
			assert.Equal(t, row.status, w.Code)
			assert.Equal(t, http.StatusText(row.status)+"\n", w.Body.String(), "the answer has no details")
			if row.status == 405 {
				assert.Equal(t, "POST", w.Header().Get("Allow"))
			}
			assert.Zero(t, r.runs())
			require.Len(t, r.errs, 1)
			assert.NotContains(t, r.errs[0].Error(), "CANARY")
			if row.is != nil {
				assert.ErrorIs(t, r.errs[0], row.is)
			}
			assert.Equal(t, 200, r.send("evt-1", hookPaid))
			assert.Equal(t, 1, r.runs())
			assert.Len(t, r.errs, 1)
		})
	}
}

func TestAcceptedDeliveryCallsTheFunction(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"no content type":            func(r *http.Request) { r.Header.Del("Content-Type") },
		"the content type of a form": func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") },
		"byte by byte":               func(r *http.Request) { r.Body = io.NopCloser(iotest.OneByteReader(r.Body)) },
		"no event id":                func(r *http.Request) { r.Header.Del(eventIDHeader) },
		"a malformed query":          func(r *http.Request) { r.URL.RawQuery = "a=b;c=%zz" },
	} {
		r, req := newHookReceiver(), hookRequest("evt-1", hookPaid)
		change(req)
		w := r.deliver(req)
		assert.Equal(t, 200, w.Code, name)
		assert.Empty(t, w.Body.String(), name)
		require.Equal(t, 1, r.runs(), name)
		assert.Equal(t, hookPaid, string(r.events[0].Raw), name)
		assert.Empty(t, r.errs, name)
	}
	r := newHookReceiver(func(o *hotelstays.WebhookOptions) { o.MaxBodyBytes = int64(len(hookPaid)) })
	assert.Equal(t, 413, r.send("", hookPaid+" "))
	assert.Equal(t, 200, r.send("", hookPaid), "exactly the limit")
	r = newHookReceiver()
	assert.Equal(t, 200, r.send("", hookPaid+strings.Repeat(" ", 1<<20-len(hookPaid))), "exactly the default limit")
	assert.Equal(t, 413, r.send("", hookPaid+strings.Repeat(" ", 1<<20-len(hookPaid)+1)))
	var secrets []types.Secret
	r = newHookReceiver(func(o *hotelstays.WebhookOptions) { secrets = o.Secrets })
	secrets[0] = types.NewSecret("another")
	assert.Equal(t, 200, r.send("", hookPaid), "the caller's slice may change")
	newHookHandler(t, hookOptions()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) // without OnError
}

// The handler answers a duplicate with 200.
func TestReplayedWebhookIsHandledOnce(t *testing.T) {
	other := strings.Replace(hookPaid, "HC-1", "HC-2", 1)
	for _, row := range []struct {
		name             string
		id, body         string
		copyID, copyBody string
		afterSeconds     int
		runs             int
	}{
		{"the copy has another id", "evt-1", hookPaid, "evt-2", hookPaid, 0, 1},
		{"the copy has no id", "evt-1", hookPaid, "", hookPaid, 0, 1},
		{"another body with the same id", "evt-1", hookPaid, "evt-1", other, 0, 1},
		{"another body, another id", "evt-1", hookPaid, "evt-2", other, 0, 2},
		{"the copy comes before the retention ends", "evt-1", hookPaid, "evt-1", hookPaid, 7*24*3600 - 1, 1},
		{"the copy comes after the retention", "evt-1", hookPaid, "evt-1", hookPaid, 7 * 24 * 3600, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newHookReceiver()
			require.Equal(t, 200, r.send(row.id, row.body), row.name)
			time.Sleep(time.Duration(row.afterSeconds) * time.Second)
			assert.Equal(t, 200, r.send(row.copyID, row.copyBody), row.name)
			assert.Equal(t, row.runs, r.runs(), row.name)
			assert.Empty(t, r.errs, row.name)
		})
	}
}

// Two accounts may have the same references and event ids.
func TestAccountsThatShareAnEventStoreDoNotHideEventsFromEachOther(t *testing.T) {
	type hook struct{ account, secret string } // without a secret the delivery is unsigned
	for name, row := range map[string]struct {
		first, second hook
		runs          int // how often the function runs for the two deliveries
	}{
		"two accounts with different secrets":          {hook{"", "secret-a"}, hook{"", "secret-b"}, 2},
		"two accounts with different names":            {hook{"a", "secret"}, hook{"b", "secret"}, 2},
		"two accounts, unsigned":                       {hook{"a", ""}, hook{"b", ""}, 2},
		"one account, unsigned":                        {hook{"a", ""}, hook{"a", ""}, 1},
		"one account without a name":                   {hook{"", "secret"}, hook{"", "secret"}, 1},
		"one account whose secret was rotated":         {hook{"a", "old"}, hook{"a", "new"}, 1},
		"one account without a name and a secret":      {hook{"", ""}, hook{"", ""}, 1},
		"a secret that is the name of another account": {hook{"a", "secret"}, hook{"", "a"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			store, runs := hotelstays.NewMemoryEvents(100), 0
			for _, h := range []hook{row.first, row.second} {
				r := newHookReceiver(func(o *hotelstays.WebhookOptions) {
					o.Account, o.Store, o.AllowUnsigned = h.account, store, h.secret == ""
					o.Secrets = []types.Secret{types.NewSecret("another secret"), types.NewSecret(cmp.Or(h.secret, "a third"))}
				})
				req := hookRequest("evt-1", hookPaid)
				if req.Header.Del(signatureHeader); h.secret != "" {
					req.Header.Set(signatureHeader, hookSign(h.secret, time.Now(), hookPaid))
				}
				assert.Equal(t, 200, r.deliver(req).Code)
				runs += r.runs()
			}
			assert.Equal(t, row.runs, runs)
		})
	}
}

// With AllowUnsigned, a sender without a secret can neither mark a signed event as handled nor claim it.
func TestUnsignedEventDoesNotMakeASignedEventADuplicate(t *testing.T) {
	noTime := `{"customerReferenceNo":"ref-1","event":"order_modified"}` // without eventTime, the event's only key is made of the body
	for name, event := range map[string]struct{ id, signed, forged string }{
		"no id":         {"", hookPaid, hookBody("ref-1", types.EventOrderPaid, 2)},
		"a guessed id":  {"evt-1", hookPaid, hookBody("ref-2", types.EventOrderPaid, 2)},
		"the same body": {"", noTime, noTime},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHookReceiver(func(o *hotelstays.WebhookOptions) { o.AllowUnsigned = true })
			signed := 0
			r.fn = func(_ context.Context, e *hotelstays.WebhookEvent) error {
				if e.Signed {
					signed++
					return nil
				}
				if r.runs() == 1 {
					assert.Equal(t, 200, r.send(event.id, event.signed), "the signed event, while the forged event is handled")
				}
				return nil
			}
			forged := hookRequest(event.id, event.forged)
			forged.Header.Del(signatureHeader)
			assert.Equal(t, 200, r.deliver(forged).Code)
			assert.Equal(t, 200, r.send(event.id, event.signed))
			assert.Equal(t, 1, signed)
			assert.Equal(t, 2, r.runs())
		})
	}
}

// Everyone who knows the URL can send unsigned events, so the handler remembers unsigned events in a separate store.
func TestUnsignedEventsDoNotMakeTheHandlerForgetSignedEvents(t *testing.T) {
	r := newHookReceiver(func(o *hotelstays.WebhookOptions) { o.AllowUnsigned = true })
	unsigned := hookRequest("evt-1", hookPaid)
	unsigned.Header.Del(signatureHeader)
	assert.Equal(t, 200, r.send("evt-1", hookPaid))
	assert.Equal(t, 200, r.deliver(unsigned).Code)
	require.Equal(t, 2, r.runs())
	flood := make([]string, hotelstays.DefaultEvents)
	for i := range flood {
		flood[i] = strconv.Itoa(i)
	}
	require.NoError(t, r.Handler.(*hotelstays.WebhookHandler).UnsignedEvents().Done(t.Context(), flood, time.Hour))
	assert.Equal(t, 200, r.send("evt-1", hookPaid))
	assert.Equal(t, 2, r.runs(), "the signed event is remembered")
	unsigned.Body = io.NopCloser(strings.NewReader(hookPaid))
	assert.Equal(t, 200, r.deliver(unsigned).Code)
	assert.Equal(t, 3, r.runs(), "the unsigned event is forgotten")
	require.NoError(t, r.Handler.(*hotelstays.WebhookHandler).SignedEvents().Done(t.Context(), flood[2:], time.Hour))
	assert.Equal(t, 200, r.send("evt-1", hookPaid))
	assert.Equal(t, 3, r.runs(), "the store keeps two keys each of the last 100,000 signed events")
}

type hookStore struct {
	state                hotelstays.ClaimState
	claim, done, release error

	calls         []string
	keys, settled []string // keys: the keys of Claim; settled: the keys of Done or Release
	lease         time.Duration
	retention     time.Duration
	settleErr     error // ctx.Err() in Done or Release
}

func (s *hookStore) Claim(_ context.Context, keys []string, lease time.Duration) (hotelstays.ClaimState, error) {
	s.calls, s.keys, s.lease = append(s.calls, "claim"), keys, lease
	return s.state, s.claim
}

func (s *hookStore) Done(ctx context.Context, keys []string, retention time.Duration) error {
	s.calls, s.retention, s.settleErr, s.settled = append(s.calls, "done"), retention, ctx.Err(), keys
	return s.done
}

func (s *hookStore) Release(ctx context.Context, keys []string) error {
	s.calls, s.settleErr, s.settled = append(s.calls, "release"), ctx.Err(), keys
	return s.release
}

func TestWebhookAnswerDependsOnTheStoreAndTheFunction(t *testing.T) {
	boom, also := errors.New("boom"), errors.New("also")
	busy := hotelstays.ErrWebhookBusy
	for _, row := range []struct {
		name   string
		store  hookStore
		fn     error
		status int
		err    error
		calls  string
	}{
		{"the claim is granted", hookStore{state: hotelstays.ClaimGranted}, nil, 200, nil, "claim done"},
		{"the event is done", hookStore{state: hotelstays.ClaimDone}, nil, 200, nil, "claim"},
		{"the event is claimed", hookStore{state: hotelstays.ClaimBusy}, nil, 503, busy, "claim"},
		{"an unknown state", hookStore{state: "Granted"}, nil, 503, busy, "claim"},
		{"Claim fails", hookStore{state: hotelstays.ClaimGranted, claim: boom}, nil, 503, boom, "claim"},
		{"Done fails", hookStore{state: hotelstays.ClaimGranted, done: boom}, nil, 503, boom, "claim done"},
		{"the function fails", hookStore{state: hotelstays.ClaimGranted}, boom, 500, boom, "claim release"},
		{"the function and Release fail", hookStore{state: hotelstays.ClaimGranted, release: also}, boom, 500, boom, "claim release"},
	} {
		store := row.store
		r := newHookReceiver(func(o *hotelstays.WebhookOptions) { o.Store = &store })
		r.fn = func(context.Context, *hotelstays.WebhookEvent) error {
			assert.Equal(t, []string{"claim"}, store.calls, "Done is called after the function")
			return row.fn
		}
		w := r.deliver(hookRequest("evt-1", hookPaid))
		assert.Equal(t, row.status, w.Code, row.name)
		assert.Equal(t, strings.Contains(row.calls, " "), r.runs() == 1, row.name)
		assert.NotContains(t, w.Body.String(), "boom", row.name)
		assert.Equal(t, row.status == 503, w.Header().Get("Retry-After") == "1", row.name)
		assert.Equal(t, row.calls, strings.Join(store.calls, " "), row.name)
		if row.err == nil {
			assert.Empty(t, r.errs, row.name)
		} else {
			require.Len(t, r.errs, 1, row.name)
			assert.ErrorIs(t, r.errs[0], row.err, row.name)
		}
	}
}

func TestDisconnectDoesNotCancelDoneOrRelease(t *testing.T) {
	for _, fails := range []bool{false, true} {
		store := &hookStore{state: hotelstays.ClaimGranted}
		r := newHookReceiver(func(o *hotelstays.WebhookOptions) { o.Store, o.Lease, o.Retention = store, 3*time.Second, 5*time.Hour })
		ctx, cancel := context.WithCancel(t.Context())
		r.fn = func(ctx context.Context, _ *hotelstays.WebhookEvent) error {
			deadline, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.WithinDuration(t, time.Now().Add(3*time.Second), deadline, time.Second)
			cancel() // the sender disconnects
			<-ctx.Done()
			if fails {
				return ctx.Err()
			}
			return nil
		}
		r.deliver(hookRequest("evt-1", hookPaid).WithContext(ctx))
		assert.Len(t, store.calls, 2)
		assert.NoError(t, store.settleErr)
		assert.Len(t, store.keys, 2, "an id and a body")
		assert.Equal(t, store.keys, store.settled)
		assert.Equal(t, 3*time.Second, store.lease)
		assert.Equal(t, !fails, store.retention == 5*time.Hour)
	}
}

// The error quotes fields of the delivery, and anyone can send an unsigned delivery. So the error escapes line breaks, and
// shortens long fields.
func TestErrorOfAFailedEventIsOneShortLine(t *testing.T) {
	r := newHookReceiver(func(o *hotelstays.WebhookOptions) { o.Secrets, o.AllowUnsigned = nil, true })
	r.fn = func(context.Context, *hotelstays.WebhookEvent) error { return errors.New("no such order") }
	for _, body := range []string{
		`{"customerReferenceNo":"ref-1","event":"order_paid\nINFO all is well"}`,
		`{"customerReferenceNo":"ref-1` + strings.Repeat("1", 1<<19) + `","event":"` + strings.Repeat("e", 1<<18) + `"}`,
	} {
		assert.Equal(t, 500, r.send("", body))
	}
	require.Len(t, r.errs, 2)
	for _, err := range r.errs {
		assert.NotContains(t, err.Error(), "\n")
		assert.Less(t, len(err.Error()), 500)
		assert.ErrorContains(t, err, "ref-1")
	}
}

func TestEventIsHandledAgainAfterAFailure(t *testing.T) {
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("down") },
		"a panic":  func() error { panic("boom") },
		"an exit":  func() error { runtime.Goexit(); return nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newHookReceiver()
			r.fn = func(context.Context, *hotelstays.WebhookEvent) error {
				if r.runs() <= 2 {
					return fail()
				}
				return nil
			}
			for range 2 {
				ended := make(chan any)
				go func() {
					status := 0
					defer func() {
						if p := recover(); p != nil {
							assert.Equal(t, "boom", p, "the panic reaches the server")
						}
						ended <- status
					}()
					status = r.send("evt-1", hookPaid)
				}()
				if status := <-ended; name == "an error" {
					assert.Equal(t, 500, status)
				} else {
					assert.Zero(t, status)
				}
			}
			for range 3 {
				assert.Equal(t, 200, r.send("evt-1", hookPaid), name)
			}
			assert.Equal(t, 3, r.runs(), name)
		})
	}
}

func TestCtxOfTheWebhookFunctionEndsWithTheLease(t *testing.T) {
	for _, lease := range []time.Duration{0, 7 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := newHookReceiver(func(o *hotelstays.WebhookOptions) { o.Lease = lease })
			want, start := cmp.Or(lease, time.Minute), time.Now()
			r.fn = func(ctx context.Context, _ *hotelstays.WebhookEvent) error {
				if r.runs() > 1 {
					return nil
				}
				<-ctx.Done()
				assert.Equal(t, want, time.Since(start))
				assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
				time.Sleep(time.Hour) // this function ignores ctx
				return nil
			}
			var hung sync.WaitGroup
			hung.Go(func() { assert.Equal(t, 200, r.send("evt-1", hookPaid)) })
			time.Sleep(want - 1)
			assert.Equal(t, 503, r.send("evt-1", hookPaid), "still leased")
			time.Sleep(time.Nanosecond)
			assert.Equal(t, 200, r.send("evt-1", hookPaid), "the lease is over")
			assert.Equal(t, 2, r.runs())
			hung.Wait()
			assert.Equal(t, 200, r.send("evt-1", hookPaid))
			assert.Equal(t, 2, r.runs())
		})
	}
}

// oneConn is a net.Listener that accepts one connection.
type oneConn chan net.Conn

func (l oneConn) Accept() (net.Conn, error) {
	if conn := <-l; conn != nil {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (oneConn) Close() error   { return nil }
func (oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// If a body does not arrive within ReadTimeout, the answer is 408, and the server closes the connection. With another method
// than POST, the answer is 405. ReadTimeout limits neither the function nor the idle connection.
func TestSlowWebhookBodyEndsAtTheReadTimeout(t *testing.T) {
	for _, row := range []struct {
		method, body string
		pause        time.Duration // the sender's pause before each byte
		status       int
	}{
		{"POST", hookPaid[:20], 0, 408},
		{"POST", hookPaid, time.Second, 408},
		{"PUT", hookPaid[:20], 0, 405},
		{"PUT", hookPaid, time.Second, 405},
		{"POST", hookPaid, 0, 200},
	} {
		inBubble(t, fmt.Sprint(row.method, row.pause, row.status), func(t *testing.T) {
			r := newHookReceiver()
			r.fn = func(ctx context.Context, _ *hotelstays.WebhookEvent) error {
				time.Sleep(30 * time.Second)
				return ctx.Err()
			}
			conn, server := net.Pipe()
			listener := make(oneConn, 1)
			listener <- server
			srv := &http.Server{Handler: r}
			go srv.Serve(listener)
			defer func() { close(listener); srv.Close() }()
			answers, start := bufio.NewReader(conn), time.Now()
			for range 2 {
				go func() {
					fmt.Fprintf(conn, "%s /hook HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s: %s\r\n\r\n", row.method, len(hookPaid),
						signatureHeader, hookSign(hookSecret, time.Now(), hookPaid))
					for i := range row.body {
						time.Sleep(row.pause)
						if _, err := io.WriteString(conn, row.body[i:i+1]); err != nil {
							return
						}
					}
				}()
				resp, err := http.ReadResponse(answers, nil)
				require.NoError(t, err)
				assert.Equal(t, row.status, resp.StatusCode)
				if row.status != 200 {
					assert.Equal(t, 10*time.Second, time.Since(start))
					_, err = io.Copy(io.Discard, answers)
					assert.NoError(t, err, "the server closes the connection")
					break
				}
				time.Sleep(time.Minute)
			}
			assert.Equal(t, row.status == 200, r.runs() == 1, "the second delivery is a duplicate")
			conn.Close()
			time.Sleep(time.Minute) // wait until the sender has read the answer
		})
	}
}

func TestFunctionThatFailsAfterItsLeaseDoesNotReleaseTheNextClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHookReceiver(func(o *hotelstays.WebhookOptions) { o.Lease = 10 * time.Second })
		var successes atomic.Int64
		r.fn = func(context.Context, *hotelstays.WebhookEvent) error {
			if r.runs() == 1 {
				time.Sleep(12 * time.Second)
				return errors.New("late")
			}
			time.Sleep(5 * time.Second)
			successes.Add(1)
			return nil
		}
		go r.send("e", hookPaid)
		time.Sleep(11 * time.Second)
		go r.send("e", hookPaid) // the second claim, from 11 s to 16 s
		time.Sleep(2 * time.Second)
		assert.Equal(t, 503, r.send("e", hookPaid))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.EqualValues(t, 1, successes.Load())
	})
}

func TestWebhookAnswerIsSentBeforeOnErrorReturns(t *testing.T) {
	release := make(chan struct{})
	opts := hookOptions(func(o *hotelstays.WebhookOptions) { o.OnError = func(*http.Request, error) { <-release } })
	srv := httptest.NewServer(newHookHandler(t, opts))
	defer srv.Close()
	resp, err := srv.Client().Post(srv.URL, "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	close(release)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	resp.Body.Close()
	srv.Client().CloseIdleConnections()
}

func TestMemoryEventStorePassesStoretest(t *testing.T) {
	storetest.TestEventStore(t, func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
		m := hotelstays.NewMemoryEvents(1000)
		return storetest.Fleet[hotelstays.EventStore]{Open: func() hotelstays.EventStore { return m }}
	}, &storetest.Options{InBubble: true})
}

// pending receives a wake-up from the channel, and reports whether the channel had a wake-up.
func pending(wakeup <-chan struct{}) bool {
	select {
	case <-wakeup:
		return true
	default:
		return false
	}
}

func TestWakeHubWakesEachWatcher(t *testing.T) {
	var hub hotelstays.WakeHub
	hub.Wake("ref-1") // nobody watches
	one, stopOne := hub.Watch("ref-1")
	two, stopTwo := hub.Watch("ref-1")
	other, stopOther := hub.Watch("ref-2")
	assert.False(t, pending(one), "a wake-up before Watch is not kept")

	hub.Wake("ref-1")
	hub.Wake("ref-1")
	assert.True(t, pending(one), "a wake-up is kept until it is received")
	assert.False(t, pending(one), "two wake-ups become one")
	assert.True(t, pending(two), "all watchers are woken")
	assert.False(t, pending(other))

	stopOne()
	stopOne()
	hub.Wake("ref-1")
	assert.False(t, pending(one))
	assert.True(t, pending(two), "the other watcher is still woken")
	stopTwo()
	stopOther()
	assert.Equal(t, 0, hub.References())
	assert.Zero(t, testing.AllocsPerRun(100, func() { hub.Wake("ref-1") }))
}

// A Wake after a Watch wakes the watcher, even while other watchers start and stop.
func TestWakeHubLosesNoWakeUpUnderLoad(t *testing.T) {
	var hub hotelstays.WakeHub
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for range 200 {
				wakeup, stop := hub.Watch([]string{"ref-1", "ref-2"}[i%2])
				hub.Wake("ref-1")
				hub.Wake("ref-2")
				<-wakeup
				stop()
			}
		})
	}
	work.Wait()
	assert.Equal(t, 0, hub.References())
}
