// Panics in the client's own goroutines.

package transport

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Recovered is deferred in the client's own goroutines, where a panic of a RoundTripper, an Observer or a store would
// end the process. The panic becomes an error that names only the type of the panic's value, because the text of the
// value may quote a request with its token. The stack in the log shows no value, but only addresses of values.
func Recovered(err *error, log *slog.Logger, what string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("hotelstays: %s panicked with a value of type %T; the log of WithLogger has the stack", what, p)
		log.Error("recovered a panic", slog.String("in", what), slog.String("type", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
	}
}
