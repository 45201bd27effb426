package hotelstaysotel_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The tables name every exported attribute and instrument.
func TestREADMETables(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := r.bookRequest("ref-1")
		for _, fault := range []hotelstaystest.Fault{{Kind: hotelstaystest.FaultStatus, Status: 400}, {Kind: hotelstaystest.FaultCut}} {
			fault.Operation = types.OpBook
			r.srv.Inject(fault)
			_, err := r.client.Book(t.Context(), req)
			require.Error(t, err)
		}
		for _, s := range r.take() {
			for key := range s.attrs {
				assert.Contains(t, string(readme), "`"+key+"`")
			}
			for _, e := range s.events {
				assert.Contains(t, string(readme), "`"+e.name+"`")
				for key := range e.attrs {
					assert.Contains(t, string(readme), "`"+key+"`")
				}
			}
		}
		for instrument, points := range r.collect() {
			assert.Contains(t, string(readme), "`"+instrument+"`")
			for attrs := range points {
				for attr := range strings.SplitSeq(attrs, ",") {
					key, _, _ := strings.Cut(attr, "=")
					assert.Contains(t, string(readme), "`"+key+"`")
				}
			}
		}
	})
}
