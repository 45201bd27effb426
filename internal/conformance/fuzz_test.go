// Fuzz targets: the client reads or refuses any answer, without a panic and without a secret in a text.

package conformance_test

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// fuzzToken is the secret that each call sends, as a token or, with Ticket and OAuthToken, as the secret of a
// credential. In each fuzzed answer, fuzzAnswer replaces the text TOKEN by fuzzToken.
const fuzzToken = "CANARY-token-of-the-client-0001"

// fuzzCalls has a call of every operation. Ticket and OAuthToken, which fetch tokens, send fuzzToken as the secret of
// the credential.
var fuzzCalls = func() map[hotelstays.Operation]testkit.Call {
	calls := maps.Clone(operationCalls)
	calls[hotelstays.OpTicket] = callOf((*hotelstays.Client).Ticket,
		&hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(fuzzToken)}).err
	calls[hotelstays.OpOAuthToken] = callOf((*hotelstays.Client).OAuthToken,
		&hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret(fuzzToken)}).err
	return calls
}()

// fuzzAnswer gives every operation the same answer. Each call must return a result, or an error of a type of this
// module. No error may contain fuzzToken.
func fuzzAnswer(t *testing.T, status int, contentType string, body []byte) {
	if bytes.Contains(body, []byte("CANARY")) {
		return // this canary is not from the client, so an error may quote the canary
	}
	body = bytes.ReplaceAll(body, []byte("TOKEN"), []byte(fuzzToken))
	rt := transportFunc(func(*http.Request) (*http.Response, error) {
		resp := reply(status, string(body))
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	})
	client := clientWith(t, rt, bearerToken(fuzzToken), hotelstays.WithRateLimiter(noLimits{}))
	for _, op := range slices.Sorted(maps.Keys(fuzzCalls)) {
		err := fuzzCalls[op](t.Context(), client, hotelstays.WithRawData())
		if err == nil {
			if status < 200 || status > 299 {
				t.Fatalf("%s: success with HTTP %d and %q", op, status, body)
			}
			continue
		}
		if problem := fuzzError(op, err); problem != "" {
			t.Fatalf("%s: HTTP %d, %q: %s: %#v: %v", op, status, body, problem, err, err)
		}
	}
}

func fuzzError(op hotelstays.Operation, err error) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), "CANARY") {
			return "a secret"
		}
	}
	switch e := err.(type) {
	case *hotelstays.APIError, *hotelstays.DecodeError:
	case *hotelstays.TransportError:
		if e.Sent && mutating[op] {
			return "the request may have arrived"
		}
	case *hotelstays.OutcomeUnknownError:
		if !mutating[op] || e.CustomerReferenceNo != "ref-1" {
			return "the outcome is not unknown"
		}
		switch e.Err.(type) {
		case *hotelstays.APIError, *hotelstays.DecodeError, *hotelstays.TransportError:
		default:
			return "the cause is not an error of this module"
		}
	default:
		return "it is not an error of this module"
	}
	return ""
}

// FuzzEnvelope fuzzes whole answers.
func FuzzEnvelope(f *testing.F) {
	f.Fuzz(func(t *testing.T, status uint16, contentType string, body []byte) {
		fuzzAnswer(t, 200+int(status%400), contentType, body)
	})
}

// FuzzResponses fuzzes the data of a successful answer.
func FuzzResponses(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzAnswer(t, 200, "application/json", slices.Concat([]byte(`{"code":0,"msg":"","data":`), data, []byte("}")))
	})
}
