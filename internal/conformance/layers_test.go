// What uses what: the files of the root among themselves, and the modules that it links.

package conformance_test

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// CONTRIBUTING.md lists the files of the root from the top down.
func TestFilesUseOnlyFilesBelow(t *testing.T) {
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	place := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z_]+\\.go`.*?) \\|").FindAllStringSubmatch(string(page), -1) {
		for file := range strings.SplitSeq(row[1], ", ") {
			place[strings.Trim(file, "`")] = len(place)
		}
	}

	fset := token.NewFileSet()
	fileOf := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	files := slices.DeleteFunc(sources(t, fset, "../../*.go"), func(f *ast.File) bool {
		return strings.HasSuffix(fileOf(f.Pos()), "_test.go")
	})
	for _, file := range files {
		assert.Contains(t, place, fileOf(file.Pos()), "CONTRIBUTING.md does not place it")
	}
	config := types.Config{Importer: exported(t, fset, ".")}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := config.Check("root", fset, files, info)
	require.NoError(t, err)

	found := map[string]bool{}
	for name, object := range info.Uses {
		if user, used := fileOf(name.Pos()), fileOf(object.Pos()); object.Pkg() == pkg && place[user] > place[used] {
			found[user+" uses "+object.Name()+" of "+used] = true
		}
	}
	assert.Empty(t, slices.Sorted(maps.Keys(found)))
}

// Who uses the SDK links these modules. Others in go.mod are of tests.
func TestModulesThatUsersLink(t *testing.T) {
	modules := linked(t, "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}")
	slices.Sort(modules)
	assert.Equal(t, []string{
		"github.com/google/uuid",
		"github.com/hashicorp/go-cleanhttp", // of go-retryablehttp
		"github.com/hashicorp/go-retryablehttp",
		"github.com/shopspring/decimal",
	}, slices.Compact(modules))
}

// The zero value of a word or number is not set: else rows and logs would show nothing, and a forgotten field
// would mean something. The service's own values are as they are, and a call without a priority has the default.
func TestNoConstantIsTheZeroValue(t *testing.T) {
	const module = "github.com/hotelstays/hotelstays-go"
	compiled := exported(t, token.NewFileSet(), "./...")
	var found []string
	for _, path := range linked(t, "-f", "{{.ImportPath}}", "./...") {
		if !strings.HasPrefix(path, module) || strings.Contains(path, "/internal/") {
			continue
		}
		pkg, err := compiled.Import(path)
		require.NoError(t, err)
		for _, name := range pkg.Scope().Names() {
			value, ok := pkg.Scope().Lookup(name).(*types.Const)
			if !ok || !value.Exported() {
				continue
			}
			if kind, ok := value.Type().(*types.Named); !ok || kind.Obj().Pkg() != pkg {
				continue
			}
			if text := value.Val().ExactString(); text == "0" || text == `""` {
				found = append(found, strings.TrimPrefix(path, module+"/")+"."+name)
			}
		}
	}
	assert.ElementsMatch(t, []string{"types.DestinationUnknown", "types.OrderUnknown", module + ".PriorityDefault"}, found)
}

// exported finds the packages that pattern matches, and all that they link, as the compiler has left them.
func exported(t *testing.T, fset *token.FileSet, pattern string) types.Importer {
	compiled := map[string]string{}
	for _, line := range linked(t, "-export", "-f", "{{.ImportPath}}={{.Export}}", pattern) {
		path, file, _ := strings.Cut(line, "=")
		compiled[path] = file
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
}

// linked is what go list prints of packages, or of the root, and of all that they link.
func linked(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}
