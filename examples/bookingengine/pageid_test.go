package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The id of a page is in the log, and in the requests that the page causes, also after it was
// shown.
func TestCallsHaveTheIDOfTheirPage(t *testing.T) {
	inBubble(t, func(s *testSite) {
		request := func(method, address, id string, form url.Values) {
			r := httptest.NewRequest(method, address, strings.NewReader(form.Encode()))
			r.Host = "127.0.0.1"
			r.Header.Set("X-Request-Id", id)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			s.ServeHTTP(httptest.NewRecorder(), r)
		}
		hotel, _, _ := s.rooms(60)
		for range 2 { // a proxy may repeat a request
			request(http.MethodGet, hotel, "rates-1", nil)
		}
		for _, foreign := range []string{"a b", "", strings.Repeat("x", 65), "x\r\ny", "<b>"} {
			request(http.MethodGet, hotel, foreign, nil)
		}
		request(http.MethodPost, s.toCheckout()+"/book", "book-1", guests())
		time.Sleep(time.Second)

		ids := func(op hotelstaystest.Operation, prefix string) (n int) {
			for _, request := range s.srv.Ledger().Requests(op) {
				require.Equal(s.t, http.StatusOK, request.Status)
				if strings.HasPrefix(request.RequestID, prefix) {
					n++
				}
			}
			return n
		}
		assert.Equal(s.t, 2, ids(types.OpHotelRates, "rates-1-"))
		assert.Equal(s.t, 1, ids(types.OpBook, "book-1-"))
		for _, foreign := range []string{"a b", "-", "xxx", "x\r", "<b>"} {
			assert.Zero(s.t, ids("", foreign), foreign)
		}
		assert.Regexp(s.t, `operation=Book .* page=book-1\n`, s.log)
	})
}
