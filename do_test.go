// Calls of operations for which the client has no method.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const newPath = "/api/none/such"

// The path of the request, or its field Operation, selects the rate limit. A request with an unknown path has no rate limit.
func TestDoKeepsTheRateLimitOfItsOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientThrough(t, saying(`{"code":0,"data":{}}`))
		timeOfCalls := func(req *hotelstays.DoRequest) time.Duration {
			start := time.Now()
			for range 2 * hotelstays.OpCheckAvail.RateLimit() {
				_, err := client.Do(t.Context(), req)
				require.NoError(t, err)
			}
			return time.Since(start)
		}
		assert.Zero(t, timeOfCalls(&hotelstays.DoRequest{Path: newPath}))
		assert.GreaterOrEqual(t, timeOfCalls(&hotelstays.DoRequest{Path: "/api/search/checkAvail"}), time.Second)
		time.Sleep(time.Minute)
		assert.GreaterOrEqual(t, timeOfCalls(&hotelstays.DoRequest{Path: newPath, Operation: hotelstays.OpCheckAvail}), time.Second)
	})
}

func TestDoSendsTheBodyAndDecodesTheData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent *http.Request
		var body string
		answer := `{"code":0,"msg":"done","data":{"rooms":[1,2]}}`
		var seen []hotelstays.Operation
		observer := hotelstays.Observer{CallEnd: func(_ context.Context, info hotelstays.CallInfo) { seen = append(seen, info.Operation) }}
		client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
			text, err := io.ReadAll(r.Body)
			sent, body = r, string(text)
			return reply(200, answer), err
		}), hotelstays.WithCurrency("EUR"), hotelstays.WithMarket("AE"), hotelstays.WithObserver(observer))

		var got struct{ Rooms []int }
		resp, err := client.Do(t.Context(),
			&hotelstays.DoRequest{Path: newPath, Body: map[string]any{"a": []int{1}}, Into: &got, SessionID: "s"},
			hotelstays.WithLanguage("ar"), hotelstays.WithRawData())
		require.NoError(t, err)
		assert.Equal(t, []int{1, 2}, got.Rooms)
		assert.Equal(t, "done", resp.Meta.Msg)
		assert.JSONEq(t, `{"rooms":[1,2]}`, string(resp.Meta.RawData))
		assert.Equal(t, http.MethodPost, sent.Method)
		assert.Equal(t, newPath, sent.URL.RequestURI())
		assert.JSONEq(t, `{"a":[1]}`, body)
		for name, want := range map[string]string{"Authorization": "Bearer token-0001", "Session-Id": "s", "Currency": "EUR",
			"Market":   "AE",
			"Language": "ar", "Timeout-Milliseconds": "59000", "Request-Id": resp.Meta.RequestID} {
			assert.Equal(t, want, sent.Header.Get(name), name)
		}

		_, err = client.Do(t.Context(), &hotelstays.DoRequest{Path: newPath, Body: []int{1}})
		require.NoError(t, err)
		assert.Equal(t, "[1]", body)
		_, err = client.Do(t.Context(), &hotelstays.DoRequest{Path: newPath, Operation: "Amend"})
		require.NoError(t, err, "the data is dropped")
		assert.Equal(t, "{}", body)
		_, err = client.Do(t.Context(), &hotelstays.DoRequest{Path: "/api/search/destinations", Operation: "Places", Idempotent: true})
		require.NoError(t, err)
		assert.Equal(t, []hotelstays.Operation{newPath, newPath, "Amend", "Places"}, seen)

		for data, want := range map[string]any{`,"data":[1.50]`: []any{1.5}, `,"data":"x"`: "x", "": nil, `,"data":null`: nil} {
			answer = `{"code":0` + data + `}`
			_, err = client.Do(t.Context(), &hotelstays.DoRequest{Path: newPath})
			require.NoError(t, err, data)
			var value any
			_, err = client.Do(t.Context(), &hotelstays.DoRequest{Path: newPath, Into: &value, Idempotent: true})
			assert.Equal(t, want, value)
			assert.Equal(t, want == nil, errors.As(err, new(*hotelstays.DecodeError)), data)
		}
	})
}

// The retry table of doc.go applies to Do: a request with Idempotent counts as a read, any other request as Book.
func TestDoIsResentOnlyIfIdempotent(t *testing.T) {
	for _, row := range []struct {
		status        int
		body          string
		reads, writes int // reads: attempts with Idempotent; writes: attempts without Idempotent
		unknown       bool
	}{
		{503, `{"code":7}`, 2, 1, true},
		{429, `{"code":100000429}`, 3, 3, false}, // the Retry-After of the third answer is above a minute, so the call ends
		{401, `{"code":100000401}`, 1, 1, false}, // the client cannot renew a static token
		{404, `{"code":7}`, 1, 1, true},
		{200, `{"code":7,"msg":"?"}`, 1, 1, true},
		{200, `{"code":0,"data":{"rooms":"none"}}`, 1, 1, true},
		{200, "page", 1, 1, true},
	} {
		for _, idempotent := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
					attempts++
					resp := reply(row.status, row.body)
					if row.status == 429 && attempts == row.reads {
						resp.Header.Set("Retry-After", "61")
					}
					return resp, nil
				}), hotelstays.WithMaxAttempts(2))
				var into struct{ Rooms []int }
				_, err := client.Do(t.Context(), &hotelstays.DoRequest{Path: newPath, Into: &into, Idempotent: idempotent})
				require.Error(t, err)
				assert.Equal(t, row.unknown && !idempotent, errors.As(err, new(*hotelstays.OutcomeUnknownError)), "%d %s", row.status, row.body)
				want := row.writes
				if idempotent {
					want = row.reads
				}
				assert.Equal(t, want, attempts, "%d %s", row.status, row.body)
				assert.Contains(t, err.Error(), newPath+": ")
				assert.NotContains(t, err.Error(), "for reference")
				assert.NotContains(t, err.Error(), "ServiceFacts", "the advice on facts is for Book and Cancel")
			})
		}
	}
}

func TestDoRefusesBadInput(t *testing.T) {
	var null *struct{}
	for _, row := range []struct {
		path string
		req  *hotelstays.DoRequest
		opts []hotelstays.CallOption
	}{
		{"request", nil, nil},
		{"path", &hotelstays.DoRequest{}, nil},
		{"path", &hotelstays.DoRequest{Path: "api/trade/amend"}, nil},
		{"path", &hotelstays.DoRequest{Path: "https://other.example/api"}, nil},
		{"path", &hotelstays.DoRequest{Path: "//other.example/api"}, nil},
		{"path", &hotelstays.DoRequest{Path: "/api/../admin"}, nil},
		{"path", &hotelstays.DoRequest{Path: "/api/%2e%2e/x"}, nil},
		{"path", &hotelstays.DoRequest{Path: "/api/x/"}, nil},
		{"path", &hotelstays.DoRequest{Path: "/api/x?debug=1"}, nil},
		{"path", &hotelstays.DoRequest{Path: "/api/x\r\nEvil: 1"}, nil},
		{"idempotent", &hotelstays.DoRequest{Path: "/api/trade/book", Idempotent: true}, nil},
		{"into", &hotelstays.DoRequest{Path: newPath, Into: struct{}{}}, nil},
		{"into", &hotelstays.DoRequest{Path: newPath, Into: null}, nil},
		{"operation", &hotelstays.DoRequest{Path: newPath, Operation: "a\nb"}, nil},
		{"operation", &hotelstays.DoRequest{Path: "/api/trade/book", Operation: hotelstays.OpCancel}, nil},
		{"Session-Id", &hotelstays.DoRequest{Path: newPath, SessionID: "a\nb"}, nil},
		{"body", &hotelstays.DoRequest{Path: newPath, Body: func() {}}, nil},
		{"body", &hotelstays.DoRequest{Path: newPath, Body: json.RawMessage(`{`)}, nil},
		{"body", &hotelstays.DoRequest{Path: newPath, Body: "{}"}, nil},
		{"body", &hotelstays.DoRequest{Path: newPath, Body: null}, nil},
		{"body", &hotelstays.DoRequest{Path: newPath, Body: types.Guest{PassportNumber: types.NewSecret("P1")}}, nil},
		{"opts", &hotelstays.DoRequest{Path: newPath}, []hotelstays.CallOption{nil}},
		{"WithCurrency", &hotelstays.DoRequest{Path: "/api/trade/queryOrders"}, []hotelstays.CallOption{hotelstays.WithCurrency("EUR")}},
	} {
		_, err := clientWith(t, noSend{t}, bearerToken("token")).Do(t.Context(), row.req, row.opts...)
		assert.Equal(t, []string{row.path}, faultPaths(t, err), "%+v", row.req)
		invalid := errorAs[*hotelstays.ValidationError](t, err)
		assert.Equal(t, "Do", invalid.Func)
	}
}

// The error hides the token, even if the caller's UnmarshalJSON returns a text with the token.
func TestDecodeErrorOfDoHidesTheToken(t *testing.T) {
	_, err := clientWith(t, saying(`{"code":0,"data":"the token is token-1234567890"}`), bearerToken("token-1234567890")).
		Do(t.Context(), &hotelstays.DoRequest{Path: newPath, Into: new(quoting), Idempotent: true})
	unreadable := errorAs[*hotelstays.DecodeError](t, err)
	assert.NotContains(t, err.Error()+unreadable.Err.Error(), "token-1234567890")
}

type quoting struct{}

func (*quoting) UnmarshalJSON(text []byte) error { return errors.New(string(text)) }
