// Search and pages of the journal.

package sandboxpage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func TestJournalSearchesAndPages(t *testing.T) {
	srv := start(t, hotelstaystest.Config{NoRateLimits: true, LedgerLimit: 120})
	for i := range 130 {
		post(t, srv, "/api/auth/ticket", fmt.Sprintf(`{"appKey":"key-%d"}`, i))
	}
	post(t, srv, "/elsewhere", "{}")
	for query, want := range map[string]struct {
		rows    int
		texts   []string
		without string
	}{
		"":                               {50, []string{"the oldest 11 were dropped", `before=82#journal">Older`}, "Newest"},
		"?before=82":                     {50, []string{`before=32#journal">Older`, "Newest"}, "none"},
		"?before=32":                     {20, []string{"Newest"}, "Older"},
		"?before=12":                     {0, []string{"none matches"}, "Older"},
		"?q=KEY-129":                     {1, []string{`value="KEY-129"`}, "Older"},
		"?q=content-type":                {50, []string{"q=content-type#journal"}, "none"},
		"?operation=Ticket&q=key-12":     {11, nil, "Older"},
		"?operation=Book":                {0, []string{"none matches"}, "Older"},
		"?q=elsewhere":                   {1, []string{"POST /elsewhere"}, "Older"},
		"?q=%22%3E%3Cscript%3E&before=x": {0, []string{"&#34;&gt;&lt;script&gt;"}, `"><script>`},
	} {
		_, body := get(t, srv, "/_sandbox/"+query)
		if rows := strings.Count(body, `<li><details id="request-`); rows != want.rows {
			t.Errorf("%q: %d rows, want %d", query, rows, want.rows)
		}
		for _, text := range want.texts {
			if !strings.Contains(body, text) {
				t.Errorf("%q: no %q", query, text)
			}
		}
		if strings.Contains(body, want.without) {
			t.Errorf("%q: has %q", query, want.without)
		}
	}
}
