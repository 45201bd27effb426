// Api keeps the public API as text, with one line for each exported name, so that a diff shows every change of the API.
// It compares api/next.txt with the code, or writes the file with -w. It fails if
//
//   - a line of the last release (api/v*.txt) is gone, and CHANGELOG.md does not announce the change;
//   - a package exceeds its limit of names, option types or lines;
//   - an exported field or result has an unexported type;
//   - two packages that are used together have types with the same name.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	rootModule = "github.com/hotelstays/hotelstays-go"
	next       = "api/next.txt"
)

// limits has the maximum number of exported names, option types, and lines in api/next.txt of some packages. The
// constant, the request and the response of an operation are not counted. 0 means no limit.
var limits = []struct {
	pkg                       string
	names, optionTypes, lines int
}{
	{"hotelstays", 176, 3, 0},
	{"types", 150, 0, 0},
	{"hotelstaystest", 72, 0, 0},
	{"durable", 53, 0, 133},
}

// outside lists the packages that a minor version may change. README.md lists them, too.
var outside = []string{"hotelstaystest/bookingstest", "hotelstaystest/chaostest", "contrib/hotelstayssql/journaltest"}

// together lists the packages that users import into one file, so the names of their types must differ.
var together = []string{"hotelstays", "types", "durable", "hotelstaystest"}

func main() {
	write := flag.Bool("w", false, "write "+next)
	flag.Parse()
	err := os.Chdir("..") // go tool starts this program in the folder tools, but the paths begin one folder above
	if err == nil {
		err = run(*write)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(write bool) error {
	contrib, err := filepath.Glob("contrib/*/go.mod")
	if err != nil {
		return err
	}
	public := map[string]*types.Package{}
	for _, gomod := range append([]string{"go.mod"}, contrib...) {
		if err := load(filepath.Dir(gomod), public); err != nil {
			return err
		}
	}
	var lines []string
	var hidden []error
	for name, pkg := range public {
		w := surface(name, pkg)
		lines, hidden = append(lines, w.lines...), append(hidden, w.hidden...)
	}
	slices.Sort(lines)
	if write {
		if err := os.WriteFile(next, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			return err
		}
	}
	if err := errors.Join(append(hidden, count(public, lines), sameNames(public), listOutside("README.md", write))...); err != nil {
		return err
	}
	return compare(lines)
}

// load adds the public packages of the module in dir to the map public. The keys are short names such as "types".
func load(dir string, public map[string]*types.Package) error {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes, Dir: dir}, "./...")
	if err != nil {
		return err
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return p.Errors[0]
		}
		if p.Name == "main" || strings.Contains(p.PkgPath+"/", "/internal/") {
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, rootModule), "/")
		public[cmp.Or(name, p.Name)] = p.Types
	}
	return nil
}

var exceptions = regexp.MustCompile("(?s)except in `.*?`\\.")

// listOutside returns an error unless the page lists the packages that the variable outside names. If write is true,
// listOutside writes the list into the page.
func listOutside(page string, write bool) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	last := len(outside) - 1
	list := "except in `" + strings.Join(outside[:last], "`, `") + "` and `" + outside[last] + "`."
	switch found := exceptions.FindString(string(text)); {
	case strings.Join(strings.Fields(found), " ") == list: // the page may have a line break instead of any space
		return nil
	case found == "" || !write:
		return fmt.Errorf("%s does not have the text %q: run .ci/api -w", page, list)
	}
	return os.WriteFile(page, exceptions.ReplaceAll(text, []byte(list)), 0o644)
}

// sameNames returns an error for two types with the same name in packages that are used together. An alias of the same
// type is allowed.
func sameNames(public map[string]*types.Package) (err error) {
	first := map[string]types.Object{}
	for _, name := range together {
		scope := public[name].Scope()
		for _, name := range scope.Names() {
			named, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || !named.Exported() {
				continue
			}
			if other := first[name]; other != nil && types.Unalias(other.Type()).String() != types.Unalias(named.Type()).String() {
				err = errors.Join(err, fmt.Errorf("two types named %s, in packages %s and %s: rename one of them",
					name, other.Pkg().Name(), named.Pkg().Name()))
			}
			first[name] = named
		}
	}
	return err
}

// count prints how many exported names the packages in limits have. If a package exceeds its limit, count returns an
// error.
func count(public map[string]*types.Package, lines []string) (err error) {
	for _, limit := range limits {
		names, optionTypes := 0, map[string]bool{}
		scope := public[limit.pkg].Scope()
		for _, name := range scope.Names() {
			if !token.IsExported(name) || isOfOperation(scope, name) {
				continue
			}
			names++
			if f, ok := scope.Lookup(name).(*types.Func); ok && strings.HasPrefix(name, "With") {
				optionTypes[f.Signature().Results().At(0).Type().String()] = true
			}
		}
		text := 0
		for _, line := range lines {
			if limit.lines > 0 && strings.HasPrefix(line, limit.pkg+" ") {
				text++
			}
		}
		fmt.Printf("%s: %d exported names (limit %d), %d option types (limit %d)", limit.pkg, names, limit.names, len(optionTypes), limit.optionTypes)
		if limit.lines > 0 {
			fmt.Printf(", %d lines (limit %d)", text, limit.lines)
		}
		fmt.Println()
		if names > limit.names || len(optionTypes) > limit.optionTypes || text > limit.lines {
			err = fmt.Errorf("package %s exceeds its limit of names, option types or lines: remove a name, or add a field or a method instead", limit.pkg)
		}
	}
	return err
}

// isOfOperation reports whether a name is the constant, the request or the response of an operation.
func isOfOperation(scope *types.Scope, name string) bool {
	op := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(name, "Request"), "Response"), "Op")
	return op != name && scope.Lookup("Op"+op) != nil && scope.Lookup(op+"Request") != nil
}

func compare(lines []string) error {
	kept, err := read(next)
	if err != nil {
		return fmt.Errorf("%w: run .ci/api -w", err)
	}
	added, removed := without(lines, kept), without(kept, lines)
	if len(added)+len(removed) > 0 {
		return fmt.Errorf("-%s\n+%s\n%s does not match the code: run .ci/api -w, and commit its diff",
			strings.Join(removed, "\n-"), strings.Join(added, "\n+"), next)
	}
	releases, err := filepath.Glob("api/v*.txt") // at most one file matches, because a release removes the file of the release before
	if err != nil || len(releases) == 0 {
		fmt.Println("no release yet")
		return err
	}
	released, err := read(releases[0])
	if err != nil {
		return err
	}
	gone := slices.DeleteFunc(without(released, lines), func(line string) bool {
		pkg, _, _ := strings.Cut(line, " ")
		return slices.Contains(outside, pkg)
	})
	if len(gone) == 0 {
		fmt.Println("compatible with", releases[0])
		return nil
	}
	fmt.Printf("gone or changed since %s:\n%s\n", releases[0], strings.Join(gone, "\n"))
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	if !announces(string(changelog)) {
		return errors.New("keep the names that callers use, or announce the change in CHANGELOG.md, in the section '### Renamed or removed' of Unreleased")
	}
	fmt.Println("CHANGELOG.md announces it")
	return nil
}

// announces reports whether the section Unreleased has a list of the renamed and removed names.
func announces(changelog string) bool {
	_, unreleased, _ := strings.Cut(changelog, "\n## [Unreleased]\n")
	unreleased, _, _ = strings.Cut(unreleased, "\n## ")
	return strings.Contains(unreleased, "\n### Renamed or removed\n")
}

func read(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), err
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}
