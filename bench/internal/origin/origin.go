// Package origin is the server for the compared clients. It reads each request and writes a prepared answer.
package origin

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"

	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
)

// GzipPrefix in front of an operation's path requests a compressed answer.
const GzipPrefix = "/gzip"

// SmallPage in front of the path requests a page of 20 hotels: /20/gzip/api/search/hotelList.
const SmallPage = "/20"

// Handler answers the compared operations. If observe is not nil, it is called with each request and the request's
// body.
func Handler(observe func(*http.Request, []byte)) http.Handler {
	mux := http.NewServeMux()
	serve := func(prefix, path string, answer []byte) {
		mux.Handle("POST "+prefix+path, ready{body: answer, observe: observe})
		mux.Handle("POST "+prefix+GzipPrefix+path, ready{body: compress(answer), encoding: "gzip", observe: observe})
	}
	const list = "/api/search/hotelList"
	serve("", list, answers.HotelList(answers.Page))
	serve(SmallPage, list, answers.HotelList(20))
	serve("", "/api/search/checkAvail", answers.CheckAvail())
	return mux
}

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
	_, _ = w.Write(a.body) // Write fails only if the client has disconnected
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body)
	_ = w.Close() // a write to a bytes.Buffer never fails
	return b.Bytes()
}
