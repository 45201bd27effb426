//go:build !hotelstays_stdjson

// Tests of the fast path, which the build tag leaves out.

package wire

import (
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
