// The signature and the body of a webhook delivery.

package hotelstays_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	hookSecret = "CANARY-signing-secret-0001"
	hookNext   = "CANARY-signing-secret-0002"

	signatureHeader = "X-Platform-Signature"
	eventIDHeader   = "X-Platform-Event-Id"
)

// hookMAC computes the signature without code of the package.
func hookMAC(secret, stamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	io.WriteString(mac, stamp+"."+body)
	return hex.EncodeToString(mac.Sum(nil))
}

func hookSign(secret string, at time.Time, body string) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return "t=" + stamp + ",v1=" + hookMAC(secret, stamp, body)
}

func hookBody(reference string, kind types.EventKind, eventTime int64) string {
	return fmt.Sprintf(`{"customerReferenceNo":%q,"hotelConfirmNo":"HC-1","event":%q,"eventTime":%d}`, reference, kind, eventTime)
}

var hookPaid = hookBody("ref-1", types.EventOrderPaid, 946684800123)

func hookHeader(signatures ...string) http.Header {
	h := http.Header{}
	for _, s := range signatures {
		h.Add(signatureHeader, s)
	}
	return h
}

func hookOptions(changes ...func(*hotelstays.WebhookOptions)) hotelstays.WebhookOptions {
	opts := hotelstays.WebhookOptions{Secrets: []types.Secret{types.NewSecret(hookSecret)}}
	for _, change := range changes {
		change(&opts)
	}
	return opts
}

func verifying(o hotelstays.WebhookOptions) hotelstays.VerifyWebhookOptions {
	return hotelstays.VerifyWebhookOptions{Secrets: o.Secrets, AllowUnsigned: o.AllowUnsigned, Account: o.Account, Tolerance: o.Tolerance}
}

func hookVerifying(changes ...func(*hotelstays.WebhookOptions)) hotelstays.VerifyWebhookOptions {
	return verifying(hookOptions(changes...))
}

// hookRefused requires a WebhookError that matches condition. The error must quote no secret and nothing of the
// delivery.
func hookRefused(t *testing.T, err, condition error, what string) {
	t.Helper()
	require.ErrorAs(t, err, new(*hotelstays.WebhookError), what)
	assert.ErrorIs(t, err, condition, what)
	assert.NotContains(t, err.Error(), "CANARY", what)
	assert.NotContains(t, err.Error(), "ref-1", what)
}

func TestVerifyWebhookReturnsTheEvent(t *testing.T) {
	now := time.Now()
	h := hookHeader(hookSign(hookSecret, now, hookPaid))
	h.Set(eventIDHeader, "evt-1")
	body := []byte(hookPaid)
	event, err := hotelstays.VerifyWebhook(body, h, hookVerifying(func(o *hotelstays.WebhookOptions) { o.Account = "acme" }))
	require.NoError(t, err)
	clear(body) // the event has its own copy of the body
	assert.Equal(t, &hotelstays.WebhookEvent{CustomerReferenceNo: "ref-1", HotelConfirmNo: "HC-1", Kind: types.EventOrderPaid,
		EventTime: 946684800123, Account: "acme", ID: "evt-1", Signed: true, SignedAt: time.Unix(now.Unix(), 0), Raw: []byte(hookPaid)}, event)
	assert.Equal(t, "2000-01-01T00:00:00.123Z", event.Time().UTC().Format(time.RFC3339Nano))
	assert.True(t, (&hotelstays.WebhookEvent{}).Time().IsZero(), "an event without a time has the zero Time")
}

func TestVerifyWebhookAcceptsEachSecretOfARotation(t *testing.T) {
	now := time.Now()
	stamp := strconv.FormatInt(now.Unix(), 10)
	old, next := hookMAC(hookSecret, stamp, hookPaid), hookMAC(hookNext, stamp, hookPaid)
	stranger := hookMAC("of somebody else", stamp, hookPaid)
	both := []types.Secret{types.NewSecret(hookSecret), types.NewSecret(hookNext)}
	for _, row := range []struct {
		name    string
		secrets []types.Secret
		v1      []string
		good    bool
	}{
		{"the first of two secrets", both, []string{old}, true},
		{"the second of two secrets", both, []string{next}, true},
		{"the only secret, first of two signatures", both[:1], []string{old, next}, true},
		{"the only secret, among other signatures", both[1:], []string{stranger, old, next, stranger}, true},
		{"a secret that was removed", both[1:], []string{old}, false},
		{"signatures with an unknown secret", both, []string{stranger, stranger}, false},
		{"a signature with an empty secret", both, []string{hookMAC("", stamp, hookPaid)}, false},
	} {
		h := hookHeader("t=" + stamp + ",v1=" + strings.Join(row.v1, ",v1="))
		event, err := hotelstays.VerifyWebhook([]byte(hookPaid), h, hotelstays.VerifyWebhookOptions{Secrets: row.secrets})
		if !row.good {
			hookRefused(t, err, hotelstays.ErrWebhookSignature, row.name)
			assert.Nil(t, event, row.name)
			continue
		}
		require.NoError(t, err, row.name)
		assert.True(t, event.Signed, row.name)
	}
}

func TestVerifyWebhookRefusesTimesOutsideTheTolerance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tolerance := range []time.Duration{0, 10 * time.Second, time.Hour} {
			opts := hookVerifying(func(o *hotelstays.WebhookOptions) { o.Tolerance = tolerance })
			edge := cmp.Or(tolerance, 300*time.Second)
			for _, row := range []struct {
				off  time.Duration
				good bool
			}{{0, true}, {-edge, true}, {edge, true}, {-edge - time.Second, false}, {edge + time.Second, false}, {1000 * edge, false}} {
				event, err := hotelstays.VerifyWebhook([]byte(hookPaid), hookHeader(hookSign(hookSecret, time.Now().Add(row.off), hookPaid)), opts)
				if row.good {
					require.NoError(t, err, "%s of %s", row.off, edge)
					assert.True(t, event.SignedAt.Equal(time.Now().Add(row.off)))
				} else {
					hookRefused(t, err, hotelstays.ErrWebhookTime, fmt.Sprintf("%s of %s", row.off, edge))
				}
			}
		}
		// The tolerance is exact to the nanosecond.
		h := hookHeader(hookSign(hookSecret, time.Now(), hookPaid))
		time.Sleep(300 * time.Second)
		_, err := hotelstays.VerifyWebhook([]byte(hookPaid), h, hookVerifying())
		require.NoError(t, err)
		time.Sleep(time.Nanosecond)
		_, err = hotelstays.VerifyWebhook([]byte(hookPaid), h, hookVerifying())
		hookRefused(t, err, hotelstays.ErrWebhookTime, "a nanosecond later")
	})
}

func TestVerifyWebhookRefusesMalformedSignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stamp := strconv.FormatInt(time.Now().Unix(), 10)
		mac := hookMAC(hookSecret, stamp, hookPaid)
		signed := func(stamp string) string { return "t=" + stamp + ",v1=" + hookMAC(hookSecret, stamp, hookPaid) }
		good, bad, late := error(nil), hotelstays.ErrWebhookSignature, hotelstays.ErrWebhookTime
		for _, row := range []struct {
			name   string
			want   error
			header []string
		}{
			{"the documented form", good, []string{"t=" + stamp + ",v1=" + mac}},
			{"v1 before t", good, []string{"v1=" + mac + ",t=" + stamp}},
			{"upper-case hex", good, []string{"t=" + stamp + ",v1=" + strings.ToUpper(mac)}},
			{"other schemes beside v1", good, []string{"v0=zz,t=" + stamp + ",v2=" + mac[:10] + ",v1=" + mac + ",v10=,x=y=z"}},

			{"no signature header", hotelstays.ErrWebhookSignature, nil},
			{"an empty signature header", bad, []string{""}},
			{"no signed time", bad, []string{"v1=" + mac}},
			{"no v1", bad, []string{"t=" + stamp}},
			{"t without =", bad, []string{"t,v1=" + mac}},
			{"t twice, the second stale", bad, []string{"t=" + stamp + ",v1=" + mac + ",t=1"}},
			{"a space after the comma", bad, []string{"t=" + stamp + ", v1=" + mac}},
			{"a comma at the end", bad, []string{"t=" + stamp + ",v1=" + mac + ","}},
			{"a signed time with a sign", bad, []string{signed("+" + stamp)}},
			{"a signed time before 1970", bad, []string{signed("-1")}},
			{"a signed time in other digits", bad, []string{signed("٩٤٦٦٨٤٨٠٠")}},
			{"a signed time one beyond the range", bad, []string{signed("9223372036854775808")}},
			{"the last time of the range", late, []string{signed("9223372036854775807")}},
			{"a time that was not signed", bad, []string{"t=" + strconv.FormatInt(time.Now().Unix()+1, 10) + ",v1=" + mac}},
			{"v1 empty", bad, []string{"t=" + stamp + ",v1="}},
			{"v1 short", bad, []string{"t=" + stamp + ",v1=" + mac[:62]}},
			{"v1 with another first byte", bad, []string{"t=" + stamp + ",v1=00" + mac[2:]}},
			{"v1 with another last byte", bad, []string{"t=" + stamp + ",v1=" + mac[:62] + "00"}},
			{"v1 that is not hex", bad, []string{"t=" + stamp + ",v1=" + mac[:63] + "g"}},
			{"a malformed v1 beside a good one", bad, []string{"t=" + stamp + ",v1=" + mac + ",v1=zz"}},
			{"an upper-case V1", bad, []string{"t=" + stamp + ",V1=" + mac}},
			{"two valid signature headers", bad, []string{"t=" + stamp + ",v1=" + mac, "t=" + stamp + ",v1=" + mac}},
			{"a signature header above the length limit", bad, []string{"t=" + stamp + ",v1=" + mac + ",v0=" + strings.Repeat("0", 4096)}},
		} {
			event, err := hotelstays.VerifyWebhook([]byte(hookPaid), hookHeader(row.header...), hookVerifying())
			if row.want == nil {
				require.NoError(t, err, row.name)
				assert.True(t, event.Signed, row.name)
				continue
			}
			assert.Nil(t, event, row.name)
			hookRefused(t, err, row.want, row.name)
			if row.header == nil {
				continue
			}
			loose := hookVerifying(func(o *hotelstays.WebhookOptions) { o.AllowUnsigned = true })
			_, err = hotelstays.VerifyWebhook([]byte(hookPaid), hookHeader(row.header...), loose)
			hookRefused(t, err, row.want, row.name+", AllowUnsigned") // with AllowUnsigned, too, a signature must match
		}
	})
}

func TestErrorOfAnEmptyBodyNamesAMiddlewareThatReadIt(t *testing.T) {
	_, err := hotelstays.VerifyWebhook(nil, hookHeader(hookSign(hookSecret, time.Now(), hookPaid)), hookVerifying())
	hookRefused(t, err, hotelstays.ErrWebhookSignature, "no body")
	assert.ErrorContains(t, err, "if a middleware reads the body")
}

// A test cannot reliably measure whether a comparison takes constant time, so this test reads the source.
func TestVerifyWebhookComparesInConstantTime(t *testing.T) {
	source, err := os.ReadFile("internal/signature/signature.go")
	require.NoError(t, err)
	assert.Contains(t, string(source), "hmac.Equal(digest, sum)")
}

func TestUnsignedWebhookNeedsAllowUnsigned(t *testing.T) {
	_, err := hotelstays.VerifyWebhook([]byte(hookPaid), http.Header{}, hookVerifying())
	hookRefused(t, err, hotelstays.ErrWebhookSignature, "by default")
	for name, secrets := range map[string][]types.Secret{"with a secret": {types.NewSecret(hookSecret)}, "without": nil} {
		opts := hotelstays.VerifyWebhookOptions{Secrets: secrets, AllowUnsigned: true}
		event, err := hotelstays.VerifyWebhook([]byte(hookPaid), http.Header{}, opts)
		require.NoError(t, err, name)
		assert.False(t, event.Signed, name)
		assert.True(t, event.SignedAt.IsZero(), name)
	}
	// Without a secret the signature cannot be checked, so the event is unsigned.
	signed := hookHeader(hookSign("", time.Now(), hookPaid))
	event, err := hotelstays.VerifyWebhook([]byte(hookPaid), signed, hotelstays.VerifyWebhookOptions{AllowUnsigned: true})
	require.NoError(t, err)
	assert.False(t, event.Signed)
}

func TestInvalidWebhookOptionsAreRefused(t *testing.T) {
	secrets := hookOptions().Secrets
	for field, opts := range map[string]hotelstays.WebhookOptions{
		"Secrets":      {},
		"Secrets[0]":   {Secrets: []types.Secret{{}}},
		"Secrets[1]":   {Secrets: []types.Secret{secrets[0], {}}, AllowUnsigned: true},
		"Secrets[2]":   {Secrets: []types.Secret{secrets[0], secrets[0], types.NewSecret("[redacted]")}},
		"Tolerance":    {Secrets: secrets, Tolerance: -1},
		"Retention":    {Secrets: secrets, Retention: -1},
		"Lease":        {Secrets: secrets, Lease: -1},
		"ReadTimeout":  {Secrets: secrets, ReadTimeout: -1},
		"MaxBodyBytes": {Secrets: secrets, MaxBodyBytes: -1},
	} {
		handler, err := hotelstays.NewWebhookHandler(opts, func(context.Context, *hotelstays.WebhookEvent) error { return nil })
		assert.Nil(t, handler)
		errs := []error{err}
		if strings.HasPrefix(field, "Secrets") || field == "Tolerance" {
			_, err = hotelstays.VerifyWebhook([]byte(hookPaid), hookHeader(hookSign("", time.Now(), hookPaid)), verifying(opts))
			errs = append(errs, err)
		}
		for _, err := range errs {
			assert.Contains(t, errorAs[*hotelstays.ValidationError](t, err).Fields[0].Path, field)
			assert.NotContains(t, err.Error(), "CANARY")
		}
	}
	_, err := hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{}, nil)
	assert.Equal(t, []string{"Secrets", "fn"}, faultPaths(t, err), "one error lists all faults")
}

func hookVerify(body string) (*hotelstays.WebhookEvent, error) {
	return hotelstays.VerifyWebhook([]byte(body), hookHeader(hookSign(hookSecret, time.Now(), body)), hookVerifying())
}

func TestVerifyWebhookAcceptsUndocumentedKindsAndFields(t *testing.T) {
	const created = types.EventOrderCreated
	type event = hotelstays.WebhookEvent
	for _, row := range []struct {
		body string
		want event
	}{
		{`{"customerReferenceNo":"r","event":"order_on_fire","eventTime":1}`, event{Kind: "order_on_fire", EventTime: 1}},
		{`{"customerReferenceNo":"r","event":"order_created"}`, event{Kind: created}},
		{"{ \"new\" : {\"n\":1.0,\"e\":1e2,\"u\":\"\\u00e9<>\"},\r\n\t\"customerReferenceNo\":\"r\"," +
			"\"event\":\"order_created\",\"new\":[null]} \n", event{Kind: created}},
		{`{"customerReferenceNo":"r","event":"order_created","eventTime":"soon","hotelConfirmNo":12}`,
			event{HotelConfirmNo: "12", Kind: created}},
		{`{"eventTime":1.5,"hotelConfirmNo":["a"],"customerReferenceNo":"r","event":"order_created"}`, event{Kind: created}},
		{`{"eventTime":99999999999999999999,"customerReferenceNo":"r","event":"order_created","hotelConfirmNo":null}`, event{Kind: created}},
		{`{"customerReferenceNo":"r","event":"order_created","account":"forged","id":"forged","signedAt":7,"raw":[]}`, event{Kind: created}},
	} {
		event, err := hookVerify(row.body)
		require.NoError(t, err, row.body)
		assert.Equal(t, row.body, string(event.Raw), "byte for byte")
		row.want.CustomerReferenceNo, row.want.Raw, row.want.Signed, row.want.SignedAt = "r", event.Raw, true, event.SignedAt
		row.want.Account = event.Account
		assert.Equal(t, &row.want, event, row.body)

		queued, err := json.Marshal(event)
		require.NoError(t, err)
		var copied hotelstays.WebhookEvent
		require.NoError(t, json.Unmarshal(queued, &copied))
		assert.Equal(t, event.Keys(), copied.Keys(), "the copy of an event has the same keys")
		assert.True(t, event.SignedAt.Equal(copied.SignedAt))
		copied.SignedAt = event.SignedAt
		assert.Equal(t, event, &copied)
	}
}

var hookNoEvents = []string{
	"", " ", "null", "true", "12", `"ref-1"`, "[]", `[{"customerReferenceNo":"ref-1","event":"order_paid"}]`, "{}", "{", "\x00", "\xff",
	`{"event":"order_paid","eventTime":1}`, `{"customerReferenceNo":"ref-1"}`, `{"customerReferenceNo":"","event":"order_paid"}`,
	`{"customerReferenceNo":"ref-1","event":""}`, `{"customerReferenceNo":"ref-1","event":null}`,
	`{"customerReferenceNo":1,"event":"order_paid"}`, `{"customerReferenceNo":"ref-1","event":2}`, `{"customerReferenceNo":1,"event":2}`,
	`{"customerReferenceNo":[7],"event":"order_paid"}`, `{"customerReferenceNo":"ref-1","event":{"kind":"order_paid"}}`,
	hookPaid + "x", hookPaid + hookPaid, hookPaid[:len(hookPaid)-1], "callback=" + hookPaid, "<html>ref-1</html>", "\xef\xbb\xbf" + hookPaid,
	strings.Repeat("[", 20000), strings.Repeat(`{"customerReferenceNo":`, 20000),
}

func TestBodyWithoutAnEventIsRefused(t *testing.T) {
	for _, body := range hookNoEvents {
		event, err := hookVerify(body)
		assert.Nil(t, event)
		hookRefused(t, err, hotelstays.ErrWebhookBody, fmt.Sprintf("%.40q", body))
	}
}

// NOW and MAC in the fuzzed header stand for the current time and the valid signature. The test
// checks each accepted header again, with simpler code.
func FuzzWebhookSignature(f *testing.F) {
	f.Fuzz(func(t *testing.T, header string) {
		now := strconv.FormatInt(time.Now().Unix(), 10)
		header = strings.NewReplacer("NOW", now, "MAC", hookMAC(hookSecret, now, hookPaid)).Replace(header)
		event, err := hotelstays.VerifyWebhook([]byte(hookPaid), hookHeader(header), hookVerifying())
		if err != nil {
			if event != nil || !errors.As(err, new(*hotelstays.WebhookError)) || errors.Is(err, hotelstays.ErrWebhookBody) {
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
		off := time.Since(event.SignedAt).Abs()
		if err != nil || len(good) == 0 || !event.Signed || event.SignedAt.Unix() != seconds || off > 302*time.Second {
			t.Fatalf("%q: accepted: %v %v %+v", header, err, good, event)
		}
	})
}

// A signed body is an event if and only if it is a JSON object with a reference and a
// kind. Raw is the unchanged body.
func FuzzWebhookBody(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		sent := bytes.Clone(body)
		event, err := hookVerify(string(body))
		if !bytes.Equal(sent, body) {
			t.Fatal("the body was written to")
		}
		if err != nil {
			if event != nil || !errors.As(err, new(*hotelstays.WebhookError)) || !errors.Is(err, hotelstays.ErrWebhookBody) {
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
		r := newHookReceiver()
		if first, second := r.send("", string(body)), r.send("", string(body)); first != 200 || second != 200 || r.runs() != 1 {
			t.Fatalf("%q: %d, %d, %d runs", body, first, second, r.runs())
		}
	})
}

// fuzzMembers returns the string members of a JSON object. It returns nil if a name is repeated or body is no object.
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

// An unsigned event has only one key. Events of two accounts never have a key in common.
func TestDuplicateEventsShareAKey(t *testing.T) {
	event := func(id, reference string, kind types.EventKind, at int64, body string) hotelstays.WebhookEvent {
		return hotelstays.WebhookEvent{ID: id, CustomerReferenceNo: reference, Kind: kind, EventTime: at, Raw: []byte(body)}
	}
	for name, tc := range map[string]struct {
		event, other     hotelstays.WebhookEvent
		signed, unsigned int
		same             bool // both events have the same unsigned keys
	}{
		"the same id": {event("evt-1", "ref-1", types.EventOrderPaid, 1, "{}"),
			event("evt-1", "ref-2", types.EventOrderCreated, 2, ""), 2, 1, true},
		"the same reference and kind": {event("", "ref-1", types.EventOrderPaid, 1, "{}"),
			event("", "ref-1", types.EventOrderPaid, 2, ""), 2, 1, true},
		"the same reference, kind and time": {event("", "ref-1", types.EventOrderModified, 1, "{}"),
			event("", "ref-1", types.EventOrderModified, 1, ""), 2, 1, true},

		"an unknown kind at another time": {event("", "ref-1", "order_upgraded", 1, "{}"), event("", "ref-1", "order_upgraded", 2, ""),
			2, 1, false},
		"an unknown kind, without a time": {event("", "ref-1", "order_upgraded", 0, "{}"), event("", "ref-1", "order_upgraded", 0, ""),
			1, 1, false},
		"order_cancelled at another time": {event("", "ref-1", types.EventOrderCancelled, 1, "{}"),
			event("", "ref-1", types.EventOrderCancelled, 2, ""), 2, 1, true},

		"no id and no time": {event("", "ref-1", types.EventOrderModified, 0, "{}"), event("", "ref-1", types.EventOrderModified, 0, ""),
			1, 1, false},
		"order_modified at another time": {event("", "ref-1", types.EventOrderModified, 1, "{}"),
			event("", "ref-1", types.EventOrderModified, 2, ""), 2, 1, false},
		"another reference": {event("", "ref-1", types.EventOrderPaid, 1, "{}"),
			event("", "ref-2", types.EventOrderPaid, 1, ""), 2, 1, false},
		"reference and kind that are equal only when joined": {event("", "ref-1", "order_paid", 1, "{}"), event("", "ref-1order_", "paid",
			1, "{}"), 2, 1, false},
	} {
		assert.Len(t, tc.event.Keys(), tc.unsigned, name)
		assert.Equal(t, tc.same, slices.Equal(tc.event.Keys(), tc.other.Keys()), name)
		tc.event.Signed = true
		assert.Len(t, tc.event.Keys(), tc.signed, name)
		named := tc.event
		named.Account = "acme"
		assert.Len(t, slices.Compact(slices.Sorted(slices.Values(append(named.Keys(), tc.event.Keys()...)))), 2*tc.signed, name)
	}
}
