// Every exported function and method is in an example, and every example has an output.

package conformance_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// optionTypes has the types of options. Their functions need no example.
var optionTypes = []string{"Option", "CallOption", "SharedOption"}

// plumbing has the methods that the standard library calls.
var plumbing = []string{"Error", "Unwrap", "Is", "String", "GoString", "Format", "LogValue", "MarshalJSON",
	"UnmarshalJSON", "MarshalText", "UnmarshalText",
	"ServeHTTP", "Read", "Seek", "Close"}

func TestEveryExportedFunctionIsInAnExample(t *testing.T) {
	for dir, atLeast := range map[string]int{"../..": 30, "../../types": 7} {
		called := map[string]bool{}
		for _, ex := range doc.Examples(sources(t, token.NewFileSet(), filepath.Join(dir, "*_test.go"))...) {
			ast.Inspect(ex.Code, func(n ast.Node) bool {
				if name, ok := n.(*ast.SelectorExpr); ok {
					called[name.Sel.Name] = true
				}
				return true
			})
		}
		pkg := documented(t, dir)
		funcs := pkg.Funcs
		for _, typ := range pkg.Types {
			if !slices.Contains(optionTypes, typ.Name) {
				funcs = slices.Concat(funcs, typ.Funcs, typ.Methods)
			}
		}
		for _, f := range funcs {
			assert.True(t, len(f.Examples) > 0 || called[f.Name] || slices.Contains(plumbing, f.Name), "%s.%s", pkg.Name, f.Name)
		}
		assert.GreaterOrEqual(t, len(funcs), atLeast, "%s: functions and methods", pkg.Name)
	}
}

// go test compiles an example without an output, but does not run it.
func TestEveryExampleHasAnOutput(t *testing.T) {
	for _, dir := range []string{"../..", "../../types", "../../hotelstaystest"} {
		examples := doc.Examples(sources(t, token.NewFileSet(), filepath.Join(dir, "*_test.go"))...)
		require.NotEmpty(t, examples, dir)
		for _, ex := range examples {
			if ex.Name == "Config_inMemory" {
				continue // shows a test function, which needs a *testing.T
			}
			assert.NotEmpty(t, ex.Output, "%s: Example%s", dir, ex.Name)
		}
	}
}

func documented(t *testing.T, dir string) *doc.Package {
	t.Helper()
	fset := token.NewFileSet()
	pkg, err := doc.NewFromFiles(fset, sources(t, fset, filepath.Join(dir, "*.go")), "example.com/"+dir)
	require.NoError(t, err)
	return pkg
}

func sources(t *testing.T, fset *token.FileSet, pattern string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	files := make([]*ast.File, 0, len(names))
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}
