// No page of the repository links to a file that is not there.

package hotelstays_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// linkCode is what a page shows as code, where brackets make no link.
	linkCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	// linkForm is [text](target), an image too, or the line that defines a [reference].
	linkForm = regexp.MustCompile(`\]\(\s*<?([^\s)>]+)|(?m)^\[[^]]+\]:\s*<?(\S+?)>?$`)
	// linkScheme begins a target that the network has.
	linkScheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
)

func TestLinksLeadSomewhere(t *testing.T) {
	seen := 0
	for _, page := range repositoryFiles(t, ".md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range linkForm.FindAllStringSubmatch(linkCode.ReplaceAllString(string(text), ""), -1) {
			target, _, _ := strings.Cut(m[1]+m[2], "#")
			if target == "" || linkScheme.MatchString(target) {
				continue
			}
			seen++
			file := filepath.Join(filepath.Dir(page), target)
			_, err := os.Stat(file)
			assert.True(t, err == nil && filepath.IsLocal(file), "%s links to %s, which the repository does not have", page, target)
		}
	}
	assert.Positive(t, seen)
}
