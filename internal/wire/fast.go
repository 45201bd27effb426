// The fast path: generated code reads an answer of the documented types in one pass.

package wire

import "context"

//go:generate go run ./decodegen ../..

// Fast decodes a success whose data has the documented types. It reports false for
// everything else, and leaves the struct empty.
func Fast(ctx context.Context, body []byte, target Target) (Envelope, bool) {
	return target.fastEnvelope(newLexer(ctx, body, memoryBudget(len(body))))
}

// FastFrom is Fast for an answer that may still arrive. It has read all of it if it reports true.
func FastFrom(ctx context.Context, feed *Feed, target Target) (Envelope, bool) {
	return target.fastEnvelope(newFedLexer(ctx, feed))
}

// FastBare decodes a document without an envelope, as Fast decodes data.
func FastBare(ctx context.Context, body []byte, target Target) bool {
	return target.fast(newLexer(ctx, body, memoryBudget(len(body))), nil)
}

func (t Target) fastEnvelope(l *Lexer) (Envelope, bool) {
	var env Envelope
	if !t.fast(l, &env) {
		return Envelope{}, false
	}
	return env, true
}

// fast decodes an answer, or without an envelope its data.
func (t Target) fast(l *Lexer, env *Envelope) bool {
	defer l.release()
	switch {
	case t.Read == nil:
		return false
	case env != nil:
		t.readEnvelope(l, env)
	default:
		t.readData(l)
	}
	if !l.end() || l.feed != nil && l.feed.err != nil {
		t.empty()
		return false
	}
	return true
}

func (t Target) readEnvelope(l *Lexer, env *Envelope) {
	var seen Seen
	for more := l.Object(); more; more = l.Member() {
		switch string(l.Name()) {
		case "code":
			l.Once(&seen, 0)
			if l.null() || l.Int() != 0 {
				l.fail()
			}
			env.HasCode = true
		case "msg":
			l.Once(&seen, 1)
			l.peek()
			begin := l.pos
			if env.Msg = l.String(); l.pos-begin > maxMsg {
				l.fail()
			}
		case "data":
			l.Once(&seen, 2)
			if l.null() {
				l.fail()
			}
			t.readData(l)
			env.HasData = true
		default:
			l.Unknown("code", "data")
		}
	}
	if !env.HasCode {
		l.fail()
	}
}

func (t Target) readData(l *Lexer) {
	l.internStrings(t.InternStrings)
	t.Read(l)
	l.internStrings(false)
}
