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

var indentation = regexp.MustCompile(`(?m)^[ \t]+`)

func unindented(text string) string { return indentation.ReplaceAllString(text, "") }

// codeAndPages returns all Go files without their indentation, and the Markdown pages by path.
func codeAndPages(t *testing.T) (code string, pages map[string]string) {
	var all strings.Builder
	pages = map[string]string{}
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
			all.WriteString(unindented(string(text)))
		} else {
			pages[path] = string(text)
		}
		return err
	}))
	return all.String(), pages
}

// Each Go block of a page must also be in a compiled file: here, or in an example. Indentation is
// ignored.
func TestBlocksOfPagesAreCompiled(t *testing.T) {
	code, pages := codeAndPages(t)
	fence := regexp.MustCompile(`(?ms)^[ \t]*` + "```go\n(.*?)^[ \t]*```")
	require.Contains(t, pages["../../README.md"], "\n```go\n")
	for path, page := range pages {
		for _, block := range fence.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(code, unindented(block[1])) {
				t.Errorf("%s: no Go file has this block; write the same there, so that it is compiled:\n%s", path, block[1])
			}
		}
	}
}

// A page may also name the first words of several tests, for go test -run.
func TestPagesNameTestsThatExist(t *testing.T) {
	code, pages := codeAndPages(t)
	code = strings.Join(regexp.MustCompile(`(?m)^func Test\w+`).FindAllString(code, -1), "\n")
	for path, page := range pages {
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(page, -1) {
			if !strings.Contains(code, "func "+name) {
				t.Errorf("%s names %s, which no file has", path, name)
			}
		}
	}
}
