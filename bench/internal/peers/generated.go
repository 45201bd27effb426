//go:build generated

// The clients that generators make from openapi.yaml, used as documented, over the hand-written
// client's transport, because net/http's default keeps only two idle connections.

package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/bench/internal/oapiclient"
	"github.com/hotelstays/hotelstays-go/bench/internal/ogenclient"
)

func generated() []Kind { return []Kind{{"ogen", newOgen}, {"oapi-codegen", newOapi}} }

// generatedCall returns a Call through a generated client, whose request type is Req. The function read takes the data
// and the code from the answer.
func generatedCall[Req, Resp any](in any, call func(context.Context, *Req) (Resp, error), read func(Resp) (data any, code int)) Call {
	req := new(Req)
	text, err := json.Marshal(in)
	if err = errors.Join(err, json.Unmarshal(text, req)); err != nil {
		panic(err) // impossible: TestEveryClientSendsTheSameRequest converts all requests
	}
	return bounded(func(ctx context.Context) (any, error) {
		r, err := call(ctx, req)
		if err != nil {
			return nil, err
		}
		data, code := read(r)
		if code != 0 {
			err = fmt.Errorf("the answer's code is %d", code)
		}
		return data, err
	})
}

func newOgen(baseURL string) (Peer, error) {
	transport := httpClient()
	c, err := ogenclient.NewClient(baseURL, ogenToken{}, ogenclient.WithClient(transport))
	if err != nil {
		return Peer{}, err
	}
	return Peer{Close: transport.CloseIdleConnections, Calls: map[hotelstays.Operation]Call{
		hotelstays.OpHotelList: generatedCall(hotelList,
			func(ctx context.Context, req *ogenclient.HotelListRequest) (*ogenclient.HotelListEnvelope, error) {
				return c.HotelList(ctx, req, ogenHeaders())
			}, func(r *ogenclient.HotelListEnvelope) (any, int) { return &r.Data.Value, r.Code }),
		hotelstays.OpCheckAvail: generatedCall(checkAvail,
			func(ctx context.Context, req *ogenclient.CheckAvailRequest) (*ogenclient.CheckAvailEnvelope, error) {
				return c.CheckAvail(ctx, req, ogenclient.CheckAvailParams(ogenHeaders()))
			}, func(r *ogenclient.CheckAvailEnvelope) (any, int) { return &r.Data.Value, r.Code }),
	}}, nil
}

type ogenToken struct{}

func (ogenToken) Bearer(context.Context, ogenclient.OperationName) (ogenclient.Bearer, error) {
	return ogenclient.Bearer{Token: Token}, nil
}

func ogenHeaders() ogenclient.HotelListParams {
	return ogenclient.HotelListParams{
		RequestID:           ogenclient.NewOptString(uuid.NewString()),
		TraceID:             ogenclient.NewOptString(uuid.NewString()),
		SessionID:           ogenclient.NewOptString(answers.Session),
		TimeoutMilliseconds: ogenclient.NewOptInt64(timeoutHint),
	}
}

func newOapi(baseURL string) (Peer, error) {
	transport := httpClient()
	authorize := func(_ context.Context, req *http.Request) error {
		req.Header.Set("Authorization", "Bearer "+Token)
		return nil
	}
	c, err := oapiclient.NewClientWithResponses(baseURL, oapiclient.WithHTTPClient(transport), oapiclient.WithRequestEditorFn(authorize))
	if err != nil {
		return Peer{}, err
	}
	return Peer{Close: transport.CloseIdleConnections, Calls: map[hotelstays.Operation]Call{
		hotelstays.OpHotelList: generatedCall(hotelList,
			func(ctx context.Context, req *oapiclient.HotelListRequest) (*oapiclient.HotelListEnvelope, error) {
				return described(c.HotelListWithResponse(ctx, oapiHeaders(), *req))
			}, func(r *oapiclient.HotelListEnvelope) (any, int) { return r.Data, r.Code }),
		hotelstays.OpCheckAvail: generatedCall(checkAvail,
			func(ctx context.Context, req *oapiclient.CheckAvailRequest) (*oapiclient.CheckAvailEnvelope, error) {
				return described(c.CheckAvailWithResponse(ctx, (*oapiclient.CheckAvailParams)(oapiHeaders()), *req))
			}, func(r *oapiclient.CheckAvailEnvelope) (any, int) { return r.Data, r.Code }),
	}}, nil
}

// described returns the decoded answer of a call. It returns an error if openapi.yaml does not describe the answer.
func described[E any](r interface{ GetJSON200() *E }, err error) (*E, error) {
	if err != nil {
		return nil, err
	}
	if r.GetJSON200() == nil {
		return nil, errors.New("openapi.yaml does not describe the answer")
	}
	return r.GetJSON200(), nil
}

func oapiHeaders() *oapiclient.HotelListParams {
	requestID, traceID, session, hint := uuid.NewString(), uuid.NewString(), answers.Session, timeoutHint
	return &oapiclient.HotelListParams{RequestId: &requestID, TraceId: &traceID, SessionId: &session, TimeoutMilliseconds: &hint}
}
