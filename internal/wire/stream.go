// Handing out the hotels of an answer while it arrives.

package wire

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

// Stream takes the elements of data.list out of an answer while it arrives. What is left in the
// Feed is the same document with the first of them alone, so that Decode judges it as it judges
// the whole answer: its code, the names that come twice, the elements that were not taken.
type Stream struct {
	// Take receives a hotel. Its error ends Read.
	Take func(*types.Hotel) error
	// TakeText receives the text of an element that the generated code does not read. It is valid
	// during the call. It returns the mismatches as those of the only element of data.list. The
	// first element that it does not take stays in the document, and so do all behind it. Its
	// error ends Read.
	TakeText func(element []byte) (taken bool, mismatches Mismatches, err error)
	// InternStrings is that of Target.
	InternStrings bool

	feed       *Feed
	before     []string // members of data in front of the list
	taken      int
	mismatches Mismatches // of what was removed
}

// AtFirst reports whether the first element is being taken: the one that stays in the document.
func (s *Stream) AtFirst() bool { return s.taken == 0 }

// readHotel is the generated function, if there is one.
var readHotel func(*Lexer, *types.Hotel)

// Read reads an answer up to its end or a fault, and returns the error of Take, of TakeText or of ctx.
func (s *Stream) Read(ctx context.Context, feed *Feed) error {
	s.feed = feed
	l := newFedLexer(ctx, feed)
	defer l.release()
	l.lax = true
	refused, inData := false, false
	for more := l.Object(); more; more = l.Member() {
		switch name := string(l.name); {
		case name == "code":
			l.peek()
			begin := l.pos
			l.skip(1)
			refused = string(l.body[begin:l.pos]) != "0"
		case name == "data" && !inData && !refused && l.peek() == '{':
			inData = true
			if err := s.data(l); err != nil {
				return err
			}
		default:
			l.skip(1)
		}
	}
	return l.err
}

func (s *Stream) data(l *Lexer) error {
	inList := false
	for more := l.Object(); more; more = l.Member() {
		if string(l.name) != "list" || inList || l.peek() != '[' {
			if !inList {
				s.before = append(s.before, string(l.unquotedName()))
			}
			l.skip(2)
			continue
		}
		inList = true
		for more := l.array(); more; more = l.element() {
			if err := s.element(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// element hands out an element when its last byte is there, or fails.
func (s *Stream) element(l *Lexer) error {
	if err := l.ctx.Err(); err != nil {
		return fmt.Errorf("%w between two hotels", err)
	}
	l.peek()
	begin := l.pos
	hotel := new(types.Hotel)
	if s.read(l, hotel) {
		err := s.Take(hotel)
		s.take(l, Mismatches{})
		return err
	}
	if l.skip(3); l.failed {
		return l.err
	}
	taken, mismatches, err := s.TakeText(l.body[begin:l.pos])
	if taken {
		s.take(l, mismatches)
	} else {
		l.fail()
	}
	return err
}

// read reads a hotel with the generated code, or nothing.
func (s *Stream) read(l *Lexer, hotel *types.Hotel) bool {
	begin := l.pos
	if readHotel == nil || l.peek() != '{' {
		return false
	}
	l.lax, l.budget = false, memoryBudget(len(s.feed.text)-begin)
	l.internStrings(s.InternStrings)
	readHotel(l, hotel)
	l.charge(memoryBudget(len(s.feed.text)) - memoryBudget(l.pos)) // what has arrived behind it is not its own
	l.internStrings(false)
	l.lax = true
	if l.failed && l.err == nil {
		l.failed, l.body = false, s.feed.window()
		l.rewind(begin)
		return false
	}
	return !l.failed
}

// take removes the element that ends here, unless it is the first one.
func (s *Stream) take(l *Lexer, mismatches Mismatches) {
	if s.taken > 0 {
		mismatches.moveIndices(0, s.taken)
		s.mismatches.add(mismatches)
	}
	s.taken++
	l.rewind(l.pos - s.feed.remove(l.pos))
	l.body = s.feed.window()
}

// Complete turns what Decode found in the rest into what it would have found in the answer.
func (s *Stream) Complete(env *Envelope, err error) {
	if s.taken < 2 { // the rest is the answer
		return
	}
	s.complete(&env.Mismatches)
	switch err := err.(type) {
	case *SyntaxError:
		err.Offset = s.feed.offset(err.Offset)
	case *MismatchError:
		s.complete(&err.Mismatches)
	case *UnusableError:
		err.Path = moveIndex(err.Path, 1, s.taken-1)
	}
}

// complete inserts the mismatches of the removed elements where those elements were.
func (s *Stream) complete(found *Mismatches) {
	found.moveIndices(1, s.taken-1)
	at := 0
	for at < len(found.List) && s.isBefore(found.List[at].Path) {
		at++
	}
	behind := Mismatches{List: slices.Clone(found.List[at:])}
	found.List = found.List[:at]
	found.add(s.mismatches)
	found.add(behind)
}

// isBefore reports whether a value is in front of the elements that were removed.
func (s *Stream) isBefore(path string) bool {
	member, _, _ := strings.Cut(strings.TrimPrefix(path, "data."), ".")
	return member == "list[0]" || slices.Contains(s.before, strings.TrimRight(member, "[]0123456789"))
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
