package wire

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/types"
)

func feedOf(r io.Reader) *Feed {
	feed := new(Feed)
	feed.Reset(r, 0, math.MaxInt32)
	return feed
}

// taking is a target that hands out hotels.
func taking(take func(*types.Hotel) error) Target {
	target := new(page).target()
	target.Take = take
	return target
}

// Of the text stays the document with the first element alone.
func TestHotelsAreHandedOut(t *testing.T) {
	for _, row := range []struct{ name, body, taken, rest string }{
		{"elements", `{"code":0,"data":{"list":[{"id":"1]}"},{"x":[[1],{}],"id":"2"},{"id":"3"}]}}`, "1]} 2 3",
			`{"code":0,"data":{"list":[{"id":"1]}"}]}}`},
		{"some do not fit", `{"code":0,"data":{"list":[7,{"id":"1"},null,{"id":[]},{"id":"2"}]}}`, "1 2", `{"code":0,"data":{"list":[7]}}`},
		{"white space", "{ \"code\":0,\"data\" : {\n\"list\" : [ {\"id\":\"1\"} , {\"id\":\"2\"} ] } } ", "1 2",
			"{ \"code\":0,\"data\" : {\n\"list\" : [ {\"id\":\"1\"} ] } } "},
		{"an empty list", `{"code":0,"data":{"list":[]}}`, "", `{"code":0,"data":{"list":[]}}`},
		{"lists elsewhere", `{"list":[{"id":"1"}],"data":{"x":{"list":[{"id":"2"}]}},"code":0}`, "",
			`{"list":[{"id":"1"}],"data":{"x":{"list":[{"id":"2"}]}},"code":0}`},
		{"a second list", `{"data":{"list":[{"id":"1"},{"id":"2"}],"list":[{"id":"3"}]},"code":0}`, "1 2",
			`{"data":{"list":[{"id":"1"}],"list":[{"id":"3"}]},"code":0}`},
		{"another code first", `{"code":1,"data":{"list":[{"id":"1"}]}}`, "", `{"code":1,"data":{"list":[{"id":"1"}]}}`},
		{"another code behind", `{"data":{"list":[{"id":"1"},{"id":"2"}]},"code":1}`, "1 2", `{"data":{"list":[{"id":"1"}]},"code":1}`},
		{"unusable", `{"data":{"list":[{"id":"1"},{"id":"2"},{"id":"3","id":"3"},{"id":"4"}]}}`, "1 2",
			`{"data":{"list":[{"id":"1"},{"id":"3","id":"3"},{"id":"4"}]}}`},
		{"no comma", `{"data":{"list":[{"id":"1"},{"id":"2"} 3]}}`, "1 2", `{"data":{"list":[{"id":"1"} 3]}}`},
		{"no end", `{"data":{"list":[{"id":"1"},{"id":"2"},{"a":`, "1 2", `{"data":{"list":[{"id":"1"},{"a":`},
		{"escaped names", `{"d\u0061ta":{"list":[{"id":"1"},{"\u0069d":"2"}]}}`, "1 2", `{"d\u0061ta":{"list":[{"id":"1"}]}}`},
	} {
		var taken []string
		feed := feedOf(iotest.OneByteReader(strings.NewReader(row.body)))
		_, got := DecodeFeed(t.Context(), feed, taking(func(h *types.Hotel) error {
			taken = append(taken, h.ID)
			return nil
		}))
		rest, err := feed.Rest()
		require.NoError(t, err, row.name)
		assert.Equal(t, row.taken, strings.Join(taken, " "), row.name)
		assert.Equal(t, row.rest, string(rest), row.name)
		_, want := Decode(t.Context(), []byte(row.body), new(page).target())
		assert.Equal(t, want, got, "%s: also the offset", row.name)
	}
}

// The error of who takes a hotel ends the reading.
func TestHandingOutEndsWithAnError(t *testing.T) {
	const body = `{"data":{"list":[{"id":"1"},{"id":"2"}]}}`
	stop, taken := errors.New("stop"), 0
	_, err := DecodeFeed(t.Context(), feedOf(strings.NewReader(body)), taking(func(*types.Hotel) error { taken++; return stop }))
	assert.Equal(t, stop, err)
	assert.Equal(t, 1, taken)

	feed := feedOf(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(body))))
	_, err = DecodeFeed(t.Context(), feed, taking(func(*types.Hotel) error { return nil }))
	assert.Equal(t, iotest.ErrTimeout, err)
}

// ctx is asked as often in the last of several long hotels as in the first one.
func TestCtxIsAskedInEachHotel(t *testing.T) {
	const hotels = 6
	hotel := `{"x":[0` + strings.Repeat(`,1`, 1<<18) + `]}`
	ctx := endless(t)
	_, err := DecodeFeed(ctx, feedOf(strings.NewReader(`{"data":{"list":[`+hotel+strings.Repeat(","+hotel, hotels-1)+`]}}`)),
		taking(func(*types.Hotel) error { return nil }))
	require.NoError(t, err)
	assert.Greater(t, ctx.polls, hotels*(len(hotel)/pollInterval-1))
}

// An element is handed out at its last byte, whatever it holds: what is behind it may never come.
func TestNothingIsReadBehindAHotel(t *testing.T) {
	for _, element := range []string{`{"id":"\ud83d"}`, `{"id":"\ud83d\n"}`, `{"x":"\ud83d"}`, `{"id":null}`, `{"isAvailable":true}`,
		`{"\ud83d":1}`, `{"rooms":[]}`, `{"rating":1}`, `{"rating":"1"}`, `{"x":{}}`, `{"id":1}`, `{"id":"\u00e9"}`} {
		for _, ahead := range []int{1, 2, 3, 7, 99} {
			feed := feedOf(&parts{[]byte(`{"data":{"list":[` + element), func() int { return ahead }})
			taken := 0
			_, err := DecodeFeed(t.Context(), feed, taking(func(*types.Hotel) error {
				taken++
				assert.False(t, feed.done, "%s by %d", element, ahead)
				return nil
			}))
			require.Error(t, err)
			assert.Equal(t, 1, taken, "%s by %d", element, ahead)
		}
	}
}
