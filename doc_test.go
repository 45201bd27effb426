// The manual's table of the operations agrees with the code.

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

// The booking flow is a column of the same table.
func TestManualTimeLimitsAndRateLimits(t *testing.T) {
	text, err := os.ReadFile("operations.go")
	require.NoError(t, err)
	for name, op := range operations {
		line := fmt.Sprintf("//\t%-18s %3.0f s", name, name.Timeout().Seconds())
		if limit := name.RateLimit(); limit > 0 {
			line += fmt.Sprintf("   %3d a second", limit)
		}
		if op.bookingFlow {
			line += "   booking flow"
		}
		assert.Contains(t, string(text), line+"\n")
	}
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
