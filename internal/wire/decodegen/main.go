// Command decodegen writes the functions that read answers without encoding/json,
// from the structs and their json tags, which stay the only source. Run it with
//
//	go generate ./internal/wire
//
// It takes the module's directory. With -check it writes nothing, and fails when
// the files are not what it would write.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
)

// module is the path of the root package, which holds the responses.
const module = "github.com/hotelstays/hotelstays-go"

func main() {
	check := flag.Bool("check", false, "compare the files with what would be written")
	flag.Parse()
	if err := run(flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, "decodegen:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	root, fset, err := load(dir)
	if err != nil {
		return err
	}
	files, err := generate(root, fset)
	if err != nil {
		return err
	}
	if check {
		return compare(dir, files)
	}
	return write(dir, files)
}

func write(dir string, files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func compare(dir string, files map[string][]byte) error {
	for name, text := range files {
		if old, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(old, text) {
			return fmt.Errorf("%s is not what the structs say; run go generate ./internal/wire", name)
		}
	}
	return nil
}

// load reads the root package from its source, without the generated files: they
// may be of structs that have changed since.
func load(dir string) (*types.Package, *token.FileSet, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	build.Default.CgoEnabled = false // its packages cannot be read from source alone
	build.Default.BuildTags = []string{"hotelstays_stdjson"}
	fset := token.NewFileSet()
	source := importer.ForCompiler(fset, "source", nil).(types.ImporterFrom)
	root, err := source.ImportFrom(module, dir, 0)
	return root, fset, err
}
