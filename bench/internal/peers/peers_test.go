// All clients must send the same requests and decode the same data.

package peers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

type seen struct {
	path   string
	header http.Header
	body   []byte
}

func TestEveryClientDecodesTheWholeAnswer(t *testing.T) {
	srv := httptest.NewServer(origin.Handler(nil))
	defer srv.Close()
	for _, prefix := range []string{"", origin.GzipPrefix} {
		require.NoError(t, peers.CheckAll(t.Context(), srv.URL+prefix))
	}
}

func TestEveryClientSendsTheSameRequest(t *testing.T) {
	var request seen
	srv := httptest.NewServer(origin.Handler(func(r *http.Request, body []byte) { request = seen{r.URL.Path, r.Header.Clone(), body} }))
	defer srv.Close()
	ours := map[hotelstays.Operation]seen{}
	ids := map[string]bool{}
	for _, kind := range peers.All() {
		peer, err := kind.New(srv.URL)
		require.NoError(t, err)
		defer peer.Close()
		for op, call := range peer.Calls {
			_, err := call(t.Context())
			require.NoError(t, err)
			want, known := ours[op]
			if !known { // the SDK is the first client
				ours[op], want = request, request
			}
			where := fmt.Sprintf("%s, %s", kind.Name, op)
			assert.Equal(t, want.path, request.path, where)
			wantBody, err := peers.ContentOf(want.body)
			require.NoError(t, err)
			body, err := peers.ContentOf(request.body)
			require.NoError(t, err)
			assert.Equal(t, wantBody, body, where)

			h := request.header
			assert.Equal(t, "application/json", h.Get("Content-Type"), where)
			assert.Equal(t, "Bearer "+peers.Token, h.Get("Authorization"), where)
			assert.Equal(t, answers.Session, h.Get("Session-Id"), where)
			assert.Equal(t, "gzip", h.Get("Accept-Encoding"), where)
			assert.NotEmpty(t, h.Get("Timeout-Milliseconds"), where)
			for _, name := range []string{"Request-Id", "Trace-Id"} {
				assert.Len(t, h.Get(name), 36, where)
				assert.False(t, ids[h.Get(name)], "%s: %s was used before", where, name)
				ids[h.Get(name)] = true
			}
		}
	}
}

func TestContentCheckFindsEachDifference(t *testing.T) {
	content, err := peers.ContentOfAnswer([]byte(`{"code":0,"data":{"list":[{"id":"a","amount":120.50,"free":false}]}}`))
	require.NoError(t, err)
	for value, problem := range map[string]string{
		`{"list":[{"id":"a","amount":120.5}]}`:            "",
		`{"list":[{"id":"a","amount":120.51}]}`:           `.list[0].amount is "120.51" instead of 120.5`,
		`{"list":[{"id":"a"}]}`:                           `.list[0].amount is "" instead of 120.5`,
		`{"list":[{"id":"b","amount":120.5}]}`:            `.list[0].id is "\"b\"" instead of "a"`,
		`{"list":[{"id":"a","amount":120.5},{"id":"b"}]}`: `has .list[1].id = "b", but the answer does not have this value`,
		`{"list":[]}`: `is "" instead of`,
	} {
		err := content.Check(json.RawMessage(value))
		if problem == "" {
			assert.NoError(t, err, value)
		} else {
			assert.ErrorContains(t, err, problem, value)
		}
	}
}

func TestEveryStreamYieldsTheWholePage(t *testing.T) {
	srv := httptest.NewServer(origin.Handler(nil))
	defer srv.Close()
	for _, prefix := range []string{"", origin.GzipPrefix} {
		for _, kind := range peers.Streams() {
			peer, err := kind.New(srv.URL + prefix)
			require.NoError(t, err)
			arrival, err := peer.Calls[hotelstays.OpHotelList](t.Context())
			peer.Close()
			require.NoError(t, err, kind.Name)
			at := arrival.(measure.Arrival)
			assert.Positive(t, at.Byte, kind.Name)
			assert.GreaterOrEqual(t, at.Hotel, at.Byte, kind.Name)
		}
	}
}
