//go:build !hotelstays_stdjson

// Tests of the fast path, which the build tag leaves out.

package wire

import (
	"bytes"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/types"
)

var pageHotels List[types.Hotel]

// readPage is what decodegen would write.
var readPage = Struct([]Field[page]{
	{"list", false, func(l *Lexer, v *page) { v.List = pageHotels.Read(l, ReadHotel) }},
	{"basic", false, func(l *Lexer, v *page) { ReadSearchBasic(l, &v.Basic) }},
	{"total", false, func(l *Lexer, v *page) { v.Total = l.Int() }},
	{"hasMore", false, func(l *Lexer, v *page) { v.HasMore = l.Bool() }},
})

func (p *page) decode(l *Lexer) { readPage(l, p) }

// A message may quote anything: it is never interned.
func TestMessagesAreNotInterned(t *testing.T) {
	for _, body := range []string{`{"code":0,"msg":"message","data":{}}`, `{"data":{},"msg":"message","code":0}`} {
		var first, second page
		one, ok := Fast(t.Context(), []byte(body), first.target())
		require.True(t, ok)
		other, ok := Fast(t.Context(), []byte(body), second.target())
		require.True(t, ok)
		assert.Equal(t, one.Msg, other.Msg)
		assert.NotSame(t, unsafe.StringData(one.Msg), unsafe.StringData(other.Msg), body)
	}
}

// FuzzFast decodes an answer with and without the fast path: the result is the same.
func FuzzFast(f *testing.F) {
	f.Add(answer(1, 1, 1))
	for _, seed := range []string{
		`{"data":{"list":[],"total":1},"code":0,"msg":null}`, `{"code":0,"data":{"list":null},"more":[1.5e3,"\ud83d\ude00"]}`,
		`{"msg":"no","code":7,"data":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		requireFedAsWhole(t, body, func() int { return 1 + len(body)/7 })
		for _, lenient := range []bool{false, true} {
			var got, want page
			env, err := Decode(t.Context(), bytes.Clone(body), got.target(), lenient)
			wantEnv, wantErr := Decode(t.Context(), body, want.standard(), lenient)
			if !reflect.DeepEqual(err, wantErr) || !reflect.DeepEqual(env, wantEnv) || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q is read as\n%+v %+v, %v, and by encoding/json as\n%+v %+v, %v", body, env, got, err, wantEnv, want, wantErr)
			}
		}
	})
}
