// Answers: the envelope, the codes, and the error type of refused calls.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"github.com/hotelstays/hotelstays-go/types"
)

// The sandbox's own codes for cases in which the API documents no code.
const (
	codeForbidden       = 100000403 // scope, market or user not allowed
	codeNoSuchOperation = 100000405 // unknown path or wrong method
	codeCancelRefused   = 100002001 // the order cannot be cancelled
	codeUpstream        = 100000500 // the default code of injected failures, see statusCodes
)

type envelope struct {
	Code int    `json:"code"`
	Msg  string `json:"msg"`
	Data any    `json:"data,omitempty"`
}

type failure struct {
	status int
	code   int
	msg    string
	oauth  string // value of the member "error" if Variants.OAuthTopLevel is set
}

func (f *failure) Error() string { return fmt.Sprintf("%d (HTTP %d): %s", f.code, f.status, f.msg) }

func (f *failure) as(oauth string) *failure { f.oauth = oauth; return f }

func fail(status, code int, format string, args ...any) *failure {
	return &failure{status: status, code: code, msg: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *failure {
	return fail(http.StatusBadRequest, types.CodeParam, "ERR.PARAM: "+format, args...)
}

func forbidden(format string, args ...any) *failure {
	return fail(http.StatusForbidden, codeForbidden, format, args...)
}

func unauthorized(format string, args ...any) *failure {
	return fail(http.StatusUnauthorized, types.CodeUnauthorized, format, args...)
}

func notFound() *failure { return fail(http.StatusNotFound, types.CodeNotFound, "order not found") }

// answer is a response before it is written. A fault may change it.
type answer struct {
	status int
	code   int
	msg    string // msg of the envelope, for the ledger
	header http.Header
	body   []byte
	bare   bool // the answer has no headers of the service, as if a proxy had sent the answer
}

func jsonAnswer(status, code int, v any) *answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic("hotelstaystest: cannot encode an answer: " + err.Error())
	}
	return &answer{status: status, code: code, body: body,
		header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}}
}

func failureAnswer(err error) *answer {
	f, ok := err.(*failure)
	if !ok {
		f = fail(http.StatusInternalServerError, codeUpstream, "%v", err)
	}
	a := jsonAnswer(f.status, f.code, envelope{Code: f.code, Msg: f.msg})
	a.msg = f.msg
	return a
}

// success returns the answer for an operation's result. It wraps data in the envelope, except for OAuthToken with
// Variants.OAuthTopLevel. It returns an *answer, such as a document, unchanged.
func (c *call) success(data any) *answer {
	if document, ok := data.(*answer); ok {
		return document
	}
	if c.topLevel {
		return jsonAnswer(http.StatusOK, 0, data)
	}
	return jsonAnswer(http.StatusOK, 0, envelope{Code: 0, Msg: "success", Data: data})
}

func (a *answer) write(w http.ResponseWriter) {
	a.writeHeader(w)
	w.Write(a.body)
}

func (a *answer) writeHeader(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
}
