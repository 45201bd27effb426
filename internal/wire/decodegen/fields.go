// The fields that encoding/json would decode. A field that the generated code would decode differently is an error.

package main

import (
	"cmp"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

type field struct {
	*types.Var
	key       string // the name of the field in JSON
	essential bool
	whole     bool
}

func (g *generator) fieldsOf(named *types.Named) (all []field, err error) {
	shape, isStruct := named.Underlying().(*types.Struct)
	if !isStruct {
		return nil, g.errorf(named.Obj(), "%s is not a struct", named.Obj().Name())
	}
	name := named.Obj().Name()
	for _, listed := range slices.Concat(essential[name], whole[name]) {
		if own, _, _ := types.LookupFieldOrMethod(named, true, named.Obj().Pkg(), listed); own == nil {
			return nil, g.errorf(named.Obj(), "%s.%s is in tables.go, but is not a field", name, listed)
		}
	}
	for i := range shape.NumFields() {
		f, tags := shape.Field(i), reflect.StructTag(shape.Tag(i))
		tag := tags.Get("json")
		key, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
			continue
		case f.Embedded():
			return nil, g.errorf(f, "%s.%s is embedded: write its fields into the struct", name, f.Name())
		case !f.Exported():
			continue
		case strings.Contains(options, "string"):
			return nil, g.errorf(f, "%s.%s has the option string, which is not handled", name, f.Name())
		}
		all = append(all, field{f, cmp.Or(key, f.Name()),
			slices.Contains(essential[name], f.Name()), slices.Contains(whole[name], f.Name())})
	}
	return all, nil
}

// basicOf has the methods of wire.Lexer as keys. The value is the type that the method returns.
var basicOf = map[string]string{
	"String": "string", "Number": "string", "Bool": "bool", "Int": "int", "Int64": "int64", "Float64": "float64",
}

// scalar returns the method of wire.Lexer that reads a type, or "" for a composite type. A type with its own
// UnmarshalJSON is an error.
func scalar(t types.Type) (string, error) {
	switch types.Unalias(t).String() {
	case "encoding/json.Number":
		return "Number", nil
	case "encoding/json.RawMessage", "encoding/json/jsontext.Value": // since Go 1.27 json.RawMessage is an alias of jsontext.Value
		return "Raw", nil
	case sharedTypes + ".Secret":
		return "Secret", nil
	case sharedTypes + ".OrderStatus":
		return "OrderStatus", nil
	}
	for _, name := range []string{"UnmarshalJSON", "UnmarshalJSONFrom", "UnmarshalText"} {
		own, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		switch {
		case own != nil && name == "UnmarshalJSON" && onlyRaw(t):
			return "Raw", nil
		case own != nil:
			return "", fmt.Errorf("%s decodes itself by %s, which is not handled", t, name)
		}
	}
	basic, isBasic := t.Underlying().(*types.Basic)
	if !isBasic {
		return "", nil
	}
	for method, name := range basicOf {
		if name == basic.Name() && method != "Number" {
			return method, nil
		}
	}
	return "", fmt.Errorf("%s is not handled: use string, bool, int, int64, float64 or json.Number", t)
}

// onlyRaw reports whether t is a struct whose only field is Raw, the JSON of the value.
func onlyRaw(t types.Type) bool {
	shape, isStruct := t.Underlying().(*types.Struct)
	return isStruct && shape.NumFields() == 1 && shape.Field(0).Name() == "Raw"
}
