// Formatting of structs with secrets.
//
// types.Secret does not print, but fmt stops asking values how they print once it
// meets a verb that does not fit, such as %s for a pointer inside a slice. So the
// structs that hold a secret format themselves, and fmt never gets that far. Verbs
// are those that types.Secret is redacted under: all but %p and %w.

package hotelstays

import "fmt"

// Format shows the secret redacted under every verb.
func (t TicketCredential) Format(f fmt.State, verb rune) {
	type outer = TicketCredential
	type TicketCredential outer // the same name, and no methods
	format(f, verb, TicketCredential(t))
}

// Format shows the secret redacted under every verb.
func (o OAuthCredential) Format(f fmt.State, verb rune) {
	type outer = OAuthCredential
	type OAuthCredential outer // the same name, and no methods
	format(f, verb, OAuthCredential(o))
}

// Format shows the token redacted under every verb.
func (t Token) Format(f fmt.State, verb rune) {
	type outer = Token
	type Token outer // the same name, and no methods
	format(f, verb, Token(t))
}

// Format shows the secret redacted under every verb.
func (r TicketRequest) Format(f fmt.State, verb rune) {
	type outer = TicketRequest
	type TicketRequest outer // the same name, and no methods
	format(f, verb, TicketRequest(r))
}

// Format shows the ticket redacted under every verb.
func (r TicketResponse) Format(f fmt.State, verb rune) {
	type outer = TicketResponse
	type TicketResponse outer // the same name, and no methods
	format(f, verb, TicketResponse(r))
}

// Format shows the secret redacted under every verb.
func (r OAuthTokenRequest) Format(f fmt.State, verb rune) {
	type outer = OAuthTokenRequest
	type OAuthTokenRequest outer // the same name, and no methods
	format(f, verb, OAuthTokenRequest(r))
}

// Format shows the token redacted under every verb.
func (r OAuthTokenResponse) Format(f fmt.State, verb rune) {
	type outer = OAuthTokenResponse
	type OAuthTokenResponse outer // the same name, and no methods
	format(f, verb, OAuthTokenResponse(r))
}

// Format shows passport numbers redacted under every verb.
func (r BookRequest) Format(f fmt.State, verb rune) {
	type outer = BookRequest
	type BookRequest outer // the same name, and no methods
	format(f, verb, BookRequest(r))
}

// format prints v, which has no methods, as f and verb ask.
func format(f fmt.State, verb rune, v any) { fmt.Fprintf(f, fmt.FormatString(f, verb), v) }
