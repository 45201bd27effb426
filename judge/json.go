// The values of a JSON text.

package judge

import (
	"cmp"
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/wire"
)

func (v value) kind() kind {
	if v.document == nil || v.lacks != "" {
		return absent
	}
	return v.nodes[v.at].kind
}

// there reports whether the value exists and is not null.
func (v value) there() bool { return v.kind() > null }

// key returns the name of a member with its escapes, as it is in the text.
func (v value) key() string {
	n := v.nodes[v.at]
	return string(v.text[n.key : n.key+int32(n.named)])
}

// raw returns the JSON text of the value, or nil if it is absent.
func (v value) raw() []byte {
	if v.kind() == absent {
		return nil
	}
	n := &v.nodes[v.at]
	return v.text[n.from:n.to]
}

// str returns a string, or the digits of a number. For all other values it returns "".
func (v value) str() string {
	switch v.kind() {
	case number:
		return string(v.raw())
	case text:
		return unquoted(v.raw())
	}
	return ""
}

func (v value) byte() byte {
	if raw := v.raw(); v.kind() == text {
		return raw[1]
	}
	return 0
}

// unquoted returns the value of the JSON string raw, or "" if raw is malformed.
func unquoted(raw []byte) string {
	if wire.SkipPlain(raw, 1) == len(raw)-1 {
		return string(raw[1 : len(raw)-1])
	}
	var s string // allocated only for a string with escapes
	_ = json.Unmarshal(raw, &s)
	return s
}

func (v value) yes() bool { return string(v.raw()) == "true" }

func (v value) number() (float64, bool) {
	if v.kind() != number {
		return 0, false
	}
	return float(v.raw()), true
}

// float parses a number. For up to 15 characters it does not allocate.
func float(raw []byte) float64 {
	n, scale := 0, 0
	for i, c := range raw {
		switch {
		case c == '.' && scale == 0:
			scale = 1
		case c < '0' || c > '9' || i >= 15:
			n, _ := strconv.ParseFloat(string(raw), 64) // ParseFloat returns infinity for a number out of range
			return n
		default:
			n, scale = n*10+int(c-'0'), scale*10
		}
	}
	return float64(n) / float64(max(scale, 1))
}

func (v value) int() (int, bool) {
	n, err := strconv.Atoi(v.str())
	return n, err == nil && v.kind() == number
}

// all returns the elements of a list or the members of an object.
func (v value) all() iter.Seq[value] {
	return func(yield func(value) bool) {
		if v.kind() < list {
			return
		}
		for i := v.at + 1; i < v.nodes[v.at].next; i = v.nodes[i].next {
			if !yield(value{v.document, i, ""}) {
				return
			}
		}
	}
}

func (v value) len() (n int) {
	for range v.all() {
		n++
	}
	return n
}

func (v value) first() value {
	for first := range v.all() {
		return first
	}
	return value{}
}

// get returns the member at a path, such as get("hotel", "id"). If a member of the path is missing, the result is
// absent.
func (v value) get(path ...string) value {
	for _, name := range path {
		if found := v.member(name); found >= 0 {
			v.at = cmp.Or(v.nodes[found].twin, found)
		} else if v.lacks == "" {
			v.lacks = name
		}
	}
	return v
}

func (v value) member(name string) int32 {
	if v.kind() == object {
		nodes := v.nodes
		for i := v.at + 1; i < nodes[v.at].next; i = nodes[i].next {
			if n := &nodes[i]; int(n.named) == len(name) && string(v.text[n.key:n.key+int32(n.named)]) == name {
				return i
			}
		}
	}
	return -1
}

// path returns the path of the value, such as data.list[3].rooms[0], or data.list[].rooms[] without indexes. Finding an
// index takes time in proportion to the list.
func (v value) path(indexes bool) string {
	return strings.Trim(v.above(v.at, indexes)+"."+v.lacks, ".")
}

func (d *document) above(at int32, indexes bool) string {
	if at == 0 {
		return ""
	}
	in, index := d.nodes[at].in, ""
	if d.nodes[in].kind == object {
		return d.above(in, indexes) + "." + value{d, at, ""}.key()
	}
	if indexes {
		n := 0
		for i := in + 1; i < at; i = d.nodes[i].next {
			n++
		}
		index = strconv.Itoa(n)
	}
	return d.above(in, indexes) + "[" + index + "]"
}
