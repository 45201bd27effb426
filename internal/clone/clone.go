// Package clone makes deep copies, so that a caller may change a value while the client uses its copy.
package clone

import "reflect"

// Of returns a deep copy of v.
func Of[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	unshare(reflect.ValueOf(&c).Elem())
	return &c
}

func unshare(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() { // unexported fields stay shared, because callers cannot change them
				unshare(field)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			unshare(c.Elem())
			v.Set(c)
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		c := reflect.MakeMap(v.Type())
		for key, value := range v.Seq2() {
			own := reflect.New(v.Type().Elem()).Elem() // a value in a map cannot be set
			own.Set(value)
			unshare(own)
			c.SetMapIndex(key, own)
		}
		v.Set(c)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := range c.Len() {
			unshare(c.Index(i))
		}
		v.Set(c)
	}
}
