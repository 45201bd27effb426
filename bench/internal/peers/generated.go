//go:build generated

// The clients that generators make from openapi.yaml, used as documented, over the careful
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

// bounded adds the deadline of the other clients.
func bounded(call Call) Call {
	return func(ctx context.Context) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return call(ctx)
	}
}

func refusal(code int) error {
	if code != 0 {
		return fmt.Errorf("the answer's code is %d", code)
	}
	return nil
}

func newOgen(baseURL string) (Peer, error) {
	httpClient := carefulClient()
	c, err := ogenclient.NewClient(baseURL, ogenToken{}, ogenclient.WithClient(httpClient))
	if err != nil {
		return Peer{}, err
	}
	in, err := newRequests[ogenclient.HotelListRequest, ogenclient.HotelRatesRequest, ogenclient.CheckAvailRequest, ogenclient.BookRequest]()
	if err != nil {
		return Peer{}, err
	}
	calls := map[hotelstays.Operation]Call{
		hotelstays.OpHotelList: bounded(func(ctx context.Context) (any, error) {
			r, err := c.HotelList(ctx, &in.list, ogenHeaders())
			if err != nil {
				return nil, err
			}
			return &r.Data.Value, refusal(r.Code)
		}),
		hotelstays.OpHotelRates: bounded(func(ctx context.Context) (any, error) {
			r, err := c.HotelRates(ctx, &in.rates, ogenclient.HotelRatesParams(ogenHeaders()))
			if err != nil {
				return nil, err
			}
			return &r.Data.Value, refusal(r.Code)
		}),
		hotelstays.OpCheckAvail: bounded(func(ctx context.Context) (any, error) {
			r, err := c.CheckAvail(ctx, &in.avail, ogenclient.CheckAvailParams(ogenHeaders()))
			if err != nil {
				return nil, err
			}
			return &r.Data.Value, refusal(r.Code)
		}),
		hotelstays.OpBook: bounded(func(ctx context.Context) (any, error) {
			r, err := c.Book(ctx, &in.book, ogenclient.BookParams(ogenHeaders()))
			if err != nil {
				return nil, err
			}
			return &r.Data.Value, refusal(r.Code)
		}),
	}
	return Peer{Calls: calls, Close: httpClient.CloseIdleConnections}, nil
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
	httpClient := carefulClient()
	authorize := func(_ context.Context, req *http.Request) error {
		req.Header.Set("Authorization", "Bearer "+Token)
		return nil
	}
	c, err := oapiclient.NewClientWithResponses(baseURL, oapiclient.WithHTTPClient(httpClient), oapiclient.WithRequestEditorFn(authorize))
	if err != nil {
		return Peer{}, err
	}
	in, err := newRequests[oapiclient.HotelListRequest, oapiclient.HotelRatesRequest, oapiclient.CheckAvailRequest, oapiclient.BookRequest]()
	if err != nil {
		return Peer{}, err
	}
	calls := map[hotelstays.Operation]Call{
		hotelstays.OpHotelList: bounded(func(ctx context.Context) (any, error) {
			r, err := c.HotelListWithResponse(ctx, oapiHeaders(), in.list)
			if err != nil || r.JSON200 == nil {
				return nil, noAnswer(err)
			}
			return r.JSON200.Data, refusal(r.JSON200.Code)
		}),
		hotelstays.OpHotelRates: bounded(func(ctx context.Context) (any, error) {
			r, err := c.HotelRatesWithResponse(ctx, (*oapiclient.HotelRatesParams)(oapiHeaders()), in.rates)
			if err != nil || r.JSON200 == nil {
				return nil, noAnswer(err)
			}
			return r.JSON200.Data, refusal(r.JSON200.Code)
		}),
		hotelstays.OpCheckAvail: bounded(func(ctx context.Context) (any, error) {
			r, err := c.CheckAvailWithResponse(ctx, (*oapiclient.CheckAvailParams)(oapiHeaders()), in.avail)
			if err != nil || r.JSON200 == nil {
				return nil, noAnswer(err)
			}
			return r.JSON200.Data, refusal(r.JSON200.Code)
		}),
		hotelstays.OpBook: bounded(func(ctx context.Context) (any, error) {
			r, err := c.BookWithResponse(ctx, (*oapiclient.BookParams)(oapiHeaders()), in.book)
			if err != nil || r.JSON200 == nil {
				return nil, noAnswer(err)
			}
			return r.JSON200.Data, refusal(r.JSON200.Code)
		}),
	}
	return Peer{Calls: calls, Close: httpClient.CloseIdleConnections}, nil
}

func noAnswer(err error) error {
	if err == nil {
		err = errors.New("the answer is not the described one")
	}
	return err
}

func oapiHeaders() *oapiclient.HotelListParams {
	requestID, traceID, session, hint := uuid.NewString(), uuid.NewString(), answers.Session, timeoutHint
	return &oapiclient.HotelListParams{RequestId: &requestID, TraceId: &traceID, SessionId: &session, TimeoutMilliseconds: &hint}
}
