// Command decodegen generates the code that decodes answers without encoding/json. It reads
// the structs with their json tags, and the tables of tables.go. Run it with
//
//	go generate ./internal/wire
//
// Its argument is the module's directory. A test fails if the files are not current.
package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
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
	root, err := rootPackage(fset, dir, packages)
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

// rootPackage returns the declarations of the root package. It leaves out the generated file and ignores type errors,
// because the generated file and package wire may no longer compile.
func rootPackage(fset *token.FileSet, dir string, packages types.Importer) (*types.Package, error) {
	sources, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range sources.GoFiles {
		if name == rootFile {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	// The check ignores type errors, because go vet shows them.
	config := types.Config{Importer: packages, IgnoreFuncBodies: true, Error: func(error) {}}
	root, _ := config.Check(module, fset, files, nil)
	return root, nil
}

// compiled returns an importer that loads package types and its imports from the go command's build cache.
func compiled(fset *token.FileSet, dir string) (types.Importer, error) {
	list := exec.CommandContext(context.Background(),
		"go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./types")
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
	open := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) } // opens only paths that go list printed
	return importer.ForCompiler(fset, "gc", open), nil
}
