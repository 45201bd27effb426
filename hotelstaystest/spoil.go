// The effect of faults: delays, cut connections and changed answers.

package hotelstaystest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// wait sleeps for d. It returns false if ctx ends or the server closes before d has passed.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}

// deliver writes the answer. If the fault cuts the answer off, deliver aborts the connection or stream: it panics
// with http.ErrAbortHandler.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, c *call, a *answer) {
	f := c.fault
	if f == nil {
		a.write(w)
		return
	}
	switch f.Kind {
	case FaultCut:
		cut(r)
	case FaultResetStream:
		panic(http.ErrAbortHandler)
	case FaultCutMidResponse:
		writeHalf(w, a)
		cut(r)
	case FaultSlowBody:
		if !s.writeSlowly(w, r, a, f) {
			s.recordCut(c)
			panic(http.ErrAbortHandler)
		}
	default:
		a.write(w)
	}
}

// spoil applies the fault to the true answer a, and returns the result. If the operation was not executed, a is nil.
func (f *Fault) spoil(a *answer) *answer {
	switch f.Kind {
	case FaultStatus:
		a = f.statusAnswer()
	case FaultGarbage:
		body := f.Body
		if body == nil {
			body = []byte("<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body><h1>Please wait</h1></body></html>\n")
		}
		a = bareAnswer(f.Status, body)
	case FaultEmptyBody:
		a = bareAnswer(f.Status, nil)
	case FaultTruncatedBody:
		a.body = a.body[:len(a.body)/2]
	case FaultWrongType:
		a.body = wrongType(a.body, f.Field)
	case FaultAlteredBody:
		a.body = bytes.Clone(a.body)
		if len(a.body) > 0 {
			a.body[len(a.body)/2] ^= 1
		}
	}
	if a == nil {
		return nil
	}
	for k, v := range f.Header {
		a.header[http.CanonicalHeaderKey(k)] = v
	}
	if f.RetryAfter != "" {
		a.header.Set("Retry-After", f.RetryAfter)
	}
	return a
}

func (f *Fault) statusAnswer() *answer {
	status := cmp.Or(f.Status, http.StatusServiceUnavailable)
	if f.Body != nil {
		return bareAnswer(status, f.Body)
	}
	code, msg := cmp.Or(f.Code, statusCodes[status], codeUpstream), cmp.Or(f.Msg, http.StatusText(status))
	a := jsonAnswer(status, code, envelope{Code: code, Msg: msg})
	a.msg = msg
	return a
}

// statusCodes maps HTTP statuses to the default codes of injected failures. The default for other statuses is codeUpstream.
var statusCodes = map[int]int{
	http.StatusBadRequest: types.CodeParam, http.StatusUnauthorized: types.CodeUnauthorized, http.StatusForbidden: codeForbidden,
	http.StatusNotFound: types.CodeNotFound, http.StatusTooManyRequests: types.CodeRateLimited,
}

// bareAnswer returns an answer without the envelope and the headers of the service, like a proxy's answer.
func bareAnswer(status int, body []byte) *answer {
	h := http.Header{}
	if len(body) > 0 {
		h.Set("Content-Type", http.DetectContentType(body))
	}
	return &answer{status: cmp.Or(status, http.StatusOK), header: h, body: bytes.Clone(body), bare: true}
}

// connKey is the context key of a request's connection.
type connKey struct{}

// cut closes the connection and ends the handler.
func cut(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		if t, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = t.NetConn() // closes the connection below TLS, so that no close_notify is sent
		}
		c.Close()
	}
	panic(http.ErrAbortHandler)
}

// writeHalf sends the headers of the whole answer and half of the body.
func writeHalf(w http.ResponseWriter, a *answer) {
	a.writeHeader(w)
	w.Write(a.body[:len(a.body)/2])
	http.NewResponseController(w).Flush()
}

// writeSlowly sends the answer in ten pieces over the fault's Delay. If the fault has BytesPerSecond, it
// sends about twenty pieces per second instead. It returns false if the client disconnects before the end.
func (s *Server) writeSlowly(w http.ResponseWriter, r *http.Request, a *answer, f *Fault) bool {
	a.writeHeader(w)
	flush := http.NewResponseController(w)
	step, pause := len(a.body)/10+1, f.Delay/10
	if f.BytesPerSecond > 0 {
		step = max(1, f.BytesPerSecond/20)
		pause = time.Duration(step) * time.Second / time.Duration(f.BytesPerSecond)
	}
	flush.Flush()
	for rest := a.body; len(rest) > 0; {
		if !s.wait(r.Context(), pause) {
			return false
		}
		n := min(step, len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			return false
		}
		flush.Flush()
		rest = rest[n:]
	}
	return true
}

// wrongType replaces the value at path by a value of another JSON type. Without a value at path it changes nothing.
func wrongType(body []byte, path string) []byte {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc any
	if dec.Decode(&doc) != nil || !replaceAt(&doc, strings.Split(cmp.Or(path, "data"), ".")) {
		return body
	}
	out, _ := json.Marshal(doc) // cannot fail, because doc was decoded from JSON
	return out
}

func otherType(v any) any {
	if _, ok := v.(string); ok {
		return map[string]any{"unexpected": true}
	}
	return "of the wrong type"
}

func replaceAt(v *any, path []string) bool {
	if len(path) == 0 {
		*v = otherType(*v)
		return true
	}
	switch node := (*v).(type) {
	case map[string]any:
		child, ok := node[path[0]]
		if !ok || !replaceAt(&child, path[1:]) {
			return false
		}
		node[path[0]] = child
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(node) {
			return false
		}
		return replaceAt(&node[i], path[1:])
	default:
		return false
	}
	return true
}
