//go:build !hotelstays_stdjson

// Reading a text while it arrives has the result of reading it whole.

package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/types"
)

// parts returns at most so many bytes of a text at a time.
type parts struct {
	text []byte
	next func() int
}

func (p *parts) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.next(), len(p.text))])
	p.text = p.text[n:]
	return n, nil
}

// requireFedAsWhole reads an answer in parts and at once. It reports whether it could be read.
func requireFedAsWhole(t *testing.T, body []byte, next func() int) bool {
	t.Helper()
	var got, want page
	feed := feedOf(&parts{body, next})
	env, ok := FastFrom(t.Context(), feed, got.target())
	wantEnv, wantOK := Fast(t.Context(), body, want.target())
	require.Equal(t, wantOK, ok, "%q", body)
	require.Equal(t, wantEnv, env)
	require.Equal(t, want, got)
	text, err := feed.Rest()
	require.NoError(t, err)
	require.True(t, bytes.Equal(body, text), "%q", text)
	return ok
}

var oddAnswers = []string{
	`{"code":0,"msg":"\ud83d\ude00\\\"\u00e9","data":{"list":[{"id":"a\"b","name":{"en":"\n"}},{}],"total":-12,"hasMore":true,` +
		`"new":[1.5e+3,{"a":null}]}}`,
	" { \"code\" :\t0 , \"data\" : { \"list\" : null , \"basic\" : { \"sessionId\" : \"é\" } , \"total\" : null , \"hasMore\" : false } } ",
	`{"data":{"total":1,"list":[]},"code":0}  `, `{"code":0,"data":{"total":1,"total":1}}`, `{"code":0,"data":{"list":[{"id":"\ud83d"}]}}`,
	`{"code":00}`, `{"code":0,"data":{"hasMore":tru}}`, "{\"code\":0,\"data\":{\"list\":[{\"id\":\"\x00\"}]}}", "{\"code\":0,\x00\"data\":{}}",
}

// Every way to cut small answers into two, or into bytes, and every length at which they may end; one in 7 with -short.
func TestFedAnswersAtEveryByte(t *testing.T) {
	read, step := 0, 1
	if testing.Short() {
		step = 7
	}
	for _, text := range append(oddAnswers, string(answer(1, 1, 1))) {
		body := []byte(text)
		for at := 0; at < len(body); at += step {
			first := true
			if requireFedAsWhole(t, body, func() int {
				if first {
					first = false
					return at + 1
				}
				return len(body)
			}) {
				read++
			}
			requireFedAsWhole(t, body[:at], func() int { return 1 })
		}
		requireFedAsWhole(t, body, func() int { return 1 })
	}
	assert.Positive(t, read)
}

func TestFedPagesInRandomParts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	whole, pages := answer(10, 2, 2), 300
	if os.Getenv("HOTELSTAYS_LONG") != "" {
		pages = 20_000
	}
	t.Logf("%d pages", pages)
	for range pages {
		body := bytes.Clone(whole)
		if random.IntN(2) == 0 {
			body[random.IntN(len(body))] = `"{}[],:\0a`[random.IntN(9)]
		}
		longest := 1 + random.IntN(4096)
		requireFedAsWhole(t, body, func() int { return 1 + random.IntN(longest) })
	}
}

func FuzzFeed(f *testing.F) {
	f.Add(answer(1, 1, 1))
	for _, text := range oddAnswers {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireFedAsWhole(t, body, func() int { return 1 + len(body)/7 }) })
}

// A text whose arrival fails is not read, even if it is complete, and what has come is kept.
func TestFeedThatFails(t *testing.T) {
	body := answer(1, 1, 1)
	broken := errors.New("broken")
	for at := range len(body) + 1 {
		var got page
		feed := feedOf(io.MultiReader(bytes.NewReader(body[:at]), iotest.ErrReader(broken)))
		_, ok := FastFrom(t.Context(), feed, got.target())
		assert.False(t, ok)
		assert.Zero(t, got)
		text, err := feed.Rest()
		assert.Equal(t, broken, err)
		assert.Equal(t, body[:at], text)
	}
	_, err := feedOf(&parts{body, func() int { return 0 }}).Rest()
	assert.Equal(t, io.ErrNoProgress, err)
}

// One byte above the limit is read, to tell that there is one.
func TestFeedReadsToItsLimit(t *testing.T) {
	for length, want := range map[int]int64{9: 9, 10: 10, 11: 11, 12: 11} {
		feed := new(Feed)
		feed.Reset(strings.NewReader(strings.Repeat("x", length)), 0, 10)
		_, err := feed.Rest()
		require.NoError(t, err)
		assert.Equal(t, want, feed.Size())
	}
}

func TestFedAnswersEndWithTheirCtx(t *testing.T) {
	body := answer(40, 5, 4)
	whole := endless(t)
	_, ok := Fast(whole, body, new(page).target())
	for ends := range whole.polls {
		ctx, got := &endingCtx{Context: t.Context(), ends: ends}, page{}
		_, read := FastFrom(ctx, feedOf(bytes.NewReader(body)), got.target())
		assert.False(t, read)
		assert.Zero(t, got)
		assert.Equal(t, ends+1, ctx.polls)
	}
	assert.Equal(t, ok, whole.polls > 0)
}

// ctx is asked as often in the last of several long hotels as in the first one.
func TestStreamAsksCtxInEachHotel(t *testing.T) {
	const hotels = 6
	hotel := `{"x":[0` + strings.Repeat(`,1`, 1<<18) + `]}`
	ctx := endless(t)
	s := Stream{Take: func(*types.Hotel) error { return nil }}
	require.NoError(t, s.Read(ctx, feedOf(strings.NewReader(`{"data":{"list":[`+hotel+strings.Repeat(","+hotel, hotels-1)+`]}}`))))
	assert.Greater(t, ctx.polls, hotels*(len(hotel)/pollInterval-1))
}

// A list takes no more memory than what has arrived allows.
func TestFedListsKeepTheBudget(t *testing.T) {
	body := []byte(`{"code":0,"data":{"list":[{}` + strings.Repeat(",{}", 100_000) + `]}}`)
	requireFedAsWhole(t, body, func() int { return 4096 })
	_, ok := FastFrom(t.Context(), feedOf(bytes.NewReader(body)), new(page).target())
	assert.False(t, ok)
}

// An element is handed out at its last byte, whatever it holds: what is behind it may never come.
func TestStreamReadsNothingBehindAnElement(t *testing.T) {
	for _, element := range []string{`{"id":"\ud83d"}`, `{"id":"\ud83d\n"}`, `"\ud83d"`, `"\n"`, `{"x":"\ud83d"}`,
		`{"id":null}`, `{"isAvailable":true}`, `[[]]`, `{"\ud83d":1}`, `{"rooms":[]}`,
		`{"rating":1}`, `{"x":{}}`, `{"id":1}`, `{"id":"\u00e9"}`} {
		for _, ahead := range []int{1, 2, 3, 7, 99} {
			feed := feedOf(&parts{[]byte(`{"data":{"list":[` + element), func() int { return ahead }})
			taken := 0
			take := func() { taken++; assert.False(t, feed.done, "%s by %d", element, ahead) }
			s := Stream{Take: func(*types.Hotel) error { take(); return nil },
				TakeText: func([]byte) (bool, Mismatches, error) { take(); return true, Mismatches{}, nil }}
			require.NoError(t, s.Read(t.Context(), feed))
			assert.Equal(t, 1, taken, "%s by %d", element, ahead)
		}
	}
}

// The memory of a hotel depends on its own text, and not on how much has arrived behind it.
func TestStreamedHotelsKeepTheirOwnBudget(t *testing.T) {
	rooms := memoryBudget(0)/(sizeOf[types.Room]()-2*len(`{},`)) + 1000 // too many, with nothing behind them
	body := `{"data":{"list":[{"rooms":[{}` + strings.Repeat(`,{}`, rooms) + `]},{"id":"` + strings.Repeat("x", maxRead) + `"}`
	for _, ahead := range []int{1000, maxRead} {
		feed, taken, malformed := new(Feed), 0, 0
		feed.Reset(&parts{[]byte(body), func() int { return ahead }}, len(body), math.MaxInt32)
		s := Stream{Take: func(*types.Hotel) error { taken++; return nil },
			TakeText: func([]byte) (bool, Mismatches, error) { malformed++; return true, Mismatches{}, nil }}
		require.NoError(t, s.Read(t.Context(), feed))
		assert.Equal(t, []int{1, 1}, []int{taken, malformed}, ahead)
	}
}

// The order of names is learnt, whatever it is, and an order that changes is read alike.
func TestFieldsInAnyOrder(t *testing.T) {
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
			l := newLexer(context.Background(), []byte(text), 0)
			read := map[int]int{}
			var seen Seen
			for i := l.first(fields, &seen); i >= 0; i = l.next(fields, &seen, i) {
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
