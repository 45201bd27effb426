// resty with its defaults.

package peers

import (
	"context"
	"strconv"

	"github.com/go-resty/resty/v2"
	"github.com/google/uuid"

	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
)

func newResty(baseURL string) (Peer, error) {
	c := resty.New().SetBaseURL(baseURL)
	post := func(ctx context.Context, path string, in, answer any) (status int, err error) {
		resp, err := c.R().SetContext(ctx).SetAuthToken(Token).SetHeaders(map[string]string{
			"Content-Type":         "application/json",
			"Accept":               "application/json",
			"Request-Id":           uuid.NewString(),
			"Trace-Id":             uuid.NewString(),
			"Session-Id":           answers.Session,
			"Timeout-Milliseconds": strconv.FormatInt(timeoutHint, 10),
		}).SetBody(in).SetResult(answer).Post(path)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode(), nil
	}
	return Peer{Calls: callsThrough(post), Close: c.GetClient().CloseIdleConnections}, nil
}
