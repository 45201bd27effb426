// Package origin is the server for the compared clients: it reads the request and writes a
// prepared answer.
package origin

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
)

// GzipPrefix before an operation's path requests a compressed answer.
const GzipPrefix = "/gzip"

// LinePrefix before that requests a rate, in Mbit/s: /line/200/gzip/api/search/hotelList.
const LinePrefix = "/line/"

// Handler serves the compared operations. Observe, if not nil, is called with each request and
// its body.
func Handler(observe func(*http.Request, []byte)) http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string][]byte{
		"/api/search/hotelList":  answers.HotelList(),
		"/api/search/hotelRates": answers.HotelRates(),
		"/api/search/checkAvail": answers.CheckAvail(),
	} {
		mux.Handle("POST "+path, ready{body: answer, observe: observe})
		mux.Handle("POST "+GzipPrefix+path, ready{body: compress(answer), encoding: "gzip", observe: observe})
	}
	mux.HandleFunc(LinePrefix+"{rate}/{rest...}", func(w http.ResponseWriter, r *http.Request) {
		rate, _ := strconv.ParseFloat(r.PathValue("rate"), 64) // without one: no limit
		r.URL.Path = "/" + r.PathValue("rest")
		mux.ServeHTTP(&line{w, rate * 1e6 / 8, time.Now(), 0}, r)
	})
	return mux
}

// line writes an answer at a rate.
type line struct {
	http.ResponseWriter
	rate  float64 // bytes a second
	begun time.Time
	sent  int
}

// mtu is how much a line writes at once, in bytes.
const mtu = 16 << 10

func (l *line) Write(b []byte) (int, error) {
	for n := 0; n < len(b); {
		end := min(n+mtu, len(b))
		wrote, err := l.ResponseWriter.Write(b[n:end])
		if err != nil {
			return n, err
		}
		n += wrote
		l.sent += wrote
		if l.rate > 0 {
			_ = http.NewResponseController(l.ResponseWriter).Flush()
			time.Sleep(time.Until(l.begun.Add(time.Duration(float64(l.sent) / l.rate * float64(time.Second)))))
		}
	}
	return len(b), nil
}

// ready answers with prepared bytes.
type ready struct {
	body     []byte
	encoding string
	observe  func(*http.Request, []byte)
}

func (a ready) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.observe != nil {
		body, _ := io.ReadAll(r.Body)
		a.observe(r, body)
	} else {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	if a.encoding != "" {
		h.Set("Content-Encoding", a.encoding)
	}
	h.Set("Request-Id", r.Header.Get("Request-Id"))
	h.Set("Trace-Id", r.Header.Get("Trace-Id"))
	h.Set("Session-Id", answers.Session)
	h.Set("Server-Cost-Milliseconds", "12")
	h.Set("X-RateLimit-Limit", "100")
	h.Set("X-RateLimit-Remaining", "99")
	h.Set("X-RateLimit-Reset", "1")
	_, _ = w.Write(a.body) // the client may be gone
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body)
	_ = w.Close() // a Buffer never fails
	return b.Bytes()
}
