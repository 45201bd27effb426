// JSON texts as a list of values that point into the text. Their form is judged while they are read, in one pass.

package judge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/bits"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/wire"
)

// kind is the JSON type of a value. The zero kind means that the value is absent.
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

// node is a JSON value. In the list of nodes, the values inside a list or object follow its node. The field next is the index
// after the last of these nodes.
type node struct {
	key, from, to, next int32 // a member's name begins at text[key]; its value is text[from:to]
	in                  int32 // the node of the list or object that contains the value
	// twin is the node of the rate, if this node is a totalRate with the same text. Such a totalRate shares the rate's members.
	twin  int32
	kind  kind
	named uint8 // the length of the name in the text, at most 255
}

type document struct {
	text       []byte
	nodes      []node
	mismatches []mismatch
	met        []met
	last       string    // the currency that was read last; an equal currency reuses this string
	fine       [2]string // the last two valid dates; equal dates, as in most offers, are not parsed again
}

// mismatch is a value without the documented form, or an object that lacks a member.
type mismatch struct {
	at          int32
	rule        string // "": the rule about the form of the answer
	lacks, want string
}

// met is a value that is compared with other values after the whole text was read. In the field document.met, a value comes
// after the values inside it.
type met struct {
	at int32
	*field
}

// value is a value in a JSON document. The zero value of this type stands for an absent value.
type value struct {
	*document
	at    int32
	lacks string // the name of the missing member if the value is absent, else empty
}

// deepest is how many levels deep values may be nested.
const deepest = 100

// read parses a JSON text and compares it with the documented type f. It returns false if the text is not JSON. It
// reuses the memory of the previous text.
func (d *document) read(body []byte, f *field) bool {
	*d = document{body, d.nodes[:0], d.mismatches[:0], d.met[:0], d.last, d.fine}
	end := d.value(0, 0, 0, 0, f, 0)
	if end < 0 || d.space(end) != len(body) {
		d.nodes, d.mismatches, d.met = d.nodes[:0], d.mismatches[:0], d.met[:0] // mismatches and met hold indexes of nodes, so clear them, too
	}
	return len(d.nodes) > 0
}

func (d *document) root() value {
	if len(d.nodes) == 0 {
		return value{}
	}
	return value{d, 0, ""}
}

func (d *document) byteAt(i int) byte {
	if i < len(d.text) {
		return d.text[i]
	}
	return 0
}

// blanks has a bit for each byte that may stand between values.
const blanks uint64 = 1<<' ' | 1<<'\n' | 1<<'\r' | 1<<'\t'

func (d *document) space(i int) int {
	for blanks>>d.byteAt(i)&1 != 0 {
		i++
	}
	return i
}

// value reads a value, whose documented type is f. Blanks may begin at index i. It returns the index after the value, or -1 if the
// value is malformed.
func (d *document) value(i, key, named int, in int32, f *field, depth int) int {
	at, k, end, before := len(d.nodes), absent, -1, len(d.mismatches)
	i = d.space(i)
	d.nodes = append(d.nodes, node{key: int32(key), from: int32(i), in: in, named: uint8(min(named, 255))})
	switch c := d.byteAt(i); {
	case depth > deepest:
	case c == '{':
		k, end = object, d.members(i+1, int32(at), f, depth+1)
	case c == '[':
		k, end = list, d.elements(i+1, int32(at), f, depth+1)
	case c == '"':
		k, end = text, d.quoted(i+1)
	case c == 't':
		k, end = boolean, d.word(i, "true")
	case c == 'f':
		k, end = boolean, d.word(i, "false")
	case c == 'n':
		k, end = null, d.word(i, "null")
	default:
		k, end = number, d.digits(i)
	}
	if f.closed && len(d.mismatches) == before {
		d.nodes = d.nodes[:at+1]
	}
	n := &d.nodes[at] // int32 is enough for the indexes, because bodies are smaller than 2 GB
	n.to, n.next, n.kind = int32(end), int32(len(d.nodes)), k
	if f.want != "" && end > 0 && (k != null || key == 0) {
		d.judge(int32(at), k, d.text[i:end], f)
	}
	return end
}

func (d *document) judge(at int32, k kind, raw []byte, f *field) {
	rule, ok := "", true
	switch leaf := f.leaf; {
	case f.element != nil:
		ok = k == list
	case f.shape != nil:
		ok = k == object
	case k != leaf.kind:
		ok = false
	case leaf.slow && (string(raw) == d.fine[0] || string(raw) == d.fine[1]):
	case leaf.fits != nil && !leaf.fits(raw):
		ok = false
	case leaf.slow:
		d.fine[0], d.fine[1] = string(raw), d.fine[0]
	case leaf.plausible != nil:
		rule, ok = "value/plausible", leaf.plausible(raw)
	}
	if !ok {
		d.mismatches = append(d.mismatches, mismatch{at, rule, "", f.want})
	}
	if len(f.same) > 0 || f.shape != nil && f.shape.hook != nil && k == object {
		d.met = append(d.met, met{at, f})
	}
}

// members reads the members of an object. The first member begins at index i. It returns the index after the object, or
// -1 if the object is malformed.
func (d *document) members(i int, at int32, f *field, depth int) int {
	s, seen, next, twin := cmp.Or(f.shape, anything.shape), uint64(0), 0, int32(0)
	for first := true; ; first = false {
		var member *field
		name, quote, end, child := i+1, 0, 0, len(d.nodes)
		// Most answers have the documented order of members and no blanks, so the next documented names are tried first.
		for n, this := range s.fields[next:] {
			if end = i + len(this.quoted); end <= len(d.text) && string(d.text[i:end]) == this.quoted {
				member, quote, next = this, end-2, next+n+1
				break
			}
		}
		if member == nil {
			if i = d.space(i); d.byteAt(i) == '}' && first {
				break
			} else if d.byteAt(i) != '"' {
				return -1
			}
			name = i + 1
			if end = d.quoted(name); end < 0 {
				return -1
			}
			quote = end - 1
			member = cmp.Or(s.named[string(d.text[name:quote])], anything)
			if end = d.space(end) + 1; d.byteAt(end-1) != ':' {
				return -1
			}
		}
		if member == totalRate && twin > 0 && bytes.HasPrefix(d.text[end:], value{d, twin, ""}.raw()) {
			i = end + len(value{d, twin, ""}.raw())
			d.nodes = append(d.nodes, node{int32(name), int32(end), int32(i), int32(child + 1), at, twin, object, uint8(quote - name)})
		} else if i = d.value(end, name, quote-name, at, member, depth); i < 0 {
			return -1
		}
		if member == rate && d.nodes[child].kind == object {
			twin = int32(child)
		}
		if d.nodes[child].kind > null {
			seen |= member.bit
		}
		if i = d.space(i); d.byteAt(i) != ',' {
			break
		}
		i++
	}
	if d.byteAt(i) != '}' {
		return -1
	}
	if s != anything.shape && (seen == 0 || s.expected&^seen != 0) {
		d.missing(at, f, seen)
	}
	return i + 1
}

func (d *document) missing(at int32, f *field, seen uint64) {
	for lacking := f.shape.expected &^ seen; lacking != 0; lacking &= lacking - 1 {
		if member := f.shape.fields[bits.TrailingZeros64(lacking)]; !member.required {
			d.mismatches = append(d.mismatches, mismatch{at, "value/members", member.name, member.want})
		} else if !f.lax {
			d.mismatches = append(d.mismatches, mismatch{at, "", member.name, member.want})
		}
	}
	if seen == 0 && len(d.nodes) > int(at)+1 && d.nodes[at+1].kind > null {
		d.mismatches = append(d.mismatches, mismatch{at, "value/members", "", "a documented member"})
	}
}

// elements reads the elements of a list. The first element begins at index i. It returns the index after the list, or
// -1 if the list is malformed.
func (d *document) elements(i int, at int32, f *field, depth int) int {
	element := cmp.Or(f.element, anything)
	if i = d.space(i); d.byteAt(i) == ']' {
		return i + 1
	}
	for {
		if i = d.value(i, 0, 0, at, element, depth); i < 0 {
			return -1
		}
		if i = d.space(i); d.byteAt(i) != ',' {
			break
		}
		i++
	}
	if d.byteAt(i) != ']' {
		return -1
	}
	return i + 1
}

// quoted returns the index after the closing quotation mark of a string, or -1 if the mark is missing. i is the index after
// the opening quotation mark.
func (d *document) quoted(i int) int {
	for {
		switch i = wire.SkipPlain(d.text, i); d.byteAt(i) {
		case '"':
			return i + 1
		case '\\':
			i += 2
		default:
			return -1
		}
	}
}

func (d *document) word(i int, word string) int {
	if end := i + len(word); end <= len(d.text) && string(d.text[i:end]) == word {
		return end
	}
	return -1
}

// digits returns the index after the number that begins at i, or -1 if the number is malformed.
func (d *document) digits(i int) int {
	begin, dot := i, -1
	for ; i < len(d.text); i++ {
		if c := d.text[i]; c == '.' && dot < 0 {
			dot = i
		} else if c < '0' || c > '9' {
			break
		}
	}
	whole := i
	if dot >= 0 {
		whole = dot
	}
	if whole > begin && dot+1 != i && (d.text[begin] != '0' || whole == begin+1) && strings.IndexByte("+-.eE", d.byteAt(i)) < 0 {
		return i
	}
	for i = begin; i < len(d.text) && strings.IndexByte("0123456789+-.eE", d.text[i]) >= 0; {
		i++
	}
	if !json.Valid(d.text[begin:i]) {
		return -1
	}
	return i
}
