// Text that is read while it arrives.

package wire

import (
	"io"
	"slices"
	"time"
)

// Feed holds the text of an answer, also while the answer is still arriving. It is not safe for concurrent use.
type Feed struct {
	source  io.LimitedReader
	limit   int64
	text    []byte                 // the bytes that have arrived, without the bytes that the method close has cut out
	hole    struct{ from, to int } // the part of text that the method close will cut out next
	removed int                    // how many bytes the method close has cut out
	done    bool                   // no more bytes will arrive
	err     error                  // why the arrival failed, or nil
	waited  time.Duration
}

const (
	minFeed = 512       // minimum of free bytes in the buffer before each read
	maxRead = 256 << 10 // maximum of bytes in one read
)

// whole returns a Feed of a complete text.
func whole(text []byte) *Feed { return &Feed{text: text, done: true} }

// Reset begins to read a new text from r. The parameter room is the expected size of the text in bytes, and the
// parameter limit is its maximum size. The Feed reads at most one byte more than limit. If the text is too long, Size
// is then greater than limit.
func (f *Feed) Reset(r io.Reader, room int, limit int64) {
	*f = Feed{source: io.LimitedReader{R: r, N: limit + 1}, limit: limit, text: slices.Grow(f.text[:0], room+minFeed)}
}

// Free releases the reader, and keeps the memory for the next Reset.
func (f *Feed) Free() { *f = Feed{text: f.text[:0]} }

// Cap returns the size of the Feed's memory for the text, in bytes.
func (f *Feed) Cap() int { return cap(f.text) }

// Size returns how many bytes have arrived.
func (f *Feed) Size() int64 { return f.limit + 1 - f.source.N }

// Waited returns how long the reader has waited for bytes.
func (f *Feed) Waited() time.Duration { return f.waited }

// Rest reads to the end. It returns the text without the parts that the decoder has removed, and an error if the answer broke
// off.
func (f *Feed) Rest() ([]byte, error) {
	for f.more() {
	}
	f.close()
	return f.text, f.err
}

// Stop ends the text: no more bytes are read.
func (f *Feed) Stop() { f.done = true }

// more reads once, and reports whether bytes arrived.
func (f *Feed) more() bool {
	const attempts = 100 // after so many empty reads in a row, more gives up, as bufio does
	if cap(f.text)-len(f.text) < minFeed && !f.done {
		f.text = slices.Grow(f.text, max(len(f.text), 16<<10))
	}
	begun := time.Now()
	defer func() { f.waited += time.Since(begun) }()
	for range attempts {
		if f.done {
			return false
		}
		room := f.text[len(f.text) : cap(f.text)-1] // one byte stays free for the zero that window appends
		n, err := io.Reader(&f.source).Read(room[:min(len(room), maxRead)])
		f.text = f.text[:len(f.text)+n]
		if f.done = err != nil; err != io.EOF {
			f.err = err
		}
		if n > 0 {
			return true
		}
	}
	f.done, f.err = true, io.ErrNoProgress
	return false
}

// window returns the text. While more bytes may arrive, a zero byte follows the text. Each scanner of a Lexer stops at
// the zero byte, and only then asks for more bytes.
func (f *Feed) window() []byte {
	if f.done {
		return f.text
	}
	f.text = slices.Grow(f.text, 1)
	window := f.text[:len(f.text)+1]
	window[len(f.text)] = 0
	return window
}

// remove removes a part of the text, and returns how many bytes the text behind the part has moved. The part begins at
// the offset of the first call. Each later call extends the part up to the offset in the parameter to. The text behind
// the part moves only if it is not longer than the part, because a move at every call would be slow.
func (f *Feed) remove(to int) (by int) {
	if f.hole.to == 0 {
		f.hole.from = to
	}
	f.hole.to = to
	if len(f.text)-to > to-f.hole.from {
		return 0
	}
	return f.close()
}

func (f *Feed) close() (by int) {
	if by = f.hole.to - f.hole.from; by > 0 {
		f.text = f.text[:f.hole.from+copy(f.text[f.hole.from:], f.text[f.hole.to:])]
		f.hole.to = f.hole.from
		f.removed += by
	}
	return by
}

// offset converts an index in the text to an offset in the whole answer, with the removed parts.
func (f *Feed) offset(at int) int64 {
	if at >= f.hole.from {
		at += f.removed
	}
	return int64(at)
}

// A scanner calls moreAt when it has stopped at an offset. If the offset is the end of the text, moreAt reads more
// bytes, and reports whether bytes have arrived. The offsets that a scanner has stored stay valid.
func (l *Lexer) moreAt(at int) bool { return at >= len(l.feed.text) && l.more() }

func (l *Lexer) more() bool {
	if l.failed || l.feed.done {
		return false
	}
	before, interns := len(l.feed.text), l.interned != nil
	// While this Lexer waits, it gives back its table of interned strings. Other calls can use the table, so that the
	// table stays in the processor's cache.
	l.internStrings(false)
	more := l.feed.more()
	l.internStrings(interns)
	l.body = l.feed.window()
	l.budget += memoryBudget(len(l.feed.text)) - memoryBudget(before)
	return more
}
