// Do calls an operation that has no method.

package hotelstays

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/wire"
)

// DoRequest describes a call for Client.Do. Use it for an operation that has no method, or for fields that the method's
// request and response types lack.
type DoRequest struct {
	// Path is the path of the operation below the base URL, such as /api/search/hotelList.
	// Required. It has no query and no escapes.
	Path string
	// Body is encoded by encoding/json, and must be an object or an array; nil is an empty object. A types.Secret in Body is
	// refused: pass the text of its Reveal method. If the answer repeats a secret of Body, an error or a log may contain the
	// secret.
	Body any
	// Into points at the value that encoding/json decodes the answer's data into. After an error its content is undefined.
	// If Into is nil, the answer's data is ignored, and may be missing.
	Into any
	// SessionID, if set, is the value of the header Session-Id.
	SessionID string
	// Operation names the call in errors, logs and for observers, and selects its rate limit. By default it is the
	// operation with this Path. For an unknown Path it is the Path itself, without a rate limit. If Path belongs to an
	// operation, do not name another operation.
	Operation Operation
	// Idempotent states that executing the call twice does no harm. The client then sends it again like a read. Otherwise
	// the client sends it again like Book: only if the service provably did not execute it.
	Idempotent bool
}

// MarshalJSON returns an error, because JSON would lose the types of Body and Into. Store the values from which you build
// the DoRequest instead.
func (DoRequest) MarshalJSON() ([]byte, error) {
	return nil, errors.New("hotelstays: a DoRequest has no JSON, because Body and Into would lose their types; " +
		"store the values from which you build it instead")
}

// DoResponse describes the answer.
type DoResponse struct {
	Meta ResponseMeta `json:"-"`
}

// Do calls an operation that has no method. Do has the token, retries, limits and errors of every call. Without WithTimeout
// and without a deadline of ctx, Do ends after the time limit of the operation with that path. For an unknown path, the time
// limit is 60 seconds. Without Idempotent the outcome of Do may be unknown: the error is then an *OutcomeUnknownError
// without a reference.
//
// WithMaxResponseBytes limits the size of the answer, but not the memory that Into takes. With an unknown path, Do accepts
// the options of the booking flow, such as WithCurrency.
func (c *Client) Do(ctx context.Context, req *DoRequest, opts ...CallOption) (*DoResponse, error) {
	if req == nil {
		return nil, (&faults{{"request", "is nil"}}).err("Do")
	}
	known, row := req.operation()
	x, err := begin(ctx, c, "Do", row, req, c.collect("Do", row, opts))
	if err != nil {
		return nil, err
	}
	if problem := bodyProblem(x.call.Body); problem != "" {
		x.input.add("body", "%s", problem)
		return nil, x.input.err("Do")
	}
	x.op = cmp.Or(req.Operation, known, Operation(req.Path))
	defer x.end()
	resp, data := new(DoResponse), laterData(nil)
	x.execute()
	x.outcome = x.read(&data, &resp.Meta, func() error {
		if req.Into == nil || data == nil {
			return nil
		}
		if err := json.Unmarshal(data, req.Into); err != nil {
			return x.scrubError(fmt.Errorf("data cannot be decoded into DoRequest.Into: %w", err))
		}
		return nil
	})
	if x.outcome != nil {
		return nil, x.outcome
	}
	return resp, nil
}

// laterData holds the undecoded data of the answer. Do decodes it later with encoding/json.
type laterData json.RawMessage

func (d *laterData) decode(l *wire.Lexer) { *d = l.Raw() }

// operation returns the operation of r.Path, or "" for an unknown path, and the properties of the call.
func (r *DoRequest) operation() (Operation, *operation) {
	row := operation{bookingFlow: true}
	var known Operation
	for op, documented := range operations {
		if op.Path() == r.Path {
			known, row = op, *documented
		}
	}
	row.path = r.Path
	row.mutates = !r.Idempotent
	row.noData = r.Into == nil
	return known, &row
}

func (r *DoRequest) parts() parts {
	p := parts{body: r.Body, session: r.SessionID}
	if p.body == nil {
		p.body = struct{}{}
	}
	return p
}

func (r *DoRequest) validate(v *validation) {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~"
	if len(r.Path) < 2 || r.Path[0] != '/' || path.Clean(r.Path) != r.Path || strings.Trim(r.Path, plain) != "" {
		v.add("path", "must begin with a slash, such as /api/search/hotelList, without query and escapes")
	}
	known, _ := r.operation()
	if r.Idempotent && known != "" && operations[known].mutates {
		v.add("idempotent", "must not be set for %s, which changes orders", known)
	}
	if known != "" && r.Operation != known && operations[r.Operation] != nil {
		v.add("operation", "is %s, but %s has this path; leave it empty", r.Operation, known)
	}
	if into := reflect.ValueOf(r.Into); r.Into != nil && (into.Kind() != reflect.Pointer || into.IsNil()) {
		v.add("into", "is a %T; it must be a pointer that is not nil", r.Into)
	}
	if !isHeaderValue(string(r.Operation)) {
		v.add("operation", "contains control characters, or begins or ends with a space")
	}
	v.session(r.SessionID, false)
}

func bodyProblem(body []byte) string {
	switch {
	case body[0] != '{' && body[0] != '[':
		return "is neither a JSON object nor an array; pass JSON text as json.RawMessage"
	case bytes.Contains(body, []byte(`"`+redact.Marker+`"`)):
		return "contains the text " + redact.Marker + " in place of a secret; call Reveal on each types.Secret"
	}
	return ""
}
