// Dependencies between the files of the root, and on other modules.

package conformance_test

import (
	"go/ast"
	"go/token"
	"go/types"
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

// mapped returns the paths in the map of CONTRIBUTING.md, in the order of the page.
func mapped(t *testing.T) (paths []string) {
	t.Helper()
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| [^|`]+ \\| (`.*?`) \\|").FindAllStringSubmatch(string(page), -1)
	for _, row := range rows {
		for path := range strings.SplitSeq(row[1], ", ") {
			paths = append(paths, strings.Trim(path, "`/"))
		}
	}
	assert.LessOrEqual(t, len(rows), 30, "rows of the map")
	return paths
}

// Each folder is on the map, and each path on the map exists.
func TestMapOfContributingHasEveryFolder(t *testing.T) {
	paths := mapped(t)
	for _, path := range paths {
		_, err := os.Stat(filepath.Join("../..", path))
		assert.NoError(t, err)
	}
	for _, pattern := range []string{"*", "internal/*", "cmd/*", "contrib/*", "hotelstaystest/*"} {
		folders, err := filepath.Glob(filepath.Join("../..", pattern))
		require.NoError(t, err)
		for _, folder := range folders {
			info, err := os.Stat(folder)
			require.NoError(t, err)
			name := strings.TrimPrefix(filepath.ToSlash(folder), "../../")
			inside := slices.ContainsFunc(paths, func(path string) bool { return strings.HasPrefix(path, name+"/") })
			if info.IsDir() && name != ".git" && !inside {
				assert.Contains(t, paths, name, "the map of CONTRIBUTING.md lacks it")
			}
		}
	}
}

// CONTRIBUTING.md lists the files of the root from the highest layer to the lowest layer. A file must not use a file
// that stands before it in this list.
func TestFilesOfTheRootUseOnlyFilesOfLowerLayers(t *testing.T) {
	place := map[string]int{}
	for _, path := range mapped(t) {
		place[path] = len(place)
	}

	fset := token.NewFileSet()
	fileOf := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	files := slices.DeleteFunc(sources(t, fset, "../../*.go"), func(f *ast.File) bool {
		return strings.HasSuffix(fileOf(f.Pos()), "_test.go")
	})
	for _, file := range files {
		assert.Contains(t, place, fileOf(file.Pos()), "the map of CONTRIBUTING.md lacks it")
	}
	config := types.Config{Importer: compiled(fset)}
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

// The other modules in go.mod are only for tests.
func TestUsersOfThisModuleLinkOnlyUUIDAndDecimal(t *testing.T) {
	modules, err := linked("-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}")
	require.NoError(t, err)
	slices.Sort(modules)
	assert.Equal(t, []string{
		"github.com/google/uuid",
		"github.com/shopspring/decimal",
	}, slices.Compact(modules))
}

// linked returns what go list prints for packages and all their dependencies. By default the package is the root.
func linked(args ...string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	return strings.Fields(string(out)), err
}
