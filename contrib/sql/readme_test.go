package hotelstayssql

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestREADMEShowsTheExamples(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	examples, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		assert.Contains(t, string(examples), regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(string(block[1]), "\t\t$1"))
	}
}
