package hotelstaysotel_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The tables of the README and the list of the package docs name every exported attribute and instrument.
func TestREADMETables(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	documented := func(name string) {
		assert.Contains(t, string(readme), "`"+name+"`")
		assert.Regexp(t, "[ \t]"+regexp.QuoteMeta(name)+"[,;:\n]", string(doc))
	}
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
				documented(key)
			}
			for _, e := range s.events {
				documented(e.name)
				for key := range e.attrs {
					documented(key)
				}
			}
		}
		for instrument, points := range r.collect() {
			documented(instrument)
			for attrs := range points {
				for attr := range strings.SplitSeq(attrs, ",") {
					key, _, _ := strings.Cut(attr, "=")
					documented(key)
				}
			}
		}
	})
}
