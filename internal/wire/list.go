// Lists: kept in memory, or passed to a function while they arrive.

package wire

import (
	"fmt"
	"sync"
)

// List reads arrays of one type. It is safe for concurrent use.
//
// The length of an array is known only at its end. So the elements are first read into a pooled buffer, and then copied
// into a slice of the exact length. Elements that do not fit into the buffer are first counted. Then these elements are
// read directly into the slice.
type List[T any] struct {
	// Essentials is true if T is a struct with essential fields (see Field). The list then leaves out each null, and each
	// element that is a mismatch.
	Essentials bool
	// Whole makes the answer an error if the list or one of its elements is a mismatch.
	Whole bool

	buffers sync.Pool
}

// maxBuffered is how many elements a pooled buffer holds.
const maxBuffered = 4096

// Read reads an array. For null, Read returns nil.
func (list *List[T]) Read(l *Lexer, read func(*Lexer, *T)) []T {
	switch l.peek() {
	case '[':
	case 'n':
		l.literal("null")
		return nil
	default:
		l.mismatch("array")
		l.required = l.required || list.Whole
		return nil
	}
	elements := []T{}
	take, streams := any(l.take).(func(*T) error)
	l.depth++
	if streams && take != nil {
		list.stream(l, read, take)
	} else if l.array() {
		elements = list.keep(l, read)
	}
	l.depth--
	return elements
}

// keep reads the elements of an array that is not empty, and returns them.
func (list *List[T]) keep(l *Lexer, read func(*Lexer, *T)) []T {
	pooled, _ := list.buffers.Get().(*[]T)
	if pooled == nil {
		pooled = new([]T)
	}
	buffer, before, index, more := (*pooled)[:0], l.mark(), 0, true
	for ; more && index < maxBuffered; more = l.element() {
		var empty T
		buffer = append(buffer, empty)
		if !list.element(l, read, &buffer[len(buffer)-1], &before, index) {
			buffer = buffer[:len(buffer)-1]
		}
		index++
	}
	behind := 0
	if more {
		behind = l.countElements()
	}
	var exact []T
	if l.charge((index + behind) * sizeOf[T]()) {
		exact = make([]T, len(buffer)+behind)
		kept := copy(exact, buffer)
		for ; more; more = l.element() {
			if list.element(l, read, &exact[kept], &before, index) {
				kept++
			}
			index++
		}
		exact = exact[:kept]
	}
	if cap(buffer) <= maxBuffered {
		clear(buffer) // otherwise the pool would keep the memory to which the elements point
		*pooled = buffer
		list.buffers.Put(pooled)
	}
	return exact
}

// element reads an element into v, and reports whether the element stays in the list. If the element does not stay, v
// is empty.
func (list *List[T]) element(l *Lexer, read func(*Lexer, *T), v *T, before *mark, index int) bool {
	null := l.peek() == 'n'
	if null && (list.Essentials || list.Whole) {
		l.note("object", "null")
		l.required = l.required || list.Whole
	}
	if read(l, v); l.events == before.events {
		return true
	}
	fits := !l.mismatched
	l.required = l.required || list.Whole && !fits
	// A list with Essentials leaves out a mismatched element. The list itself is then no mismatch.
	l.mismatched = l.mismatched && !list.Essentials
	l.leave(before, "", index)
	return fits && !null || !list.Essentials
}

// stream calls the function take with each element as soon as the element's last byte has arrived, and removes the element
// from the text.
func (list *List[T]) stream(l *Lexer, read func(*Lexer, *T), take func(*T) error) {
	interns, before, index := l.interned != nil, l.mark(), 0
	for more := l.array(); more; more = l.element() {
		if err := l.ctx.Err(); err != nil {
			l.stop(fmt.Errorf("stopped before the next hotel: %w", err))
			return
		}
		v := new(T)
		fits := l.charge(sizeOf[T]()) && list.element(l, read, v, &before, index)
		index++
		if fits && !l.failed {
			l.internStrings(false)
			if err := take(v); err != nil {
				l.stop(err)
			}
			l.internStrings(interns)
		}
		if l.failed {
			return
		}
		l.rewind(l.pos - l.feed.remove(l.pos))
		l.body = l.feed.window()
	}
}

// countElements returns how many elements follow in the array. It does not change the position.
func (l *Lexer) countElements() (n int) {
	begin := l.pos
	for more := true; more; more = l.element() {
		l.skip(l.depth)
		n++
	}
	l.rewind(begin)
	return n
}
