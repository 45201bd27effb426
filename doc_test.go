// The manual's tables of time limits and rate limits agree with the code.

package hotelstays

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestManualTimeLimitsAndRateLimits(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	timeLimits := table(t, string(text), "Time limits", ` +(\d+) s$`)
	rateLimits := table(t, string(text), "Rate limits", ` +(\d+) a second$`)
	for name, op := range operations {
		assert.Equal(t, fmt.Sprint(op.timeout.Seconds()), timeLimits[string(name)], "the time limit of %s", name)
		if name.RateLimit() == 0 {
			assert.NotContains(t, rateLimits, string(name))
		} else {
			assert.Equal(t, fmt.Sprint(name.RateLimit()), rateLimits[string(name)], "the rate limit of %s", name)
		}
	}
	assert.Len(t, timeLimits, len(operations))
}

// table reads the figures of a section's table, by operation.
func table(t *testing.T, manual, section, figure string) map[string]string {
	t.Helper()
	_, text, ok := strings.Cut(manual, "// # "+section+"\n")
	require.True(t, ok, section)
	text, _, _ = strings.Cut(text, "// # ")
	rows := regexp.MustCompile(`(?m)^//\t([A-Z].*?)`+figure).FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, rows, section)
	figures := map[string]string{}
	for _, row := range rows {
		for name := range strings.SplitSeq(row[1], ", ") {
			figures[name] = row[2]
		}
	}
	return figures
}
