// resty with its defaults.

package peers

import (
	"context"
	"strconv"

	"github.com/go-resty/resty/v2"
	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

func newResty(baseURL string) (Peer, error) {
	c := resty.New().SetBaseURL(baseURL)
	calls := map[hotelstays.Operation]Call{
		hotelstays.OpHotelList: func(ctx context.Context) (any, error) {
			return restyPost[hotelstays.HotelListResponse](ctx, c, "/api/search/hotelList", hotelList.SessionID, hotelList)
		},
		hotelstays.OpHotelRates: func(ctx context.Context) (any, error) {
			return restyPost[hotelstays.HotelRatesResponse](ctx, c, "/api/search/hotelRates", hotelRates.SessionID, hotelRates)
		},
		hotelstays.OpCheckAvail: func(ctx context.Context) (any, error) {
			return restyPost[hotelstays.CheckAvailResponse](ctx, c, "/api/search/checkAvail", checkAvail.SessionID, checkAvail)
		},
		hotelstays.OpBook: func(ctx context.Context) (any, error) {
			return restyPost[hotelstays.BookResponse](ctx, c, "/api/trade/book", book.SessionID, book)
		},
	}
	return Peer{Calls: calls, Close: c.GetClient().CloseIdleConnections}, nil
}

func restyPost[T any](ctx context.Context, c *resty.Client, path, session string, in any) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var answer envelope[T]
	resp, err := c.R().SetContext(ctx).SetAuthToken(Token).SetHeaders(map[string]string{
		"Content-Type":         "application/json",
		"Accept":               "application/json",
		"Request-Id":           uuid.NewString(),
		"Trace-Id":             uuid.NewString(),
		"Session-Id":           session,
		"Timeout-Milliseconds": strconv.FormatInt(timeoutHint, 10),
	}).SetBody(in).SetResult(&answer).Post(path)
	if err != nil {
		return nil, err
	}
	if err := answer.check(path, resp.StatusCode()); err != nil {
		return nil, err
	}
	return answer.Data, nil
}
