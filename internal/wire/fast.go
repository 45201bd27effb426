// The fast path: one pass over an ordinary answer, without encoding/json.

package wire

import (
	"reflect"

	"github.com/hotelstays/hotelstays-go/internal/wire/lexer"
)

//go:generate go run ./decodegen ../..

// Target is what a document is read into.
type Target struct {
	// Into points at a struct that is empty.
	Into any
	// Read reads the same struct with a Lexer. It is generated; without it there is
	// no fast path.
	Read func(*lexer.Lexer)
	// Share lets the texts that repeat be kept once, from one answer to the next. It
	// is for answers that hold no secret and no person.
	Share bool
}

var envelopeFields = []string{"code", "msg", "data"}

// Fast reads a success whose data is as documented. It reports false for everything
// else, and leaves the struct empty: whatever is odd about an answer, encoding/json
// decides what it means.
func Fast(body []byte, target Target) (Envelope, bool) {
	if target.Read == nil {
		return Envelope{}, false
	}
	l := lexer.New(body)
	defer l.Release()
	var env Envelope
	var seen lexer.Seen
	for more := l.Object(); more; more = l.Member() {
		switch string(l.Name()) {
		case "code":
			l.Once(&seen, 0)
			if l.Null() || l.Int() != 0 {
				l.GiveUp()
			}
			env.HasCode = true
		case "msg":
			l.Once(&seen, 1)
			env.Msg = l.String()
		case "data":
			l.Once(&seen, 2)
			if l.Null() {
				l.GiveUp()
			}
			l.Share(target.Share)
			target.Read(l)
			l.Share(false)
			env.HasData = true
		default:
			l.Unknown(envelopeFields)
		}
	}
	if !l.End() || !env.HasCode {
		target.empty()
		return Envelope{}, false
	}
	return env, true
}

// FastBare reads a document that has no envelope, if it is as documented. Else it
// reports false and leaves the struct empty.
func FastBare(body []byte, target Target) bool {
	if target.Read == nil {
		return false
	}
	l := lexer.New(body)
	defer l.Release()
	l.Share(target.Share)
	target.Read(l)
	if !l.End() {
		target.empty()
		return false
	}
	return true
}

func (t Target) empty() { reflect.ValueOf(t.Into).Elem().SetZero() }
