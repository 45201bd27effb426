// The table of operations, and names of operations that the API does not have.

package hotelstaystest

import (
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

// Operation names an operation in faults and in the ledger.
type Operation = types.Operation

// The operations for which the sandbox has special rules.
const (
	opTicket       Operation = "Ticket"
	opOAuthToken   Operation = "OAuthToken"
	opBook         Operation = "Book"
	opQueryOrders  Operation = "QueryOrders"
	opOrderVoucher Operation = "OrderVoucher"
	opCancel       Operation = "Cancel"
)

// Further operations of the server: the GETs of a voucher's downloadUrl and verifyUrl, and a delivery
// to a callbackUrl. Only faults use OpWebhook.
const (
	OpVoucherDownload Operation = "VoucherDownload"
	OpVoucherVerify   Operation = "VoucherVerify"
	OpWebhook         Operation = "Webhook"
)

var allScopes = []types.Scope{
	types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead, types.ScopeBookingWrite, types.ScopeBookingCancel,
}

// sessionRule says whether an operation takes the Session-Id header.
type sessionRule int

const (
	sessionNone     sessionRule = iota // a request with a Session-Id is refused
	sessionOptional                    // a request without a Session-Id starts a session
	sessionRequired                    // a request must have a known Session-Id
)

// runner decodes a request body and executes the operation.
type runner interface {
	run(s *Server, c *call, body []byte) (any, error)
}

type operation struct {
	name    Operation
	session sessionRule // sessionNone also forbids the headers Currency, Test and Timeout-Milliseconds
	scope   types.Scope // empty: the operation takes no Authorization header
	runner              // nil for the GET of a document
	summary string      // for openapi.json
}

// operations returns the POST operations. Each is declared in the file of the function that executes it.
func operations() []operation {
	return slices.Concat(authOperations, contentOperations, searchOperations, orderOperations)
}

// Operations returns every operation that a [Fault] can name: first the operations of the API, then the operations that
// this package adds.
func Operations() []Operation {
	names := []Operation{}
	for _, op := range operations() {
		names = append(names, op.name)
	}
	return append(names, OpVoucherDownload, OpVoucherVerify, OpWebhook)
}

func namesOf(matches func(*operation) bool) string {
	var names []string
	for _, op := range operations() {
		if matches(&op) {
			names = append(names, string(op.name))
		}
	}
	return strings.Join(names, ", ")
}
