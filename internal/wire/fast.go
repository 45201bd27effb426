// The fast path: one pass over an answer that is as documented, without encoding/json.

package wire

import (
	"context"
	"math"
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

// Fast reads a success whose data is as documented. It reports false for everything
// else, and leaves the struct empty.
func Fast(ctx context.Context, body []byte, target Target) (Envelope, bool) {
	if target.Read == nil {
		return Envelope{}, false
	}
	l := lexer.New(body)
	defer l.Release()
	l.Guard(ctx, budget(len(body)))
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
			l.Peek()
			begin := l.Offset()
			if env.Msg = l.String(); l.Offset()-begin > maxMsg {
				l.GiveUp()
			}
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
			l.Unknown("code", "data")
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
func FastBare(ctx context.Context, body []byte, target Target) bool {
	return target.fast(ctx, body, budget(len(body)))
}

func (t Target) fast(ctx context.Context, text []byte, budget int) bool {
	if t.Read == nil {
		return false
	}
	l := lexer.New(text)
	defer l.Release()
	l.Guard(ctx, budget)
	l.Share(t.Share)
	t.Read(l)
	if !l.End() {
		t.empty()
		return false
	}
	return true
}

// read reads a text that a walk has left. One that it has changed may now be as
// documented.
func (t Target) read(ctx context.Context, text []byte, changed bool) error {
	if changed && t.fast(ctx, text, math.MaxInt) {
		return nil
	}
	err := standard(ctx, text, t.Into)
	if err != nil {
		t.empty()
	}
	return err
}

func (t Target) shape() *shape { return shapeOf(reflect.TypeOf(t.Into).Elem()) }

func (t Target) empty() { reflect.ValueOf(t.Into).Elem().SetZero() }
