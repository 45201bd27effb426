// Command decodegen generates the code that decodes answers without encoding/json, from
// the structs and their json tags. Run it with
//
//	go generate ./internal/wire
//
// Its argument is the module's directory. A test fails if the files are not current.
package main

import (
	"context"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is the path of the root package, which holds the responses.
const module = "github.com/hotelstays/hotelstays-go"

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "decodegen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	fset := token.NewFileSet()
	packages, err := compiled(fset, dir)
	if err != nil {
		return err
	}
	root, err := packages.Import(module)
	if err != nil {
		return err
	}
	files, err := generate(root, fset)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compiled imports the root package and its dependencies from the go command's build
// cache. The build tag leaves out the generated files, which may no longer compile.
func compiled(fset *token.FileSet, dir string) (types.Importer, error) {
	list := exec.CommandContext(context.Background(),
		"go", "list", "-export", "-deps", "-tags", "hotelstays_stdjson", "-f", "{{.ImportPath}} {{.Export}}", ".")
	list.Dir, list.Stderr = dir, os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(text)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
	return importer.ForCompiler(fset, "gc", open), nil
}
