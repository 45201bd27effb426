package judge_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/judge"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// call sends a request through a judge to a service that answers 400 with a body. It reads only some bytes of the answer.
func call(t *testing.T, j *judge.Judge, path, session, body string, read int64) {
	t.Helper()
	through := j.Transport(testkit.Transport(func(req *http.Request) (*http.Response, error) {
		sent, err := io.ReadAll(req.Body)
		assert.Equal(t, "{}", string(sent))
		resp := testkit.Reply(400, body)
		if strings.HasPrefix(body, gzipped) {
			resp.Header.Set("Content-Encoding", "gzip")
		}
		return resp, err
	}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h"+path, strings.NewReader("{}"))
	require.NoError(t, err)
	req.Header.Set("Session-Id", session)
	resp, err := through.RoundTrip(req)
	require.NoError(t, err)
	answer := io.LimitReader(resp.Body, read)
	for range 2 { // an http.Client may read again after the end of the body
		_, err = io.Copy(io.Discard, answer)
		require.NoError(t, err)
	}
	require.NoError(t, resp.Body.Close())
	require.NoError(t, resp.Body.Close())
}

const (
	queryOrders = "/api/trade/queryOrders"
	whole       = 1 << 40
	gzipped     = "\x1f\x8b"
)

// Exchanges are judged one at a time. An exchange is dropped and counted if the queue would exceed MaxQueued bytes, or if the
// caller did not read the body to its end.
func TestFullQueueDropsExchanges(t *testing.T) {
	hold, judged := make(chan struct{}), make(chan struct{}, 99)
	j := judge.New(&judge.Options{MaxQueued: 62, OnFinding: func(f judge.Finding) {
		if f.Name == "envelope/failure" && f.Path == "code" {
			judged <- struct{}{}
			<-hold
		}
	}})
	page := strings.Repeat("x", 60)
	call(t, j, queryOrders, "", page, whole)
	<-judged
	call(t, j, queryOrders, "", page, whole)
	assert.Zero(t, j.Dropped())
	call(t, j, queryOrders, "", "", whole)
	assert.Equal(t, 1, j.Dropped(), "the queue is full")
	call(t, j, queryOrders, "", page, 59)
	assert.Equal(t, 2, j.Dropped(), "the answer was not read to its end")
	call(t, j, "/else", "", page, whole)
	assert.Equal(t, 2, j.Dropped(), "the path is not an operation")
	call(t, j, queryOrders, "", gzipped+page, whole)
	assert.Equal(t, 2, j.Dropped(), "compressed answers are not judged")
	close(hold)
	j.Wait()
	assert.Len(t, judged, 1)
	call(t, j, queryOrders, "", page, whole)
	j.Wait()
	assert.Len(t, judged, 2, "a judged exchange leaves the queue")
}

func TestAnswersAbove16MiBAreDropped(t *testing.T) {
	n := 0
	j := judge.New(&judge.Options{OnFinding: func(judge.Finding) { n++ }})
	for surplus := range 2 {
		call(t, j, queryOrders, "", strings.Repeat("x", 16<<20+surplus), whole)
		j.Wait()
		assert.Equal(t, surplus, j.Dropped())
		assert.NotZero(t, n)
	}
}

// net/http sends any other body than http.NoBody in chunks if its length is unknown.
func TestRequestWithoutABodyIsSentWithoutABodyAndAnUnreadableBodyIsNotSent(t *testing.T) {
	for body, want := range map[io.Reader]io.Reader{http.NoBody: http.NoBody, iotest.ErrReader(io.ErrNoProgress): nil} {
		var sent io.Reader
		through := judge.New(nil).Transport(testkit.Transport(func(req *http.Request) (*http.Response, error) {
			sent = req.Body
			return nil, io.ErrNoProgress
		}))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h"+queryOrders, body)
		require.NoError(t, err)
		_, err = through.RoundTrip(req)
		require.ErrorIs(t, err, io.ErrNoProgress)
		assert.Equal(t, want, sent)
	}
}

func TestEitherAllOrNoCallsOfASessionAreJudged(t *testing.T) {
	judged := map[string]int{}
	j := judge.New(&judge.Options{Sample: 0.5, OnFinding: func(f judge.Finding) {
		if f.Name == "envelope/failure" && f.Path == "code" {
			judged[string(f.Operation)]++
		}
	}})
	for n := range 100 {
		for path := range strings.FieldsSeq("search/hotelRates trade/book auth/ticket trade/cancel trade/queryOrders trade/orderVoucher") {
			call(t, j, "/api/"+path, fmt.Sprint(n/2), "x", whole)
		}
	}
	j.Wait()
	assert.InDelta(t, 50, judged["HotelRates"], 40)
	assert.Zero(t, judged["HotelRates"]%2, "both calls of a session are judged, or none")
	for _, always := range []string{"Book", "Ticket", "Cancel", "QueryOrders", "OrderVoucher"} {
		assert.Equal(t, 100, judged[always], always)
	}
}

// The judge remembers a ticket for MemoryAge, unless MaxRemembered newer values replace it.
func TestJudgeForgetsOldAndSurplusValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := judge.New(&judge.Options{MemoryAge: time.Hour, MaxRemembered: 8})
		ticket := func(n int) {
			j.Look(judge.Exchange{Time: time.Now(), URL: "https://h/api/auth/ticket", RequestBody: []byte(`{"ttl":60}`), Status: 200,
				Body: fmt.Appendf(nil, `{"code":0,"data":{"ticket":"t%d"}}`, n)})
		}
		known := func() bool {
			was := j.Look(judge.Exchange{Time: time.Now().Add(time.Hour), URL: "https://h" + queryOrders, Status: 200, Body: []byte(`{"code":0}`),
				Request: http.Header{"Authorization": {"Bearer t0"}}})
			for _, f := range was.Findings {
				if f.Name == "ticket/ended" {
					return true
				}
			}
			return false
		}
		assert.False(t, known())
		ticket(0)
		time.Sleep(29 * time.Minute)
		assert.True(t, known())
		time.Sleep(30 * time.Minute)
		assert.True(t, known())
		time.Sleep(32 * time.Minute)
		assert.False(t, known(), "the ticket is older than MemoryAge")
		ticket(0)
		time.Sleep(61 * time.Minute)
		assert.False(t, known(), "the ticket is older than MemoryAge, and the judge had nothing to do meanwhile")
		ticket(0)
		for n := range 4 {
			ticket(1 + n)
		}
		assert.True(t, known())
		for n := range 4 {
			ticket(5 + n)
		}
		assert.False(t, known(), "eight newer values are stored")
	})
}

// The handler sets the time limit for reading the body, so the judge must not read the body before the handler.
func TestEventIsJudgedWhenItsHandlerHasReadIt(t *testing.T) {
	event := fmt.Sprintf(`{"customerReferenceNo":"r","event":"order_paid","eventTime":%d}`, time.Now().UnixMilli())
	for name, test := range map[string]struct {
		body  string
		read  int64
		found string
	}{
		"a valid event":                         {event, whole, ""},
		"a time in seconds":                     {strings.Replace(event, "000}", "}", 1), whole, ""},
		"no eventTime and an undocumented kind": {`{"customerReferenceNo":"r","event":"paid"}`, whole, "webhook/form value/event"},
		"not JSON":                              {`{"event":7`, whole, ""},
		"not read to its end":                   {`{"customerReferenceNo":"r","event":"paid"}`, 9, "dropped"},
	} {
		found := []string{}
		j := judge.New(&judge.Options{OnFinding: func(f judge.Finding) { found = append(found, f.Name) }})
		body := strings.NewReader(test.body)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/events", body)
		require.NoError(t, err)
		req.Header.Set("User-Agent", "platform-webhook/1.0")
		passed := ""
		j.Webhook(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			assert.Equal(t, len(test.body), body.Len(), name)
			text, _ := io.ReadAll(io.LimitReader(req.Body, test.read))
			passed = string(text)
		})).ServeHTTP(nil, req)
		j.Wait()
		if j.Dropped() == 1 {
			found = append(found, "dropped")
		}
		assert.Equal(t, test.body[:min(int(test.read), len(test.body))], passed, name)
		assert.Equal(t, test.found, strings.Join(found, " "), name)
	}
}

// The list is so long that the test would time out if the time of judging grew with the square of the length.
func TestSameFaultOfManyElementsIsOneFinding(t *testing.T) {
	const n = 200_000
	was := judge.New(nil).Look(judge.Exchange{Time: time.Now(), URL: "https://h/api/search/destinations", Status: 200,
		RequestBody: []byte("{}"), Body: []byte(`{"code":0,"msg":"","data":{"destinations":[{},1` + strings.Repeat(",1", n) + `]}}`)})
	more := map[string]int{}
	for _, f := range was.Findings {
		more[f.Path] = f.More
	}
	assert.Equal(t, n, more["data.destinations[1]"])
}

// The judge must not panic, whatever a service answers and whatever a stranger sends as an event.
func FuzzLook(f *testing.F) {
	for _, body := range []string{
		`{"code":0,"msg":"","data":{"list":[{"id":"a","minPrice":{"amount":1,"currency":"EUR"},"rooms":[{"rates":[{"ratePkgId":"x"}]}]}],"basic":{}}}`,
		`{"code":0,"data":{"orders":[{"customerReferenceNo":"r","rooms":[{"guests":[{"passportNumber":"1"}]}]}],"status":7,"voucher":{}}}`,
		`{"customerReferenceNo":"r","event":7`,
	} {
		f.Add("/api/search/hotelList", `{"customerReferenceNo":"r","roomOccupancies":[{}]}`, body)
		f.Add(queryOrders, `{"customerReferenceNos":["r"]}`, body)
	}
	f.Fuzz(func(_ *testing.T, path, asked, body string) {
		j := judge.New(nil)
		for range 2 {
			j.Look(judge.Exchange{Time: time.Now(), URL: path, RequestBody: []byte(asked), Status: 200, Body: []byte(body)})
			j.Look(judge.Exchange{Time: time.Now(), RequestBody: []byte(body), Event: true})
		}
	})
}

type recorder struct{ failed []string }

func (*recorder) Helper() {}
func (r *recorder) Errorf(format string, a ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, a...))
}

func TestJudgeOfATestFailsTheTestOnlyForViolations(t *testing.T) {
	failing := &recorder{}
	j := judge.Test(failing)
	call(t, j, "/api/trade/cancel", "", `{"code":100000400,"msg":"no"}`, whole)
	assert.Empty(t, failing.failed, "doubts do not fail a test")
	call(t, j, "/api/trade/cancel", "", `{"code":0,"msg":"no"}`, whole)
	assert.Len(t, failing.failed, 1, "%v", failing.failed)
}

func TestNameOfARuleDeterminesItsGrade(t *testing.T) {
	for _, r := range judge.Rules() {
		want := judge.Violation
		switch {
		case strings.HasPrefix(r.Name, "value/"), r.Name == "errors/unlisted", r.Name == "headers/failure", r.Name == "static/form":
			want = judge.Doubt
		case r.Name == "limits/shared":
			want = judge.Hint
		}
		assert.Equal(t, want, r.Grade, r.Name)
	}
}
