// All clients must send the same and decode the same.

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
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// seen is a request at the server.
type seen struct {
	path   string
	header http.Header
	body   []byte
}

// callAll makes every client's call of every operation.
func callAll(t *testing.T, prefix string, check func(t *testing.T, op hotelstays.Operation, value any, request seen)) {
	var last seen
	srv := httptest.NewServer(origin.Handler(func(r *http.Request, body []byte) { last = seen{r.URL.Path, r.Header.Clone(), body} }))
	defer srv.Close()
	for _, kind := range peers.All() {
		peer, err := kind.New(srv.URL + prefix)
		require.NoError(t, err)
		defer peer.Close()
		for op, call := range peer.Calls {
			t.Run(fmt.Sprintf("%s/%s", kind.Name, op), func(t *testing.T) {
				value, err := call(t.Context())
				require.NoError(t, err)
				check(t, op, value, last)
			})
		}
	}
}

func TestEveryPeerDecodesTheWholeAnswer(t *testing.T) {
	sent := map[hotelstays.Operation]peers.Content{}
	for op, answer := range answers.All() {
		content, err := peers.ContentOfAnswer(answer)
		require.NoError(t, err)
		require.NotEmpty(t, content)
		sent[op] = content
	}
	for _, prefix := range []string{"", origin.GzipPrefix} {
		callAll(t, prefix, func(t *testing.T, op hotelstays.Operation, value any, _ seen) {
			require.NoError(t, sent[op].Check(value))
		})
	}
}

func TestEveryPeerSendsTheSameRequest(t *testing.T) {
	ours := map[hotelstays.Operation]seen{}
	ids := map[string]bool{}
	callAll(t, "", func(t *testing.T, op hotelstays.Operation, _ any, request seen) {
		want, known := ours[op]
		if !known { // ours is the first
			ours[op], want = request, request
		}
		assert.Equal(t, want.path, request.path)
		wantBody, err := peers.ContentOf(want.body)
		require.NoError(t, err)
		body, err := peers.ContentOf(request.body)
		require.NoError(t, err)
		assert.Equal(t, wantBody, body)

		h := request.header
		assert.Equal(t, "application/json", h.Get("Content-Type"))
		assert.Equal(t, "Bearer "+peers.Token, h.Get("Authorization"))
		assert.Equal(t, answers.Session, h.Get("Session-Id"))
		assert.Equal(t, "gzip", h.Get("Accept-Encoding"))
		assert.NotEmpty(t, h.Get("Timeout-Milliseconds"))
		for _, name := range []string{"Request-Id", "Trace-Id"} {
			assert.Len(t, h.Get(name), 36)
			assert.False(t, ids[h.Get(name)], "%s is a used one", name)
			ids[h.Get(name)] = true
		}
	})
}

// The comparison of contents finds differences.
func TestContentTellsDifferences(t *testing.T) {
	content, err := peers.ContentOfAnswer([]byte(`{"code":0,"data":{"list":[{"id":"a","amount":120.50,"free":false}]}}`))
	require.NoError(t, err)
	for value, problem := range map[string]string{
		`{"list":[{"id":"a","amount":120.5}]}`:            "",
		`{"list":[{"id":"a","amount":120.51}]}`:           `.list[0].amount is "120.51" and not 120.5`,
		`{"list":[{"id":"a"}]}`:                           `.list[0].amount is "" and not 120.5`,
		`{"list":[{"id":"b","amount":120.5}]}`:            `.list[0].id is "\"b\"" and not "a"`,
		`{"list":[{"id":"a","amount":120.5},{"id":"b"}]}`: `holds .list[1].id = "b"`,
		`{"list":[]}`: `is "" and not`,
	} {
		err := content.Check(json.RawMessage(value))
		if problem == "" {
			assert.NoError(t, err, value)
		} else {
			assert.ErrorContains(t, err, problem, value)
		}
	}
}

// Every stream hands out the whole page, at any rate, plain and compressed.
func TestEveryStreamHandsOutThePage(t *testing.T) {
	srv := httptest.NewServer(origin.Handler(nil))
	defer srv.Close()
	for _, prefix := range []string{"", origin.GzipPrefix, origin.LinePrefix + "0", origin.LinePrefix + "1000" + origin.GzipPrefix} {
		for _, kind := range peers.Streams() {
			peer, err := kind.New(srv.URL + prefix)
			require.NoError(t, err)
			first, err := peer.Calls[hotelstays.OpHotelList](t.Context())
			peer.Close()
			require.NoError(t, err, kind.Name)
			assert.Positive(t, first, kind.Name)
		}
	}
}
