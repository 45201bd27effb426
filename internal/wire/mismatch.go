// Mismatches: a reader notes them, and continues.
//
// A mismatch is noted at its value, which is skipped. Each reader around the value then adds its step in front of the
// path, so that an answer without mismatches needs no paths.

package wire

import (
	"strconv"
	"strings"
)

type notes struct {
	found      Mismatches
	unusable   *UnusableError // the first error that made the answer unusable; this error ended the reading
	events     int            // number of mismatches that were noted, and of calls of reject
	mismatched bool           // the value that was read last is a mismatch, and its variable is empty
	// lost counts mismatches. A mismatch inside a struct whose essential fields are complete is not counted.
	lost     int
	required bool // whether a mismatch was found that is an error even if Target.Lenient is true
}

// mark is the state of the notes before a value was read.
type mark struct{ events, listed, lost int }

func (n *notes) mark() mark { return mark{n.events, len(n.found.List), n.lost} }

func (l *Lexer) note(want, got string) {
	l.events++
	l.found.Count++
	if len(l.found.List) < maxListed {
		l.found.List = append(l.found.List, Mismatch{"", want, got})
	}
}

func (l *Lexer) unfit(want, got string) {
	l.note(want, got)
	l.mismatched = true
}

// mismatch skips a value of the wrong type, and returns its text.
func (l *Lexer) mismatch(want string) []byte {
	text := l.passed()
	l.unfit(want, jsonTypeOf(text))
	return text
}

// noObject skips a value that is not an object, although a struct is expected. The value null is allowed, and every
// other type is a mismatch.
func (l *Lexer) noObject() {
	if !l.null() {
		l.mismatch("object")
	}
}

// reject ends the reading of an answer that is ambiguous or too large. The parameter at is a member of the current
// value, or empty.
func (l *Lexer) reject(at, problem string) {
	if l.failed {
		return
	}
	l.events++
	l.unusable = &UnusableError{at, problem}
	l.fail()
}

// charge takes size bytes from the memory budget. If the budget is too small, charge waits for more bytes of the text,
// which add to the budget. It reports whether the budget suffices.
func (l *Lexer) charge(size int) bool {
	for l.budget -= size; l.budget < 0 && l.more(); {
	}
	if l.budget < 0 {
		l.reject("", "would make the answer take more memory than twice its length and 4 MiB")
	}
	return !l.failed
}

// leave puts the name or the index of a value in front of the paths of the mismatches inside the value. The result lost
// reports whether a counted mismatch was found since the mark before.
func (l *Lexer) leave(before *mark, name string, index int) (lost bool) {
	for i := before.listed; i < len(l.found.List); i++ {
		l.found.List[i].Path = below(name, index, l.found.List[i].Path)
	}
	if l.unusable != nil {
		l.unusable.Path = below(name, index, l.unusable.Path)
	}
	if l.mismatched {
		l.mismatched = false
		l.lost++
	}
	lost = l.lost > before.lost
	*before = l.mark()
	return lost
}

func below(name string, index int, path string) string {
	if name != "" {
		return "." + name + path
	}
	return "[" + strconv.Itoa(index) + "]" + path
}

// passAgain skips the value at the offset begin once more if the answer is unusable. The reading stopped inside this
// value, so the rest of the value is not validated yet.
func (l *Lexer) passAgain(begin int) {
	if l.unusable != nil && l.err == nil {
		l.failed, l.body = false, l.feed.window()
		l.rewind(begin)
		l.skip(l.depth)
	}
}

// verdict returns the mismatches of a text that was read to its end. If a mismatch is not allowed, verdict returns a
// *MismatchError.
func (l *Lexer) verdict(lenient bool) (Mismatches, error) {
	for i := range l.found.List {
		l.found.List[i].Path = rooted(l.found.List[i].Path)
	}
	if l.required || l.found.Count > 0 && !lenient {
		return Mismatches{}, &MismatchError{l.found}
	}
	return l.found, nil
}

func rooted(path string) string {
	if path == "" {
		return "the document"
	}
	return strings.TrimPrefix(path, ".")
}

// safeKey returns the text that a path shows for a map's key. A key is text of the answer, so only a key that may be a
// currency is shown.
func safeKey(key string) string {
	const currency = 3
	if len(key) == currency && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return key
	}
	return "*"
}
