// The README's program and recipes are compiled and run.

package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The program, the recipes as functions, and the test become one program beside
// testdata/readme, which runs them against the sandbox.
func TestREADME(t *testing.T) {
	t.Parallel()
	page := readme(t)
	programs := fences(t, page, "package main\n")
	require.Len(t, programs, 1)
	_, section, ok := strings.Cut(page, "\n## Recipes\n")
	require.True(t, ok)
	section, rest, ok := strings.Cut(section, "\n## ")
	require.True(t, ok)
	recipes := fences(t, section, "")
	require.Len(t, recipes, 6)
	tests := fences(t, rest, "func Test")
	require.Len(t, tests, 1)

	var code strings.Builder
	for i, recipe := range recipes {
		fmt.Fprintf(&code, "\nfunc recipe%d(ctx context.Context, client *hotelstays.Client) error {\n%s\nreturn nil\n}\n", i+1, recipe)
	}
	code.WriteString(tests[0])
	fixture, err := os.ReadFile("testdata/readme/recipes_test.go")
	require.NoError(t, err)
	dir := t.TempDir()
	args := []string{"test", "-count=1", "-v"}
	for _, file := range []struct{ name, code string }{
		{"main.go", programs[0]}, {"recipes_test.go", string(fixture)}, {"readme_test.go", withImports(code.String())},
	} {
		path := filepath.Join(dir, file.name)
		require.NoError(t, os.WriteFile(path, []byte(file.code), 0o600))
		args = append(args, path)
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "Upper White Gate Suites 10 from 208.82 EUR\n")
	for _, test := range []string{"TestProgram", "TestRecipes", "TestNoBookingIsLost"} {
		assert.Contains(t, string(out), "--- PASS: "+test)
	}
}

// withImports puts a package clause and the imports that it uses before code.
func withImports(code string) string {
	header := "package main\n\nimport (\n"
	for _, path := range []string{"context", "encoding/json", "errors", "fmt", "net/http", "testing",
		"github.com/hotelstays/hotelstays-go/hotelstaystest", "github.com/hotelstays/hotelstays-go/types"} {
		if regexp.MustCompile(`\b` + filepath.Base(path) + `\.`).MatchString(code) {
			header += fmt.Sprintf("\t%q\n", path)
		}
	}
	return header + "\thotelstays \"github.com/hotelstays/hotelstays-go\"\n)\n" + code
}

func readme(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	return string(page)
}

// fences are the pieces of Go that begin with a text.
func fences(t *testing.T, page, begin string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?s)\n```go\n(.*?)```").FindAllStringSubmatch(page, -1) {
		if strings.HasPrefix(m[1], begin) {
			found = append(found, m[1])
		}
	}
	return found
}
