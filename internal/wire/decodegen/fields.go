// The fields that encoding/json would decode. What the generated code would decode in
// another way is refused.

package main

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// maxFields is how many fields a wire.Seen holds.
const maxFields = 64

// field is a field that is decoded.
type field struct {
	types.Object
	name string // in Go
	key  string // on the wire
	typ  types.Type
	tag  reflect.StructTag
}

// fieldsOf lists the fields of a struct.
func (g *generator) fieldsOf(named *types.Named) ([]field, error) {
	shape, isStruct := named.Underlying().(*types.Struct)
	if !isStruct {
		return nil, g.errorf(named.Obj(), "%s is no struct", named.Obj().Name())
	}
	var all []field
	for i := range shape.NumFields() {
		f := shape.Field(i)
		tags := reflect.StructTag(shape.Tag(i))
		tag := tags.Get("json")
		key, options, _ := strings.Cut(tag, ",")
		fault := func(problem string) error {
			return g.errorf(f, "%s.%s %s", named.Obj().Name(), f.Name(), problem)
		}
		switch {
		case tag == "-":
			continue
		case f.Embedded(): // a field of another embedded struct might hide one of its fields, without a word
			return nil, fault("is embedded: give the struct fields of its own")
		case !f.Exported():
			continue
		case strings.Contains(","+options+",", ",string,"):
			return nil, fault("is decoded from a quoted text: the option string is not handled")
		case key == "":
			key = f.Name()
		}
		if strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || key == "-" {
			return nil, fault("has a key of other characters than letters and digits")
		}
		all = append(all, field{f, f.Name(), key, f.Type(), tags})
	}
	return all, g.checkFields(named, all)
}

// checkFields refuses keys that encoding/json resolves by precedence, and names by which Go
// reaches another field: one without a key may hide one with a key.
func (g *generator) checkFields(named *types.Named, all []field) error {
	if len(all) > maxFields {
		return g.errorf(named.Obj(), "%s has more than %d fields", named.Obj().Name(), maxFields)
	}
	for i, one := range all {
		reached, _, _ := types.LookupFieldOrMethod(named, true, named.Obj().Pkg(), one.name)
		sameKey := func(other field) bool { return strings.EqualFold(one.key, other.key) }
		if reached != one.Object || slices.ContainsFunc(all[:i], sameKey) {
			return g.errorf(one, "%s.%s has the key or the name of another field", named.Obj().Name(), one.name)
		}
	}
	return nil
}

// basicOf is the type that each method of wire.Lexer returns.
var basicOf = map[string]string{
	"String": "string", "Number": "string", "Bool": "bool", "Int": "int", "Int64": "int64", "Float64": "float64",
}

// scalar returns the method of wire.Lexer that reads a type, or nothing for a composite
// type. Types that decode themselves are refused.
func scalar(t types.Type) (string, error) {
	switch types.Unalias(t).String() {
	case "encoding/json.Number":
		return "Number", nil
	case "encoding/json.RawMessage", "encoding/json/jsontext.Value": // an alias since Go 1.27
		return "Raw", nil
	case sharedTypes + ".Secret":
		return "Secret", nil
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
	return "", fmt.Errorf("%s is not handled: only string, bool, int, int64, float64 and json.Number are", t)
}

// onlyRaw reports whether t is a struct of the field Raw alone, which is the JSON of the value.
func onlyRaw(t types.Type) bool {
	shape, isStruct := t.Underlying().(*types.Struct)
	return isStruct && shape.NumFields() == 1 && shape.Field(0).Name() == "Raw"
}
