// Tests of reading a text while the text arrives. The tests of the root package compare the results with those of
// encoding/json.

package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
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

// If the arrival of a text fails, nothing is decoded, even if the whole text has arrived. Rest returns the bytes that
// have arrived.
func TestFailedFeedKeepsTheBytesThatHaveArrived(t *testing.T) {
	body := answer(1)
	broken := errors.New("broken")
	for at := range len(body) + 1 {
		var got page
		feed := feedOf(io.MultiReader(bytes.NewReader(body[:at]), iotest.ErrReader(broken)))
		_, err := DecodeFeed(t.Context(), feed, got.target())
		if at == len(body) || !errors.Is(err, broken) {
			assert.Error(t, err)
		}
		assert.Zero(t, got)
		text, err := feed.Rest()
		assert.Equal(t, broken, err)
		assert.Equal(t, body[:at], text)
	}
	_, err := feedOf(stuck{}).Rest()
	assert.Equal(t, io.ErrNoProgress, err)
}

// stuck reads nothing, without an error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// One byte above the limit is read, to find out whether the text is longer.
func TestFeedReadsAtMostOneByteBeyondItsLimit(t *testing.T) {
	for length, want := range map[int]int64{9: 9, 10: 10, 11: 11, 12: 11} {
		feed := new(Feed)
		feed.Reset(strings.NewReader(strings.Repeat("x", length)), 0, 10)
		_, err := feed.Rest()
		require.NoError(t, err)
		assert.Equal(t, want, feed.Size())
	}
}

func TestDecodingOfAnArrivingAnswerEndsWhenCtxEnds(t *testing.T) {
	body := answer(250)
	whole := endless(t)
	_, err := Decode(whole, body, new(page).target())
	require.NoError(t, err)
	require.Positive(t, whole.polls)
	for ends := range whole.polls {
		ctx, got := &endingCtx{Context: t.Context(), ends: ends}, page{}
		_, err := DecodeFeed(ctx, feedOf(bytes.NewReader(body)), got.target())
		assert.Equal(t, context.Canceled, err)
		assert.Zero(t, got)
		assert.Equal(t, ends+1, ctx.polls)
	}
}

func TestDecodingChecksCtxAsOftenInTheLastLongHotelAsInTheFirst(t *testing.T) {
	const hotels = 4
	hotel := `{"x":[0` + strings.Repeat(`,1`, 1<<17) + `]}`
	ctx, target := endless(t), new(page).target()
	target.Take = func(*types.Hotel) error { return nil }
	_, err := DecodeFeed(ctx, feedOf(strings.NewReader(`{"data":{"list":[`+hotel+strings.Repeat(","+hotel, hotels-1)+`]}}`)), target)
	require.NoError(t, err)
	assert.Greater(t, ctx.polls, hotels*(len(hotel)/pollInterval-1))
}

func TestFieldsAreReadInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	members := []string{`"a":1`, `"b":2`, `"c":3`, `"d":4`, `"e":5`, `"x":6`, ` "y" : 7`}
	for _, shuffle := range []bool{false, true} {
		names, fields := []string{"e", "d", "c", "b", "a"}, new(fieldNames)
		for _, name := range names {
			fields.add(name, false)
		}
		for round := range 2 * maxLearnt {
			if shuffle || round == 0 {
				random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
			}
			some := members[:1+random.IntN(len(members))]
			text := "{" + strings.Join(some, ",") + "}"
			l := newLexer(context.Background(), whole([]byte(text)))
			read := map[int]int{}
			var seen seenFields
			for i := l.next(fields, &seen, -1); i >= 0; i = l.next(fields, &seen, i) {
				read[i] = l.Int()
			}
			require.True(t, l.end(), text)
			l.release()
			for i, name := range names {
				want := 0
				if strings.Contains(text, `"`+name+`"`) {
					want = 5 - i
				}
				require.Equal(t, want, read[i], "%s in %s", name, text)
			}
		}
		if shuffle {
			assert.Equal(t, int32(maxLearnt), fields.learnt.Load())
		} else {
			assert.Less(t, fields.learnt.Load(), int32(100))
		}
	}
}
