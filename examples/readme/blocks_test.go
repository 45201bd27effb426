package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each Go block of a page stands in a file that is compiled and vetted: here, or in an example.
// Indentation does not count.
func TestBlocksOfPagesAreCompiled(t *testing.T) {
	var code strings.Builder
	pages := map[string]string{}
	unindented := func(text []byte) string {
		return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(string(text), "")
	}
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" && filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if filepath.Ext(path) == ".go" {
			code.WriteString(unindented(text))
		} else {
			pages[path] = string(text)
		}
		return err
	}))
	fence := regexp.MustCompile(`(?ms)^[ \t]*` + "```go\n(.*?)^[ \t]*```")
	require.Contains(t, pages["../../README.md"], "\n```go\n")
	for path, page := range pages {
		for _, block := range fence.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(code.String(), unindented([]byte(block[1]))) {
				t.Errorf("%s: no Go file has this block; write the same there, so that it is compiled:\n%s", path, block[1])
			}
		}
	}
}
