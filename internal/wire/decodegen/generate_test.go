// Tests of the generator, and of the generated files.

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/internal/wire"
)

const moduleDir = "../../.."

func TestGeneratedFilesAreCurrent(t *testing.T) {
	packages, err := packages()
	require.NoError(t, err)
	root, err := packages.Import(module)
	require.NoError(t, err)
	files, err := generate(root, fset)
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.NoError(t, compare(moduleDir, files))

	dir := t.TempDir()
	assert.ErrorContains(t, compare(dir, files), "go generate", "there are no files")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(wireFile)), 0o755))
	require.NoError(t, write(dir, files))
	require.NoError(t, compare(dir, files))
	for name, text := range files {
		stale := append([]byte("\n"), text...)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), stale, 0o644))
		assert.ErrorContains(t, compare(dir, files), name)
		require.NoError(t, write(dir, files))
	}
}

// The tests share the list of packages, which takes a while.
var (
	fset     = token.NewFileSet()
	packages = sync.OnceValues(func() (types.Importer, error) { return compiled(fset, moduleDir) })
)

// generated generates from declarations in the root package.
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

func TestRefusedStructs(t *testing.T) {
	assert.Equal(t, maxFields, reflect.TypeFor[wire.Seen]().Bits())
	var many strings.Builder
	for i := range maxFields + 1 {
		fmt.Fprintf(&many, "F%d int; ", i)
	}
	for _, tc := range []struct{ fields, problem string }{
		{"A uint8", "uint8 is not handled"},
		{"A float32", "float32 is not handled"},
		{"A []byte", "is not handled"},
		{"A any", "any is not handled"},
		{"A [2]int", "[2]int is not handled"},
		{"A func()", "func() is not handled"},
		{"A struct{ B int }", "without a name"},
		{"A []struct{ B int }", "without a name"},
		{"A [][]string", "AnyResponse.A: a list of []string is not handled"},
		{"A []map[string]string", "AnyResponse.A: a list of map[string]string is not handled"},
		{"A []*Inner", "AnyResponse.A: a list of *Inner is not handled"},
		{"A []Box[int]", "AnyResponse.A: Box[int] has type parameters"},
		{"A Box[int]", "AnyResponse.A: Box[int] has type parameters"},
		{"A []time.Month; B []Month", "AnyResponse.B: lists of Month and of time.Month would share a name"},
		{"A map[int]string", "only string is handled"},
		{"A map[Key]string", "only string is handled"},
		{"A time.Time", "decodes itself by UnmarshalJSON"},
		{"A []*Own", "decodes itself by UnmarshalText"},
		{"A ownStruct", "decodes itself by UnmarshalJSON"},
		{"A int `json:\",string\"`", "option string"},
		{"A int `json:\"a b\"`", "has a key of other characters"},
		{"A int `json:\"-,\"`", "has a key of other characters"},
		{"A int `json:\"é\"`", "has a key of other characters"},
		{"A int `json:\"x\"`; B int `json:\"X\"`", "has the key or the name of another field"},
		{"Inner", "is embedded"},
		{"*Inner", "is embedded"},
		{"inner `json:\"x\"`", "is embedded"},
		{"A Tree", "contains itself"},
		{"A []Tree", "contains itself"},
		{"A url.Userinfo", "is of a package that is not handled"},
		{many.String(), "has more than 64 fields"},
	} {
		_, err := generated(t, `import ("net/url"; "time")
			type Key string
			type Month int
			type Box[T any] struct { Of T }
			type Own string
			func (*Own) UnmarshalText([]byte) error { return nil }
			type ownStruct struct{ C int }
			func (*ownStruct) UnmarshalJSON([]byte) error { return nil }
			type Inner struct { In int `+"`json:\"inner\"`"+` }
			type inner struct { In int }
			type Tree struct { Left *Tree }
			var _ time.Time; var _ url.URL
			type AnyResponse struct { `+tc.fields+` }`)
		if assert.Error(t, err, tc.fields) {
			assert.ErrorContains(t, err, tc.problem, tc.fields)
			assert.ErrorContains(t, err, "structs.go:", "the position")
		}
	}
}

func TestGenerate(t *testing.T) {
	files, err := generated(t, `import "encoding/json"
		type Other struct { A uint8 }
		type lossyResponse interface{ loses() }
		type Inner struct { B string; C []json.RawMessage `+"`json:\"c,omitempty\"`"+` }
		type EmptyResponse struct{}
		type Amount = json.Number
		type Open struct { Raw json.RawMessage }
		func (*Open) UnmarshalJSON([]byte) error { return nil }
		type AnyResponse struct {
			E Amount
			F []Inner `+"`json:\"f\" whole:\"true\"`"+`
			A *int `+"`json:\"a\"`"+`
			D Inner
			G Open
			hidden uint8
			Left chan int `+"`json:\"-\"`"+`
		}`)
	require.NoError(t, err)
	text := string(files["zz_decode.go"])
	for _, want := range []string{
		"// Code generated by decodegen. DO NOT EDIT.\n", "//go:build !hotelstays_stdjson\n",
		"func (v *AnyResponse) decode(l *wire.Lexer) {", `case "B":`, "v.B = l.String()", "func readInner(l *wire.Lexer, v *Inner) {",
		"v.C = rawMessageList.Read(l, func(l *wire.Lexer, v *json.RawMessage) { *v = l.Raw() })",
		"v.A = wire.Pointer(l, func(l *wire.Lexer, v *int) { *v = l.Int() })", "readInner(l, &v.D)",
		"v.F = innerList.Read(l, readInner)", `l.Unknown("f")`, "l.Unknown()", // the tag of a list
		"v.E = Amount(l.Number())", "v.G = Open{Raw: l.Raw()}",
		"func (v *EmptyResponse) decode(l *wire.Lexer) {\n\tfor more :=",
	} {
		assert.Contains(t, text, want)
	}
	for _, not := range []string{"Other", "lossy", "hidden", "Left", "Meta"} {
		assert.NotContains(t, text, not)
	}
}
