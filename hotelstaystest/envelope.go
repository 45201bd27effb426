// The envelope of every answer, the failure codes, and the error type by which
// operations refuse.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// Codes that the API documents.
const (
	CodeOK                 = 0
	CodeParam              = 100000400 // a parameter is missing, malformed or over a limit
	CodeUnauthorized       = 100000401 // credentials or token not accepted
	CodeNotFound           = 100000404 // the order does not exist or is another account's
	CodeRateLimited        = 100000429 // rate limit exceeded
	CodeDuplicateBooking   = 100001003 // same content as a booking that is still active
	CodeVoucherTooLarge    = 100001005 // document too large to be inlined
	CodeAmbiguousReference = 100001008 // the reference matches several orders
	CodeRateChanged        = 100001111 // the rate moved before Book
)

// Codes that the API does not document: the sandbox's own.
const (
	CodeForbidden       = 100000403 // scope, market or user not allowed; HTTP 403
	CodeNoSuchOperation = 100000405 // unknown path (404) or method (405)
	CodeCancelRefused   = 100002001 // the order cannot be cancelled online; HTTP 400
	CodeUpstream        = 100000500 // injected failures without a code of their own
)

// envelope is the form of every answer.
type envelope struct {
	Code int    `json:"code"`
	Msg  string `json:"msg"`
	Data any    `json:"data,omitempty"`
}

// failure is an error that knows how it is answered.
type failure struct {
	status int
	code   int
	msg    string
	oauth  string // OAuth's own error word, for the top-level form
}

func (f *failure) Error() string { return fmt.Sprintf("%d (HTTP %d): %s", f.code, f.status, f.msg) }

// badRequest refuses a request for a broken rule about its parameters.
func badRequest(format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, code: CodeParam, msg: "ERR.PARAM: " + fmt.Sprintf(format, args...)}
}

func forbidden(format string, args ...any) *failure {
	return &failure{status: http.StatusForbidden, code: CodeForbidden, msg: fmt.Sprintf(format, args...)}
}

func unauthorized(format string, args ...any) *failure {
	return &failure{status: http.StatusUnauthorized, code: CodeUnauthorized, msg: fmt.Sprintf(format, args...)}
}

func notFound() *failure {
	return &failure{status: http.StatusNotFound, code: CodeNotFound, msg: "order not found"}
}

// answer is a response ready to be written, before faults change it.
type answer struct {
	status int
	code   int
	msg    string // for the ledger
	header http.Header
	body   []byte
	bare   bool // as a proxy gives it: without the service's headers
}

// jsonAnswer encodes v as the body of an answer.
func jsonAnswer(status, code int, v any) *answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic("hotelstaystest: cannot encode an answer: " + err.Error())
	}
	return &answer{status: status, code: code, body: body,
		header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}}
}

// failureAnswer turns an operation's error into an answer.
func failureAnswer(err error) *answer {
	f, ok := err.(*failure)
	if !ok {
		f = &failure{status: http.StatusInternalServerError, code: CodeUpstream, msg: err.Error()}
	}
	a := jsonAnswer(f.status, f.code, envelope{Code: f.code, Msg: f.msg})
	a.msg = f.msg
	return a
}

// topLevel is a payload that is sent without the envelope.
type topLevel struct{ value any }

// successAnswer wraps an operation's payload in the envelope. A payload that is
// an answer already (a document) passes unchanged.
func successAnswer(data any) *answer {
	switch d := data.(type) {
	case *answer:
		return d
	case topLevel:
		return jsonAnswer(http.StatusOK, CodeOK, d.value)
	}
	return jsonAnswer(http.StatusOK, CodeOK, envelope{Code: CodeOK, Msg: "success", Data: data})
}

// write sends the answer whole, with its length.
func (a *answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	w.Write(a.body)
}
