// Reading a text while it arrives has the result of reading it whole.

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

	"github.com/hotelstays/hotelstays-go/internal/test/oracle"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

func feedOf(r io.Reader) *Feed {
	feed := new(Feed)
	feed.Reset(r, 0, math.MaxInt32)
	return feed
}

// parts reads a text in parts. next returns the largest size of the next part.
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

// requireFedAsWhole requires that an answer in parts is read like the whole answer. It reports whether the answer could be
// read.
func requireFedAsWhole(t *testing.T, body []byte, next func() int) bool {
	t.Helper()
	var got, want page
	feed := feedOf(&parts{body, next})
	env, err := DecodeFeed(t.Context(), feed, got.target())
	wantEnv, wantErr := Decode(t.Context(), body, want.target())
	require.Equal(t, wantErr, err, "%q", body)
	require.Equal(t, wantEnv, env)
	require.Equal(t, want, got)
	text, readErr := feed.Rest()
	require.NoError(t, readErr)
	require.True(t, bytes.Equal(body, text), "%q", text)
	return err == nil
}

var oddAnswers = []string{
	`{"code":0,"msg":"\ud83d\ude00\\\"\u00e9","data":{"list":[{"id":"a\"b","name":{"en":"\n"}},{}],"total":-12,"hasMore":true,` +
		`"new":[1.5e+3,{"a":null}]}}`,
	" { \"code\" :\t0 , \"data\" : { \"list\" : null , \"basic\" : { \"sessionId\" : \"é\" } , \"total\" : null , \"hasMore\" : false } } ",
	`{"data":{"total":1,"list":[]},"code":0}  `, `{"code":0,"data":{"total":1,"total":1}}`, `{"code":0,"data":{"list":[{"id":"\ud83d"}]}}`,
	`{"code":00}`, `{"code":0,"data":{"hasMore":tru}}`, "{\"code\":0,\"data\":{\"list\":[{\"id\":\"\x00\"}]}}", "{\"code\":0,\x00\"data\":{}}",
}

// Small answers arrive in two parts, in single bytes, and cut off at each length. With -short one case in 7 runs.
func TestAnswerIsReadAlikeWhereverItIsSplit(t *testing.T) {
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

// A page that arrives in parts is read like a whole page, and as encoding/json reads it.
func TestPageInRandomPartsIsReadAsEncodingJSONReadsIt(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	whole := answer(10, 2, 2)
	for range testsize.Of(t, "pages", 20_000, 100, 30) {
		body := bytes.Clone(whole)
		if random.IntN(2) == 0 {
			body[random.IntN(len(body))] = `"{}[],:\0a`[random.IntN(9)]
		}
		longest := 1 + random.IntN(4096)
		requireFedAsWhole(t, body, func() int { return 1 + random.IntN(longest) })
		var got, want page
		env, err := Decode(t.Context(), body, got.target())
		means := oracle.Read(body, &want, false)
		require.Equal(t, means.Invalid || means.Unusable || means.Refused || means.CodeMismatch, err != nil, "%q: %v", body, err)
		if means.HasData {
			require.Equal(t, want, got, "%q", body)
			require.Equal(t, len(means.Mismatches), env.Count, "%q", body)
		}
	}
}

func FuzzFeed(f *testing.F) {
	f.Add(answer(1, 1, 1))
	for _, text := range oddAnswers {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireFedAsWhole(t, body, func() int { return 1 + len(body)/7 }) })
}

// A text whose arrival fails is not read, even if it is complete. The bytes that have arrived are kept.
func TestFailedFeedKeepsWhatHasArrived(t *testing.T) {
	body := answer(1, 1, 1)
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
	_, err := feedOf(&parts{body, func() int { return 0 }}).Rest()
	assert.Equal(t, io.ErrNoProgress, err)
}

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

func TestDecodingAnArrivingAnswerEndsWithItsCtx(t *testing.T) {
	body := answer(40, 5, 4)
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

// ctx is checked as often in the last of several long hotels as in the first.
func TestCtxIsPolledInEachHotel(t *testing.T) {
	const hotels = 6
	hotel := `{"x":[0` + strings.Repeat(`,1`, 1<<18) + `]}`
	ctx, target := endless(t), new(page).target()
	target.Take = func(*types.Hotel) error { return nil }
	_, err := DecodeFeed(ctx, feedOf(strings.NewReader(`{"data":{"list":[`+hotel+strings.Repeat(","+hotel, hotels-1)+`]}}`)), target)
	require.NoError(t, err)
	assert.Greater(t, ctx.polls, hotels*(len(hotel)/pollInterval-1))
}

// Only at the end of an answer is it known whether a list has too many elements for the size of the answer.
func TestArrivingListsKeepTheMemoryBudget(t *testing.T) {
	list := `{"code":0,"data":{"list":[{}` + strings.Repeat(",{}", 100_000) + `]`
	for tail, read := range map[string]bool{`}}`: false, `,"x":"` + strings.Repeat("x", 30<<20) + `"}}`: true} {
		assert.Equal(t, read, requireFedAsWhole(t, []byte(list+tail), func() int { return 1 << 20 }))
	}
}

// Fields are read in any order of names, also if the order changes.
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
