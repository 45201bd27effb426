// The table of operations in the package documentation agrees with the code.

package hotelstays

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTableOfOperationsHasEachTimeLimitAndRateLimit(t *testing.T) {
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
