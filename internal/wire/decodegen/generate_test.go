// Tests of the generator, and of the generated files.

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const moduleDir = "../../.."

func TestGeneratedFilesAreCurrent(t *testing.T) {
	packages, err := packages()
	require.NoError(t, err)
	root, err := rootPackage(fset, moduleDir, packages)
	require.NoError(t, err)
	files, err := generate(root, fset)
	require.NoError(t, err)
	require.Len(t, files, 2)
	for name, text := range files {
		current, err := os.ReadFile(filepath.Join(moduleDir, name))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(text, current), "%s does not match the structs; run go generate ./internal/wire", name)
	}
}

// The tests share the imported packages, because importing them takes long.
var (
	fset     = token.NewFileSet()
	packages = sync.OnceValues(func() (types.Importer, error) { return compiled(fset, moduleDir) })
)

// generated generates the files for declarations in the root package.
func generated(t *testing.T, declarations string) (map[string][]byte, error) {
	t.Helper()
	packages, err := packages()
	require.NoError(t, err)
	source := "package hotelstays\n" + declarations
	file, err := parser.ParseFile(fset, "structs.go", source, 0)
	require.NoError(t, err)
	config := types.Config{Importer: packages}
	root, err := config.Check(module, fset, []*ast.File{file}, nil)
	require.NoError(t, err)
	return generate(root, fset)
}

func TestFieldThatDecodegenCannotReadIsAnError(t *testing.T) {
	for _, tc := range []struct{ fields, problem string }{
		{"A uint8", "uint8 is not handled"},
		{"A any", "any is not handled"},
		{"A struct{ B int }", "without a name"},
		{"A [][]string", "AnyResponse.A: a list of []string is not handled"},
		{"A []*Inner", "AnyResponse.A: a list of *Inner is not handled"},
		{"A time.Time", "decodes itself by UnmarshalJSON"},
		{"A []*Own", "decodes itself by UnmarshalText"},
		{"A ownStruct", "decodes itself by UnmarshalJSON"},
		{"A int `json:\",string\"`", "option string"},
		{"Inner", "is embedded"},
		{"A Tree", "contains itself"},
		{"A time.Location", "is of a package that is not handled"},
	} {
		_, err := generated(t, `import "time"
			type Own string
			func (*Own) UnmarshalText([]byte) error { return nil }
			type ownStruct struct{ C int }
			func (*ownStruct) UnmarshalJSON([]byte) error { return nil }
			type Inner struct { In int `+"`json:\"inner\"`"+` }
			type inner struct { In int }
			type Tree struct { Left *Tree }
			var _ time.Time
			type AnyResponse struct { `+tc.fields+` }`)
		if assert.Error(t, err, tc.fields) {
			assert.ErrorContains(t, err, tc.problem, tc.fields)
			assert.ErrorContains(t, err, "structs.go:", "the position")
		}
	}
}
