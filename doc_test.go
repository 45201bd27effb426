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

// The listed codes decide which refusals of Book and Cancel are definite.
func TestManualListedCodes(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	manual := strings.ReplaceAll(string(text), "\n// ", " ")
	for _, op := range []Operation{OpBook, OpCancel} {
		listed := regexp.MustCompile(`((?:\d{9}(?:, | and )?)+) for ` + string(op) + `\b`).FindStringSubmatch(manual)
		require.NotNil(t, listed, op)
		var codes []string
		for _, c := range conditions {
			if e := (&APIError{Operation: op, Code: c.code}); e.listed() {
				codes = append(codes, fmt.Sprint(c.code))
			}
		}
		assert.ElementsMatch(t, codes, regexp.MustCompile(`\d+`).FindAllString(listed[1], -1), op)
	}
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
