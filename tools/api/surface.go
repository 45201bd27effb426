package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// surface returns a line for each exported name, field and method of a package. A change that breaks callers changes or
// removes a line. So a line has the tag of a field and the value of a constant, but no names of parameters. An interface
// that others can implement is one line, because a new method breaks their types.
//
// The field hidden of the result has an error for each field or result of an unexported type, because callers cannot
// name this type.
func surface(name string, pkg *types.Package) *writer {
	w := &writer{pkg: pkg, prefix: name}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		if obj := scope.Lookup(name); obj.Exported() {
			w.object(obj)
		}
	}
	return w
}

type writer struct {
	pkg    *types.Package
	prefix string
	lines  []string
	hidden []error
}

// nameable adds an error if the type of a field or result is an unexported type of the package.
func (w *writer) nameable(what string, t types.Type) {
	switch t := t.(type) {
	case *types.Pointer:
		w.nameable(what, t.Elem())
	case *types.Slice:
		w.nameable(what, t.Elem())
	case *types.Map:
		w.nameable(what, t.Elem())
	case *types.Named:
		if obj := t.Obj(); obj.Pkg() == w.pkg && !obj.Exported() {
			w.hidden = append(w.hidden, fmt.Errorf("%s %s has the unexported type %s", w.prefix, what, obj.Name()))
		}
	}
}

func (w *writer) line(format string, args ...any) {
	w.lines = append(w.lines, w.prefix+" "+fmt.Sprintf(format, args...))
}

func (w *writer) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Const:
		w.line("const %s %s = %s", obj.Name(), w.text(obj.Type()), obj.Val().ExactString())
	case *types.Var:
		w.line("var %s %s", obj.Name(), w.text(obj.Type()))
	case *types.Func:
		w.line("func %s%s", obj.Name(), w.signature(obj.Signature()))
		w.results(obj.Name(), obj.Signature())
	case *types.TypeName:
		if alias, ok := obj.Type().(*types.Alias); ok {
			w.line("type %s = %s", obj.Name(), w.text(alias.Rhs()))
			return
		}
		w.named(obj.Type().(*types.Named))
	}
}

func (w *writer) named(named *types.Named) {
	name := named.Obj().Name()
	declared := name + w.typeParams(named.TypeParams())
	switch under := named.Underlying().(type) {
	case *types.Struct:
		comparable := ""
		if types.Comparable(under) {
			comparable = " (comparable)"
		}
		w.line("type %s struct%s", declared, comparable)
		w.fields(name, under)
	case *types.Interface:
		w.interfaceType(name, declared, under)
		return // interfaceType also writes the methods
	default:
		w.line("type %s %s", declared, w.text(under))
	}
	values := types.NewMethodSet(named)
	for method := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		f := method.Obj().(*types.Func)
		// A method that is promoted from another package needs no line: the line of the embedded field names the type with the method.
		if !f.Exported() || len(method.Index()) > 1 && f.Pkg() != w.pkg {
			continue
		}
		receiver := "*" + name
		if values.Lookup(f.Pkg(), f.Name()) != nil {
			receiver = name
		}
		w.line("method (%s) %s%s", receiver, f.Name(), w.signature(f.Signature()))
		w.results(name+"."+f.Name(), f.Signature())
	}
}

func (w *writer) results(what string, s *types.Signature) {
	for v := range s.Results().Variables() {
		w.nameable("a result of "+what, v.Type())
	}
}

func (w *writer) interfaceType(name, declared string, i *types.Interface) {
	var methods []string
	open := true // whether types of other packages can implement the interface
	for f := range i.Methods() {
		if f.Exported() {
			methods = append(methods, f.Name()+w.signature(f.Signature()))
		} else {
			open = false
		}
	}
	slices.Sort(methods)
	switch {
	case !i.IsMethodSet(): // the interface is a type constraint
		w.line("type %s %s", declared, w.text(i))
	case open:
		w.line("type %s interface { %s }", declared, strings.Join(methods, "; "))
	default:
		w.line("type %s interface, closed", declared)
		for _, method := range methods {
			w.line("method (%s) %s", name, method)
		}
	}
}

func (w *writer) fields(name string, s *types.Struct) {
	for i := range s.NumFields() {
		f := s.Field(i)
		tag := ""
		if s.Tag(i) != "" {
			tag = " `" + s.Tag(i) + "`"
		}
		under, isStruct := f.Type().Underlying().(*types.Struct)
		switch {
		case f.Embedded() && !f.Exported() && isStruct:
			w.fields(name, under)
		case f.Embedded() && f.Exported():
			w.line("field %s embeds %s%s", name, w.text(f.Type()), tag)
		case f.Exported():
			w.line("field %s.%s %s%s", name, f.Name(), w.text(f.Type()), tag)
			w.nameable("field "+name+"."+f.Name(), f.Type())
		}
	}
}

func (w *writer) typeParams(params *types.TypeParamList) string {
	var list []string
	for p := range params.TypeParams() {
		list = append(list, p.Obj().Name()+" "+w.text(p.Constraint()))
	}
	if list == nil {
		return ""
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// signature returns the text of a function type, without the word func.
func (w *writer) signature(s *types.Signature) string {
	return w.typeParams(s.TypeParams()) + strings.TrimPrefix(w.text(s), "func")
}

func (w *writer) text(t types.Type) string {
	return types.TypeString(unnamed(t), func(other *types.Package) string {
		if other == w.pkg {
			return ""
		}
		return other.Name()
	})
}

// unnamed returns t without names of parameters.
func unnamed(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Signature:
		return types.NewSignatureType(nil, nil, nil, unnamedVars(t.Params()), unnamedVars(t.Results()), t.Variadic())
	case *types.Slice:
		return types.NewSlice(unnamed(t.Elem()))
	case *types.Pointer:
		return types.NewPointer(unnamed(t.Elem()))
	case *types.Map:
		return types.NewMap(unnamed(t.Key()), unnamed(t.Elem()))
	}
	return t
}

func unnamedVars(vars *types.Tuple) *types.Tuple {
	var all []*types.Var
	for v := range vars.Variables() {
		all = append(all, types.NewParam(v.Pos(), v.Pkg(), "", unnamed(v.Type())))
	}
	return types.NewTuple(all...)
}
