// What answers are read into: the struct, and the function that was generated for it.

package hotelstays

import (
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/internal/wire/lexer"
)

// generated is a struct that decode_gen.go has a function for: every response, and
// the webhook event, unless the build tag hotelstays_stdjson leaves them out.
type generated interface{ decode(*lexer.Lexer) }

// target makes a target of a struct. Texts of what is impersonal are shared with
// other answers.
func target(into any, impersonal bool) wire.Target {
	t := wire.Target{Into: into, Share: impersonal}
	if g, ok := into.(generated); ok {
		t.Read = g.decode
	}
	return t
}
