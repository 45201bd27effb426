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

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// The program is built and searches the sandbox.
func TestREADMEProgram(t *testing.T) {
	t.Parallel()
	programs := fences(t, readme(t), "package main\n")
	require.Len(t, programs, 1)
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(source, []byte(programs[0]), 0o600))
	out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, "%s", out)

	srv := hotelstaystest.NewServer()
	defer srv.Close()
	cmd := exec.Command(binary, srv.CityName(0))
	cmd.Env = append(os.Environ(), "HOTELSTAYS_BASE_URL="+srv.URL, "HOTELSTAYS_APP_KEY="+srv.AppKey, "HOTELSTAYS_APP_SECRET="+srv.AppSecret)
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "Upper White Gate Suites 10 from 208.82 EUR\n")
}

// The recipes become functions, and testdata/readme runs them, one after another,
// against the sandbox.
func TestREADMERecipes(t *testing.T) {
	t.Parallel()
	_, section, ok := strings.Cut(readme(t), "\n## Recipes\n")
	require.True(t, ok)
	section, rest, ok := strings.Cut(section, "\n## ")
	require.True(t, ok)
	recipes := fences(t, section, "")
	require.Len(t, recipes, 5)
	tests := fences(t, rest, "func Test")
	require.Len(t, tests, 1)

	var code strings.Builder
	for i, recipe := range recipes {
		fmt.Fprintf(&code, "\nfunc recipe%d(ctx context.Context, client *hotelstays.Client) error {\n%s\nreturn nil\n}\n", i+1, recipe)
	}
	code.WriteString(tests[0])
	dir := t.TempDir()
	fixture, err := os.ReadFile("testdata/readme/recipes_test.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "recipes_test.go"), fixture, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "readme_test.go"), []byte(withImports(code.String())), 0o600))

	cmd := exec.Command("go", "test", "-count=1", "-v", filepath.Join(dir, "recipes_test.go"), filepath.Join(dir, "readme_test.go"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestRecipes")
	assert.Contains(t, string(out), "--- PASS: TestNoBookingIsLost")
}

// withImports puts a package clause and the imports that it uses before code.
func withImports(code string) string {
	header := "package readme\n\nimport (\n"
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
