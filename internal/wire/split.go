// Taking the hotels out of an answer while it arrives.

package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"sync"
)

// Splitter takes the elements of data.list out of an answer while it arrives. What is left
// is the same document with the first of them alone, so that Decode judges it as it judges
// the whole answer: its code, the names that come twice, the elements that were not taken.
type Splitter struct {
	// Take receives the text of an element, which is valid during the call, and returns its
	// mismatches as those of the only element of data.list. The first element that it does
	// not take stays in the document, and so do all behind it. Its error ends Read.
	Take func(element []byte) (taken bool, mismatches Mismatches, err error)

	rest       []byte
	taken      int
	cutAt      int        // in rest: behind the first element
	removed    int        // behind it, in bytes
	mismatches Mismatches // of what was removed

	buf   []byte // what has arrived and is not in rest
	pos   int    // up to where buf was scanned
	begin int    // of the element in buf; -1: none
	nest  int    // brackets open in it

	depth             int // brackets open in rest
	inString, escaped bool
	nameNext          bool // the next string is a name, if an object is open
	nameAt            int  // where the name entered last begins in rest, with its quote; -1: none
	valueAt           int  // where its value begins in rest; 0: there was no colon yet
	codeAt            int  // where code's value begins in rest; 0: there was none yet
	state             splitState
	elementNext       bool // the list is at its beginning, or behind a comma
}

// splitState is how far into data.list a Splitter is.
type splitState int

const (
	beforeData splitState = iota
	inData
	inList
	behindList // or nothing more is taken
)

var splitBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, 64<<10)) }}

// Read reads an answer to its end, or to an error of r or of Take. It returns what is left.
func (s *Splitter) Read(r io.Reader) ([]byte, error) {
	pooled := splitBuffers.Get().(*[]byte)
	s.buf, s.begin, s.nameAt = *pooled, -1, -1
	defer func() {
		if cap(s.buf) <= maxPooled {
			*pooled = s.buf[:0]
			splitBuffers.Put(pooled)
		}
		s.buf = nil
	}()
	for {
		n, err := r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if problem := s.scan(); problem != nil {
			return s.rest, problem
		}
		if err != nil {
			s.rest = append(s.rest, s.buf...) // an element without an end
			if err == io.EOF {
				err = nil
			}
			return s.rest, err
		}
		if len(s.buf) == cap(s.buf) {
			s.buf = append(s.buf, 0)[:len(s.buf)]
		}
	}
}

// Complete turns what Decode found in the rest into what it would have found in the answer.
func (s *Splitter) Complete(env *Envelope, err error) {
	if s.taken < 2 { // the rest is the answer
		return
	}
	s.complete(&env.Mismatches)
	switch err := err.(type) {
	case *SyntaxError:
		if err.Offset >= int64(s.cutAt) {
			err.Offset += int64(s.removed)
		}
	case *MismatchError:
		s.complete(&err.Mismatches)
	case *UnusableError:
		err.Path = moveIndex(err.Path, 1, s.taken-1)
	}
}

func (s *Splitter) complete(found *Mismatches) {
	found.moveIndices(1, s.taken-1)
	found.add(s.mismatches)
}

// moveIndices moves the indices in data.list that are at least from.
func (m *Mismatches) moveIndices(from, by int) {
	for i := range m.List {
		m.List[i].Path = moveIndex(m.List[i].Path, from, by)
	}
}

func moveIndex(path string, from, by int) string {
	tail, inList := strings.CutPrefix(path, "data.list[")
	digits, tail, _ := strings.Cut(tail, "]")
	if index, err := strconv.Atoi(digits); inList && err == nil && index >= from {
		return fmt.Sprintf("data.list[%d]%s", index+by, tail)
	}
	return path
}

// scan moves what has arrived to rest, except an element whose end has not.
func (s *Splitter) scan() error {
	for s.pos < len(s.buf) {
		switch {
		case s.begin < 0:
			s.frame(s.buf[s.pos])
		default:
			var complete bool
			if s.pos, complete = s.elementEnd(); complete {
				if err := s.take(s.buf[s.begin:s.pos]); err != nil {
					return err
				}
			}
		}
	}
	keep := s.pos
	if s.begin >= 0 {
		keep = s.begin
		s.begin = 0
	}
	s.buf = s.buf[:copy(s.buf, s.buf[keep:])]
	s.pos -= keep
	return nil
}

func (s *Splitter) take(element []byte) error {
	taken, mismatches, err := s.Take(element)
	s.begin = -1
	switch {
	case !taken:
		s.rest = append(s.rest, element...)
		s.state = behindList
		return err
	case s.taken == 0:
		s.rest = append(s.rest, element...)
		s.cutAt = len(s.rest)
	default:
		s.removed += len(s.rest) - s.cutAt + len(element)
		s.rest = s.rest[:s.cutAt]
		mismatches.moveIndices(0, s.taken)
		s.mismatches.add(mismatches)
	}
	s.taken++
	return err
}

// frame moves one byte to rest, or finds that it begins an element.
func (s *Splitter) frame(c byte) {
	if s.inString {
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.inString = false
		}
		s.keep(c)
		return
	}
	if s.state == inList && s.depth == listDepth && s.betweenElements(c) {
		return
	}
	switch c {
	case '"', '{', '[':
		s.open(c)
	case '}', ']':
		s.depth--
		if s.state == inList && s.depth < listDepth || s.state == inData && s.depth < dataDepth {
			s.state = behindList
		}
		s.nameNext = false
	case ',':
		s.nameNext, s.nameAt, s.valueAt = true, -1, 0
	case ':':
		s.colon()
	}
	s.keep(c)
}

func (s *Splitter) keep(c byte) {
	s.rest = append(s.rest, c)
	s.pos++
}

// Brackets that are open in data, and in data.list.
const dataDepth, listDepth = 2, 3

// betweenElements looks at a byte of the list, and reports whether an element begins there.
// Nothing is taken behind a fault.
func (s *Splitter) betweenElements(c byte) (begins bool) {
	switch c {
	case ' ', '\n', '\r', '\t', ']':
		return false
	case ',', ':', '}':
		if c != ',' || s.elementNext {
			s.state = behindList
		}
		s.elementNext = true
		return false
	}
	if !s.elementNext {
		s.state = behindList
		return false
	}
	s.elementNext = false
	s.begin, s.nest = s.pos, 0
	return true
}

// open enters a string, an object or an array of the rest.
func (s *Splitter) open(c byte) {
	if c == '"' {
		s.inString = true
		if s.nameNext {
			s.nameAt = len(s.rest)
		}
		return
	}
	switch {
	case s.state == beforeData && c == '{' && s.depth == dataDepth-1 && s.isValueOf("data"):
		s.state = inData
	case s.state == inData && c == '[' && s.depth == listDepth-1 && s.isValueOf("list"):
		s.state = inList
		if s.refused() {
			s.state = behindList
		}
		s.elementNext = true
	}
	s.depth++
	s.nameNext, s.nameAt, s.valueAt = c == '{', -1, 0
}

func (s *Splitter) colon() {
	s.nameNext = false
	s.valueAt = len(s.rest) + 1
	if s.depth == 1 && s.isValueOf("code") {
		s.codeAt = s.valueAt
	}
}

// isValueOf reports whether the next value is of a member with that name.
func (s *Splitter) isValueOf(name string) bool {
	if s.nameAt < 0 || s.valueAt == 0 {
		return false
	}
	quoted := bytes.TrimRight(s.rest[s.nameAt:s.valueAt-1], " \n\r\t")
	return len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name
}

// refused reports whether a code other than 0 came before the list: its elements then stay.
func (s *Splitter) refused() bool {
	if s.codeAt == 0 {
		return false
	}
	code, _, _ := bytes.Cut(s.rest[s.codeAt:], []byte(","))
	return string(bytes.TrimSpace(code)) != "0"
}

// elementEnd returns where the element ends, or how far it was scanned. Inside brackets it
// takes eight bytes at once, unless they may hold the end or an escape.
func (s *Splitter) elementEnd() (end int, complete bool) {
	b, i := s.buf, s.pos
	if first := b[s.begin]; first != '{' && first != '[' && first != '"' { // a number or a literal
		for ; i < len(b); i++ {
			switch b[i] {
			case ',', ']', '}', ' ', '\n', '\r', '\t':
				return i, true
			}
		}
		return i, false
	}
	nest, inString, escaped := s.nest, s.inString, s.escaped
	for i < len(b) {
		if i+8 <= len(b) && !escaped {
			x := binary.LittleEndian.Uint64(b[i:])
			quoted := inStrings(equal(x, '"'), inString)
			opening := bits.OnesCount64(equal(x|each*0x20, '{') &^ quoted) // or [
			closing := bits.OnesCount64(equal(x|each*0x20, '}') &^ quoted) // or ]
			if closing < nest && equal(x, '\\') == 0 {
				nest += opening - closing
				inString = quoted>>63 != 0
				i += 8
				continue
			}
		}
		switch c := b[i]; {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{', c == '[':
			nest++
		case c == '}', c == ']':
			nest--
		}
		i++
		if nest == 0 && !inString {
			complete = true
			break
		}
	}
	s.nest, s.inString, s.escaped = nest, inString, escaped
	return i, complete
}

// equal marks each byte of x that is c by its highest bit.
func equal(x uint64, c byte) uint64 {
	x ^= each * uint64(c)
	return ^((x&^high + ^uint64(high)) | x | ^uint64(high))
}

// inStrings marks each byte that is in a string, where the quotes of eight bytes are marked.
// A string's first quote counts, its last one does not.
func inStrings(quotes uint64, begun bool) uint64 {
	quotes ^= quotes << 8
	quotes ^= quotes << 16
	quotes ^= quotes << 32
	if begun {
		quotes ^= high
	}
	return quotes
}
