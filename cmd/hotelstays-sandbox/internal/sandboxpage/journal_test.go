// The journal on the page.

package sandboxpage

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func TestJournalHasTheNewestRequestsFirst(t *testing.T) {
	srv := start(t, hotelstaystest.Config{NoRateLimits: true, LedgerLimit: 60})
	for i := range 70 {
		post(t, srv, "/api/auth/ticket", fmt.Sprintf(`{"appKey":"key-%d"}`, i))
	}
	post(t, srv, "/<script>", "{}")
	_, body := get(t, srv, "/_sandbox/")
	rows := regexp.MustCompile(`<li><details id="request-(\d+)"`).FindAllStringSubmatch(body, -1)
	require.Len(t, rows, maxJournal)
	assert.Equal(t, []string{"71", "22"}, []string{rows[0][1], rows[maxJournal-1][1]})
	assert.Contains(t, body, "The last 50 of 71 requests")
	assert.Contains(t, body, "POST /&lt;script&gt;")
	assert.Contains(t, body, "key-21&#34;")
	assert.NotContains(t, body, "key-20&#34;")
}
