package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestSurfaceListsEveryExportedName(t *testing.T) {
	const source = `package p
		const Answer, hidden = 6 * 7, 1
		var Default func(name string) (n int, err error)
		func Map[K comparable, V any](m map[K]V, more ...func(k K) V) V { panic(m) }
		type Alias = T
		type T struct {
			F, f int ` + "`json:\"f\"`" + `
			base
			Store
			*E
		}
		type base struct{ Promoted func() }
		func (base) M() {}
		func (*T) P(context string) {}
		func (T) unexported() {}
		type E struct{}
		type Store interface { Load(key string) []byte; Drop() }
		type Option interface { Name() string; set() }
		type Number interface{ ~int | ~int64 }
		type Bad struct { Field []*base }
		func (Bad) Result() (base, error) { panic(0) }`
	want := []string{
		"p const Answer untyped int = 42",
		"p var Default func(string) (int, error)",
		"p func Map[K comparable, V any](map[K]V, ...func(K) V) V",
		"p type Alias = T",
		"p type T struct",
		"p field T.F int `json:\"f\"`",
		"p field T.Promoted func()",
		"p field T embeds Store",
		"p field T embeds *E",
		"p method (*T) P(string)",
		"p method (T) M()",
		"p method (T) Load(string) []byte",
		"p method (T) Drop()",
		"p type E struct (comparable)",
		"p type Store interface { Drop(); Load(string) []byte }",
		"p type Option interface, closed",
		"p method (Option) Name() string",
		"p type Number interface{~int | ~int64}",
		"p type Bad struct",
		"p field Bad.Field []*base",
		"p method (Bad) Result() (base, error)",
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check("p", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := surface("p", pkg)
	if hidden := fmt.Sprint(w.hidden); hidden != "[p field Bad.Field has the unexported type base p a result of Bad.Result has the unexported type base]" {
		t.Error(hidden)
	}
	got := w.lines
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTwoTypesWithTheSameNameAreRefused(t *testing.T) {
	public := map[string]*types.Package{}
	for _, name := range together {
		public[name] = types.NewPackage(name, name)
	}
	declare := func(pkg, name string, of types.Type) types.Type {
		obj := types.NewTypeName(0, public[pkg], name, of)
		public[pkg].Scope().Insert(obj)
		if of == nil {
			types.NewNamed(obj, types.Typ[types.Int], nil)
		}
		return obj.Type()
	}
	declare("hotelstays", "Shared", declare("types", "Shared", nil))
	declare("hotelstays", "Client", nil)
	if err := sameNames(public); err != nil {
		t.Error(err)
	}
	declare("durable", "Client", nil)
	if err := sameNames(public); err == nil || !strings.Contains(err.Error(), "two types named Client") {
		t.Error(err)
	}
}

func TestPageMustListEveryPackageThatAMinorVersionMayChange(t *testing.T) {
	t.Chdir(t.TempDir())
	const before = "Nothing changes, except in `a`,\n`b` and `c`. The rest `stays`;\n"
	if err := os.WriteFile("page", []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	if listOutside("page", false) == nil {
		t.Error("the page lists other packages, and no error was returned")
	}
	if err := errors.Join(listOutside("page", true), listOutside("page", false)); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile("page"); !strings.HasSuffix(string(text), "journaltest`. The rest `stays`;\n") {
		t.Errorf("%s", text)
	}
}

func TestCompareRequiresThatTheChangelogAnnouncesABreakingChange(t *testing.T) {
	for name, test := range map[string]struct {
		next, released, changelog string
		want                      string // part of the error's text
	}{
		"the API is unchanged":        {next: "a\nb\n"},
		"a name is new":               {next: "a\n", want: "+b\n"},
		"a name is gone":              {next: "a\nb\nc\n", want: "-c\n"},
		"compatible with the release": {next: "a\nb\n", released: "a\n"},
		"a change breaks callers":     {next: "a\nb\n", released: "a\nc\n", want: "CHANGELOG.md"},
		"the changelog announces a breaking change": {next: "a\nb\n", released: "a\nc\n",
			changelog: "\n## [Unreleased]\n\n### Renamed or removed\n"},
		"a package that a minor version may change loses a name": {next: "a\nb\n", released: "a\n" + outside[0] + " func F()\n"},
		"only an older release announces the change": {next: "a\nb\n", released: "a\nc\n",
			changelog: "\n## [Unreleased]\n\n## [1.0.0]\n\n### Renamed or removed\n", want: "CHANGELOG.md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			files := map[string]string{next: test.next, "CHANGELOG.md": test.changelog}
			if test.released != "" {
				files["api/v1.0.0.txt"] = test.released
			}
			if err := os.Mkdir("api", 0o755); err != nil {
				t.Fatal(err)
			}
			for path, text := range files {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := compare([]string{"a", "b"})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
