// Every file of Go, in every module of the repository, opens by saying what it is
// for, and no two say the same.

package hotelstays_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesSayWhatTheyAreFor(t *testing.T) {
	said := map[string]string{}
	for _, path := range repositoryFiles(t, ".go") {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		if ast.IsGenerated(file) {
			continue
		}
		sentence := new(doc.Package).Synopsis(opening(file))
		if assert.NotEmpty(t, sentence, "%s: nothing above the package clause says what it is for", path) {
			assert.Empty(t, said[sentence], "%s opens as another file does: %q", path, sentence)
			said[sentence] = path
		}
		isMain, isDoc := file.Name.Name == "main", strings.HasPrefix(file.Doc.Text(), "Package ")
		assert.True(t, file.Doc == nil || isMain || isDoc, "%s: its comment touches the package clause, so that it counts as the package's", path)
	}
	assert.NotEmpty(t, said)
}

// opening is the first comment above the package clause that is no directive.
func opening(file *ast.File) string {
	for _, comment := range file.Comments {
		if text := comment.Text(); text != "" && comment.Pos() < file.Package {
			return text
		}
	}
	return ""
}

// repositoryFiles are the files of the repository with an extension, testdata and
// hidden directories aside.
func repositoryFiles(t *testing.T, extension string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		hidden := len(path) > 1 && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (hidden || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == extension:
			files = append(files, path)
		}
		return nil
	}))
	return files
}
