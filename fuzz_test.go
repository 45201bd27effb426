// Fuzz targets: whatever comes over the network is read or refused, without a panic
// and without a secret in a text. Their corpus is under testdata/fuzz.

package hotelstays_test

import (
	"bytes"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// FuzzWebhookSignature takes a header in which NOW and MAC stand for the true time
// and signature. What is accepted must hold, read by simpler means.
func FuzzWebhookSignature(f *testing.F) {
	f.Fuzz(func(t *testing.T, header string) {
		now := strconv.FormatInt(time.Now().Unix(), 10)
		header = strings.NewReplacer("NOW", now, "MAC", hookMAC(hookSecret, now, hookPaid)).Replace(header)
		event, err := hotelstays.VerifyWebhook([]byte(hookPaid), hookHeader(header), hookOptions())
		if err != nil {
			var refused *hotelstays.WebhookError
			if event != nil || !errors.As(err, &refused) || !errors.Is(err, hotelstays.ErrWebhookSignature) && !errors.Is(err, hotelstays.ErrWebhookTime) {
				t.Fatalf("%q: %v, %v", header, event, err)
			}
			if strings.Contains(err.Error(), "CANARY") {
				t.Fatalf("%q: a secret: %v", header, err)
			}
			return
		}
		var times, good []string
		for part := range strings.SplitSeq(header, ",") {
			if stamp, ok := strings.CutPrefix(part, "t="); ok {
				times = append(times, stamp)
			}
		}
		if len(times) != 1 {
			t.Fatalf("%q: accepted with %d times", header, len(times))
		}
		want, _ := hex.DecodeString(hookMAC(hookSecret, times[0], hookPaid))
		for part := range strings.SplitSeq(header, ",") {
			if got, err := hex.DecodeString(strings.TrimPrefix(part, "v1=")); err == nil && strings.HasPrefix(part, "v1=") && hmac.Equal(got, want) {
				good = append(good, part)
			}
		}
		seconds, err := strconv.ParseInt(times[0], 10, 64)
		if err != nil || len(good) == 0 || !event.Signed || event.SignedAt.Unix() != seconds || time.Since(event.SignedAt).Abs() > 302*time.Second {
			t.Fatalf("%q: accepted: %v %v %+v", header, err, good, event)
		}
	})
}

// FuzzWebhookBody takes a body, which is signed. It is an event exactly when it is a
// JSON object with a reference and a kind, and is kept as it came.
func FuzzWebhookBody(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		sent := bytes.Clone(body)
		event, err := hookVerify(string(body))
		if !bytes.Equal(sent, body) {
			t.Fatal("the body was written to")
		}
		if err != nil {
			var refused *hotelstays.WebhookError
			if event != nil || !errors.As(err, &refused) || !errors.Is(err, hotelstays.ErrWebhookBody) {
				t.Fatalf("%q: %v, %v", body, event, err)
			}
			if strings.Contains(err.Error(), "CANARY") {
				t.Fatalf("%q: a secret: %v", body, err)
			}
			if members := fuzzMembers(body); members["customerReferenceNo"] != "" && members["event"] != "" {
				t.Fatalf("%q: an event is lost: %v", body, err)
			}
			return
		}
		if !json.Valid(body) || !bytes.Equal(event.Raw, body) || event.CustomerReferenceNo == "" || event.Kind == "" || !event.Signed {
			t.Fatalf("%q: %+v", body, event)
		}
		r := newHookReceiver(hookOptions())
		if first, second := r.send("", string(body)), r.send("", string(body)); first != 200 || second != 200 || r.runs() != 1 {
			t.Fatalf("%q: %d, %d, %d runs", body, first, second, r.runs())
		}
	})
}

// fuzzMembers are the members of an object that are texts. There are none where a name
// comes twice: that is no event.
func fuzzMembers(body []byte) map[string]string {
	members := map[string]string{}
	dec := json.NewDecoder(bytes.NewReader(body))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') || !json.Valid(body) {
		return nil
	}
	for dec.More() {
		name, _ := dec.Token()
		var value any
		_ = dec.Decode(&value)
		if _, twice := members[name.(string)]; twice {
			return nil
		}
		members[name.(string)], _ = value.(string)
	}
	return members
}

// fuzzToken is the secret that each call sends: its token, or the secret that it
// asks for one with. TOKEN stands for it in an answer.
const fuzzToken = "CANARY-token-of-the-client-0001"

// fuzzCalls are the calls of every operation.
var fuzzCalls = func() map[hotelstays.Operation]operationCall {
	calls := maps.Clone(operationCalls)
	calls[hotelstays.OpTicket] = calling((*hotelstays.Client).Ticket, &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(fuzzToken)})
	calls[hotelstays.OpOAuthToken] = calling((*hotelstays.Client).OAuthToken, &hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret(fuzzToken)})
	return calls
}()

// fuzzAnswer sends one answer to every operation, and wants a result or a typed
// error that shows nothing of the call's secret.
func fuzzAnswer(t *testing.T, status int, contentType string, body []byte) {
	if bytes.Contains(body, []byte("CANARY")) {
		return // the fuzzer has found the canary itself
	}
	body = bytes.ReplaceAll(body, []byte("TOKEN"), []byte(fuzzToken))
	rt := transportFunc(func(*http.Request) (*http.Response, error) {
		resp := reply(status, string(body))
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	})
	client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret(fuzzToken)}, hotelstays.WithHTTPClient(&http.Client{Transport: rt}),
		hotelstays.WithMaxAttempts(1), hotelstays.WithRateLimiter(nilLimiter{}))
	if err != nil {
		t.Fatal(err)
	}
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

// fuzzError says what is wrong with an error of an answer.
func fuzzError(op hotelstays.Operation, err error) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), "CANARY") {
			return "a secret"
		}
	}
	acts := op == hotelstays.OpBook || op == hotelstays.OpCancel
	switch e := err.(type) {
	case *hotelstays.APIError, *hotelstays.DecodeError:
	case *hotelstays.TransportError:
		if e.Sent && acts {
			return "it may have arrived"
		}
	case *hotelstays.OutcomeUnknownError:
		if !acts || e.CustomerReferenceNo != "ref-1" {
			return "no unknown outcome"
		}
		switch e.Err.(type) {
		case *hotelstays.APIError, *hotelstays.DecodeError, *hotelstays.TransportError:
		default:
			return "the cause has no type of ours"
		}
	default:
		return "no type of ours"
	}
	return ""
}

// FuzzEnvelope takes whole answers.
func FuzzEnvelope(f *testing.F) {
	f.Fuzz(func(t *testing.T, status uint16, contentType string, body []byte) {
		fuzzAnswer(t, 200+int(status%400), contentType, body)
	})
}

// FuzzResponses takes the data of a successful answer, for each type of response.
func FuzzResponses(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzAnswer(t, 200, "application/json", slices.Concat([]byte(`{"code":0,"msg":"","data":`), data, []byte("}")))
	})
}

// FuzzCallbackURL wants every address that is accepted to be one of a public host,
// as the standard library reads it.
func FuzzCallbackURL(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw string) {
		err := hotelstays.ValidateCallbackURL(raw)
		if err != nil {
			if _, ok := errors.AsType[*hotelstays.ValidationError](err); !ok {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		req, err := http.NewRequest(http.MethodPost, raw, nil)
		if err != nil || req.URL.Scheme != "https" || !strings.ContainsAny(req.URL.Hostname(), ".:") {
			t.Fatalf("%q is accepted: %v", raw, err)
		}
	})
}
