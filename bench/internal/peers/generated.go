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

// requests are the four requests in a generator's types.
type requests[List, Rates, Avail, Book any] struct {
	list  List
	rates Rates
	avail Avail
	book  Book
}

func newRequests[List, Rates, Avail, Book any]() (r requests[List, Rates, Avail, Book], err error) {
	err = errors.Join(convert(hotelList, &r.list), convert(hotelRates, &r.rates), convert(checkAvail, &r.avail), convert(book, &r.book))
	return r, err
}

// convert converts a request of the SDK into a generated type.
func convert(in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// generatedCall makes a call of a generated client. Read returns the data of an answer and its code.
func generatedCall[R any](call func(context.Context) (R, error), read func(R) (data any, code int)) Call {
	return bounded(func(ctx context.Context) (any, error) {
		r, err := call(ctx)
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
	in, err := newRequests[ogenclient.HotelListRequest, ogenclient.HotelRatesRequest, ogenclient.CheckAvailRequest, ogenclient.BookRequest]()
	if err != nil {
		return Peer{}, err
	}
	calls := map[hotelstays.Operation]Call{
		hotelstays.OpHotelList: generatedCall(func(ctx context.Context) (*ogenclient.HotelListEnvelope, error) {
			return c.HotelList(ctx, &in.list, ogenHeaders())
		}, func(r *ogenclient.HotelListEnvelope) (any, int) { return &r.Data.Value, r.Code }),
		hotelstays.OpHotelRates: generatedCall(func(ctx context.Context) (*ogenclient.HotelRatesEnvelope, error) {
			return c.HotelRates(ctx, &in.rates, ogenclient.HotelRatesParams(ogenHeaders()))
		}, func(r *ogenclient.HotelRatesEnvelope) (any, int) { return &r.Data.Value, r.Code }),
		hotelstays.OpCheckAvail: generatedCall(func(ctx context.Context) (*ogenclient.CheckAvailEnvelope, error) {
			return c.CheckAvail(ctx, &in.avail, ogenclient.CheckAvailParams(ogenHeaders()))
		}, func(r *ogenclient.CheckAvailEnvelope) (any, int) { return &r.Data.Value, r.Code }),
		hotelstays.OpBook: generatedCall(func(ctx context.Context) (*ogenclient.BookEnvelope, error) {
			return c.Book(ctx, &in.book, ogenclient.BookParams(ogenHeaders()))
		}, func(r *ogenclient.BookEnvelope) (any, int) { return &r.Data.Value, r.Code }),
	}
	return Peer{Calls: calls, Close: transport.CloseIdleConnections}, nil
}

// ogenToken is the source of ogen's bearer token.
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
	in, err := newRequests[oapiclient.HotelListRequest, oapiclient.HotelRatesRequest, oapiclient.CheckAvailRequest, oapiclient.BookRequest]()
	if err != nil {
		return Peer{}, err
	}
	calls := map[hotelstays.Operation]Call{
		hotelstays.OpHotelList: generatedCall(func(ctx context.Context) (*oapiclient.HotelListEnvelope, error) {
			return described(c.HotelListWithResponse(ctx, oapiHeaders(), in.list))
		}, func(r *oapiclient.HotelListEnvelope) (any, int) { return r.Data, r.Code }),
		hotelstays.OpHotelRates: generatedCall(func(ctx context.Context) (*oapiclient.HotelRatesEnvelope, error) {
			return described(c.HotelRatesWithResponse(ctx, (*oapiclient.HotelRatesParams)(oapiHeaders()), in.rates))
		}, func(r *oapiclient.HotelRatesEnvelope) (any, int) { return r.Data, r.Code }),
		hotelstays.OpCheckAvail: generatedCall(func(ctx context.Context) (*oapiclient.CheckAvailEnvelope, error) {
			return described(c.CheckAvailWithResponse(ctx, (*oapiclient.CheckAvailParams)(oapiHeaders()), in.avail))
		}, func(r *oapiclient.CheckAvailEnvelope) (any, int) { return r.Data, r.Code }),
		hotelstays.OpBook: generatedCall(func(ctx context.Context) (*oapiclient.BookEnvelope, error) {
			return described(c.BookWithResponse(ctx, (*oapiclient.BookParams)(oapiHeaders()), in.book))
		}, func(r *oapiclient.BookEnvelope) (any, int) { return r.Data, r.Code }),
	}
	return Peer{Calls: calls, Close: transport.CloseIdleConnections}, nil
}

// described returns an answer that openapi.yaml describes.
func described[E any](r interface{ GetJSON200() *E }, err error) (*E, error) {
	if err != nil {
		return nil, err
	}
	if r.GetJSON200() == nil {
		return nil, errors.New("the answer is not the described one")
	}
	return r.GetJSON200(), nil
}

func oapiHeaders() *oapiclient.HotelListParams {
	requestID, traceID, session, hint := uuid.NewString(), uuid.NewString(), answers.Session, timeoutHint
	return &oapiclient.HotelListParams{RequestId: &requestID, TraceId: &traceID, SessionId: &session, TimeoutMilliseconds: &hint}
}
