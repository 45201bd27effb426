// The fast path: generated code reads an answer of the documented types in one pass.

package wire

import "context"

//go:generate go run ./decodegen ../..

// Fast decodes a success whose data has the documented types. It reports false for
// everything else, and leaves the struct empty.
func Fast(ctx context.Context, body []byte, target Target) (Envelope, bool) {
	var env Envelope
	ok := target.fast(ctx, body, memoryBudget(len(body)), func(l *Lexer) { target.readEnvelope(l, &env) })
	if !ok {
		return Envelope{}, false
	}
	return env, true
}

// FastBare decodes a document without an envelope, as Fast decodes data.
func FastBare(ctx context.Context, body []byte, target Target) bool {
	return target.fast(ctx, body, memoryBudget(len(body)), target.readData)
}

func (t Target) fast(ctx context.Context, text []byte, budget int, read func(*Lexer)) bool {
	if t.Read == nil {
		return false
	}
	l := newLexer(ctx, text, budget)
	defer l.release()
	read(l)
	if !l.end() {
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
