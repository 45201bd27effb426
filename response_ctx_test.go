// A call whose ctx ends while the raw data is read.

package hotelstays

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// endsAtLook is a ctx that ends when it has been looked at so many times.
type endsAtLook struct {
	context.Context
	left int
}

func (c *endsAtLook) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A call that asked for the raw data never succeeds without it, whenever its ctx ends.
func TestRawDataIsWholeOrAnError(t *testing.T) {
	body := []byte(`{` + strings.Repeat(`"\n":1,`, 100<<10) + `"code":0,"data":{"orders":[],"hasMore":true}}`)
	for ends := 0; ; ends++ {
		var resp QueryOrdersResponse
		var meta ResponseMeta
		a := answer{ctx: &endsAtLook{t.Context(), ends}, op: OpQueryOrders, row: operations[OpQueryOrders], keepRaw: true}
		a.Answer = &transport.Answer{Status: http.StatusOK, Header: http.Header{}, Body: body}
		_, err := a.decode(&resp, &meta, func() error { return nil })
		if err == nil {
			assert.GreaterOrEqual(t, ends, 2*(len(body)>>16))
			assert.JSONEq(t, `{"orders":[],"hasMore":true}`, string(meta.RawData))
			return
		}
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorAs(t, err, new(*TransportError))
	}
}
