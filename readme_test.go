// The README's programs are compiled.

package hotelstays_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestREADMECompiles(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	programs := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllSubmatch(page, -1)
	require.NotEmpty(t, programs)
	for _, program := range programs {
		dir := t.TempDir()
		file := filepath.Join(dir, "main.go")
		require.NoError(t, os.WriteFile(file, program[1], 0o600))
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "program"), file).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
