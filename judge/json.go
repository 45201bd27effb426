// JSON texts as a list of values that point into the text, so that a judgement allocates little.

package judge

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
)

// kind is the JSON type of a value. The zero value is an absent one.
type kind byte

const (
	absent kind = iota
	null
	boolean
	number
	text
	list
	object
)

func (k kind) String() string {
	return [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}[k]
}

// node is a value in a text. What is below it follows it, up to next.
type node struct {
	key, keyEnd, from, to, next int32
	kind                        kind
}

// document is a JSON text that was read.
type document struct {
	text  []byte
	nodes []node
}

// value is one of the values of a document. The zero value is absent.
type value struct {
	*document
	at    int32
	lacks string // the member that is absent
}

// deepest is how deep values may be nested.
const deepest = 100

// read reads a text, and reports whether it is JSON. Nodes of an earlier text are reused.
func (d *document) read(body []byte) bool {
	d.text, d.nodes = body, d.nodes[:0]
	end := d.value(d.space(0), 0, 0, 0)
	if end < 0 || d.space(end) != len(body) {
		d.nodes = d.nodes[:0]
	}
	return len(d.nodes) > 0
}

// root is the whole text.
func (d *document) root() value {
	if len(d.nodes) == 0 {
		return value{}
	}
	return value{d, 0, ""}
}

func (d *document) space(i int) int {
	for i < len(d.text) && (d.text[i] == ' ' || d.text[i] == '\n' || d.text[i] == '\r' || d.text[i] == '\t') {
		i++
	}
	return i
}

// value reads the value at i. It returns where the value ends, or -1 if it is malformed.
func (d *document) value(i, key, keyEnd, depth int) int {
	if i >= len(d.text) || depth > deepest {
		return -1
	}
	at, n := len(d.nodes), node{key: int32(key), keyEnd: int32(keyEnd), from: int32(i)} // bodies are below 2 GB
	d.nodes = append(d.nodes, n)
	end := -1
	switch c := d.text[i]; c {
	case '{', '[':
		n.kind = list
		if c == '{' {
			n.kind = object
		}
		end = d.elements(i+1, c, depth)
	case '"':
		n.kind, end = text, d.quoted(i)
	case 't', 'f', 'n':
		for _, word := range [...]string{"true", "false", "null"} {
			if n.kind = boolean; len(d.text)-i >= len(word) && string(d.text[i:i+len(word)]) == word {
				end = i + len(word)
			}
		}
		if c == 'n' {
			n.kind = null
		}
	default:
		plain := true
		for end = i; end < len(d.text) && (d.text[end] >= '0' && d.text[end] <= '9' || strings.IndexByte("+-.eE", d.text[end]) >= 0); end++ {
			plain = plain && (d.text[end] > '0' || end > i) && d.text[end] >= '0' && d.text[end] <= '9'
		}
		if n.kind = number; !plain && !json.Valid(d.text[i:end]) || end == i {
			end = -1
		}
	}
	n.to, n.next = int32(end), int32(len(d.nodes))
	d.nodes[at] = n
	return end
}

// elements reads what is between brackets.
func (d *document) elements(i int, begin byte, depth int) int {
	for first := true; ; first = false {
		if i = d.space(i); i >= len(d.text) {
			return -1
		}
		switch c := d.text[i]; {
		case c == begin+2: // ] is [+2, and } is {+2
			return i + 1
		case !first && c != ',':
			return -1
		case !first:
			i = d.space(i + 1)
		}
		key, keyEnd := 0, 0
		if begin == '{' {
			end := -1
			if i < len(d.text) && d.text[i] == '"' {
				end = d.quoted(i)
			}
			if end < 0 {
				return -1
			}
			key, keyEnd = i+1, end-1
			if i = d.space(end); i >= len(d.text) || d.text[i] != ':' {
				return -1
			}
			i = d.space(i + 1)
		}
		if i = d.value(i, key, keyEnd, depth+1); i < 0 {
			return -1
		}
	}
}

// quoted returns where the string at i ends.
func (d *document) quoted(i int) int {
	for i++; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			i++
		}
	}
	return -1
}

func (v value) node() node {
	if v.document == nil || v.lacks != "" {
		return node{}
	}
	return v.nodes[v.at]
}

func (v value) kind() kind {
	if v.document == nil || v.lacks != "" {
		return absent
	}
	return v.nodes[v.at].kind
}

// there reports whether there is a value other than null.
func (v value) there() bool { return v.kind() > null }

// key is the name of the member, as the text has it.
func (v value) key() string {
	n := v.node()
	return string(v.text[n.key:n.keyEnd])
}

// raw is the value's text.
func (v value) raw() []byte {
	n := v.node()
	if n.kind == absent {
		return nil
	}
	return v.text[n.from:n.to]
}

// str is a string, or the text of a number; "" of anything else.
func (v value) str() (s string) {
	raw := v.raw()
	switch v.kind() {
	case number:
		return string(raw)
	case text:
		if bytes.IndexByte(raw, '\\') < 0 {
			return string(raw[1 : len(raw)-1])
		}
		_ = json.Unmarshal(raw, &s) // what cannot be read is ""
	}
	return s
}

// number is the value of a number. Few digits are read without an allocation.
func (v value) number() (float64, bool) {
	if v.kind() != number {
		return 0, false
	}
	raw := v.raw()
	n, scale := 0, 0
	for i, c := range raw {
		switch {
		case c == '.' && scale == 0:
			scale = 1
		case c < '0' || c > '9' || i >= 15:
			n, err := strconv.ParseFloat(string(raw), 64)
			return n, err == nil
		default:
			n, scale = n*10+int(c-'0'), scale*10
		}
	}
	return float64(n) / float64(max(scale, 1)), true
}

func (v value) int() (int, bool) {
	n, err := strconv.Atoi(v.str())
	return n, err == nil && v.kind() == number
}

// all are the elements of a list or the members of an object.
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
	if v.kind() >= list {
		for i := v.at + 1; i < v.nodes[v.at].next; i = v.nodes[i].next {
			n++
		}
	}
	return n
}

// get returns the member at a path.
func (v value) get(path ...string) value {
	for _, name := range path {
		if found := v.member(name); found >= 0 {
			v.at = found
		} else if v.lacks == "" {
			v.lacks = name
		}
	}
	return v
}

func (v value) member(name string) int32 {
	if v.kind() == object {
		for i := v.at + 1; i < v.nodes[v.at].next; i = v.nodes[i].next {
			if n := &v.nodes[i]; string(v.text[n.key:n.keyEnd]) == name {
				return i
			}
		}
	}
	return -1
}

// path is where the value is, such as data.list[3].rooms[0].
func (v value) path() string {
	var b strings.Builder
	for at := int32(0); v.document != nil && at != v.at; {
		n := 0
		for i := at + 1; i < v.nodes[at].next; i = v.nodes[i].next {
			if i <= v.at && v.at < v.nodes[i].next {
				if v.nodes[at].kind == list {
					b.WriteString("[" + strconv.Itoa(n) + "]")
				} else {
					b.WriteString("." + value{v.document, i, ""}.key())
				}
				at = i
				break
			}
			n++
		}
	}
	return strings.Trim(b.String()+"."+v.lacks, ".")
}
