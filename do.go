// Do: a call of an operation that the client has no method for.

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

// DoRequest is a call of an operation that the client has no method for, or of one with
// fields that its types lack.
type DoRequest struct {
	// Path is the path of the operation below the base URL, such as /api/search/hotelList.
	// Required. It has no query and no escapes.
	Path string
	// Body is sent as the JSON that encoding/json makes of it: an object or an array; nil is an empty
	// object. A types.Secret in it is refused: send its Reveal. If the service repeats a secret of a
	// Body, it may appear in an error or a log.
	Body any
	// Into points at the value that encoding/json decodes the answer's data into. After an error its
	// content is undefined. Without Into the data is dropped, and may be missing.
	Into any
	// SessionID is sent as Session-Id, if it is not empty.
	SessionID string
	// Operation names the call in errors, logs and for observers, and selects its rate limit. It may be
	// left out, and may not be an operation of another path. By default it is the operation of Path, or
	// else Path itself, without a rate limit.
	Operation Operation
	// Idempotent: the call may be carried out twice, and is resent like a read. Others are resent like
	// Book, only if the service provably did not carry them out.
	Idempotent bool
}

// MarshalJSON returns an error, because no text brings Body and Into back with their types. Store what they
// are made from.
func (DoRequest) MarshalJSON() ([]byte, error) {
	return nil, errors.New("hotelstays: a DoRequest has no JSON, because Body and Into would lose their types; store what they are made from")
}

// DoResponse describes the answer.
type DoResponse struct {
	Meta ResponseMeta `json:"-"`
}

// Do calls an operation that the client has no method for. Token, retries, limits and errors are those
// of every call. Without ctx's deadline or WithTimeout it ends after 60 seconds, or after the time of
// the operation with that path. Without Idempotent its outcome may be unknown: the error is then an
// *OutcomeUnknownError without a reference.
//
// WithMaxResponseBytes limits the answer, but not the memory of Into. An operation that the client does
// not know takes every header, such as Currency.
func (c *Client) Do(ctx context.Context, req *DoRequest, opts ...CallOption) (*DoResponse, error) {
	if req == nil {
		return nil, nilRequest("Do")
	}
	known, row := req.operation()
	x, err := begin(ctx, c, "Do", row, req, collect("Do", row, opts))
	if err != nil {
		return nil, err
	}
	if problem := bodyProblem(x.body); problem != "" {
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
			return x.scrubError(fmt.Errorf("data does not fit DoRequest.Into: %w", err))
		}
		return nil
	})
	if x.outcome != nil {
		return nil, x.outcome
	}
	return resp, nil
}

// laterData is data that encoding/json decodes later.
type laterData json.RawMessage

func (d *laterData) decode(l *wire.Lexer) { *d = l.Raw() }

// operation returns the operation with the path of r, if there is one, and the row of the call.
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
		v.add("path", "must be the path below the base URL, such as /api/search/hotelList: from its slash on, without query and escapes")
	}
	known, _ := r.operation()
	if r.Idempotent && known != "" && operations[known].mutates {
		v.add("idempotent", "is set for %s, which is no read", known)
	}
	if known != "" && r.Operation != known && operations[r.Operation] != nil {
		v.add("operation", "is %s, but the path is that of %s; leave it empty", r.Operation, known)
	}
	if into := reflect.ValueOf(r.Into); r.Into != nil && (into.Kind() != reflect.Pointer || into.IsNil()) {
		v.add("into", "is a %T; it must be a pointer that is not nil", r.Into)
	}
	if !isHeaderValue(string(r.Operation)) {
		v.add("operation", "contains control characters, or spaces at its ends")
	}
	v.session(r.SessionID, false)
}

func bodyProblem(body []byte) string {
	switch {
	case body[0] != '{' && body[0] != '[':
		return "is neither a JSON object nor an array; pass JSON text as json.RawMessage"
	case bytes.Contains(body, []byte(`"`+redact.Marker+`"`)):
		return "contains the text " + redact.Marker + "; send the Reveal of a types.Secret"
	}
	return ""
}
