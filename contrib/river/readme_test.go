package hotelstaysriver

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readme returns the README's blocks of a language.
func readme(t *testing.T, language string) (blocks []string) {
	t.Helper()
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, match := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(page, -1) {
		blocks = append(blocks, string(match[1]))
	}
	require.NotEmpty(t, blocks)
	return blocks
}

func TestTheREADMEIsTheExample(t *testing.T) {
	example, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	for _, block := range readme(t, "go") {
		indented := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(block, "\t\t$1")
		assert.Contains(t, string(example), indented)
	}
}
