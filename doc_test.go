// The manual's tables say what the code does. Retries have a test of their own.

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

func TestManualDeadlinesAndCeilings(t *testing.T) {
	manual := manualText(t)
	deadlines := table(t, manual, "Deadlines", ` +(\d+) s$`)
	ceilings := table(t, manual, "Rate limits", ` +(\d+) a second$`)
	for name, op := range operations {
		assert.Equal(t, fmt.Sprint(op.timeout.Seconds()), deadlines[string(name)], "the deadline of %s", name)
		if op.ceiling == 0 {
			assert.NotContains(t, ceilings, string(name))
		} else {
			assert.Equal(t, fmt.Sprint(op.ceiling), ceilings[string(name)], "the ceiling of %s", name)
		}
	}
	assert.Len(t, deadlines, len(operations))
}

func manualText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	return string(text)
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
