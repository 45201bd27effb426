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
	text, err := os.ReadFile("operations.go")
	require.NoError(t, err)
	for name, op := range operations {
		line := fmt.Sprintf("//\t%-18s %3.0f s", name, op.timeout.Seconds())
		if limit := name.RateLimit(); limit > 0 {
			line += fmt.Sprintf("   %3d a second", limit)
		}
		assert.Contains(t, string(text), line+"\n")
	}
}

// The manual names the operations that take the headers of the booking flow.
func TestManualBookingFlow(t *testing.T) {
	list := regexp.MustCompile(`HotelList, HotelRates, (?:\w+, )*\w+ and \w+`)
	for _, file := range []string{"doc.go", "options.go", "hotelstaystest/doc.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		lists := list.FindAllString(strings.ReplaceAll(string(text), "\n// ", " "), -1)
		require.NotEmpty(t, lists, file)
		for name, op := range operations {
			for _, names := range lists {
				assert.Equal(t, op.bookingFlow, strings.Contains(" "+names, " "+string(name)), "%s: %s, in the flow or not: %s", file, names, name)
			}
		}
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
