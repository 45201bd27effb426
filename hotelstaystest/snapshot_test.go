// Snapshots: a server that loads one goes on as the one that was saved.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// busy makes a server with something of everything, two of whose deliveries wait for a retry.
func busy(t *testing.T) (*Server, *controller) {
	t.Helper()
	refuse := func(n int, _ *http.Request) int { return map[bool]int{true: 500, false: 200}[n == 0 || n == 2] }
	s, c := controlled(t, WithCallbackHandler(&receiver{answer: refuse}), WithWebhookRetryDelays(5*time.Minute))
	u := login(t, s)
	in, order := u.bookWithCallback("cancelled", hook)
	s.ConfirmOrder("cancelled")
	s.AmendOrder("cancelled")
	synctest.Wait()
	in.must(cancelPath, cancellation("cancelled", order))
	in, ids := u.find(nil)
	s.MoveRate(ids[3], 10)
	s.MoveRate(ids[3], 5)
	s.CloseRate(ids[4])
	s.Advance(time.Minute)
	more := guests("Guest", "Two")
	more["guests"].([]object)[0]["passportNumber"] = "X4711"
	more["callbackUrl"] = hook
	in.header("Currency", "JPY").must(bookPath, booking("waiting", ids[5], more))
	s.FailVoucher("cancelled")
	s.SetCancelRule("waiting", CancelForbiddenByContract)
	s.HideOrder("waiting", 2*time.Minute)
	s.Inject(Fault{Operation: OpCancel, Kind: FaultStatus, Skip: 2, Times: 3, Delay: time.Second, Body: []byte{},
		Header: http.Header{"X": {"y"}}})
	synctest.Wait()
	return s, c
}

// seen is what clients and the control API see of a server.
func seen(t *testing.T, s *Server, c *controller) string {
	t.Helper()
	u := login(t, s)
	var text strings.Builder
	write := func(body []byte) {
		text.Write(body)
		text.WriteByte('\n')
	}
	write(u.must(queryPath, "{}").body)
	write([]byte(u.must(voucherPath, object{"customerReferenceNo": "waiting"}).str("status")))
	for _, path := range []string{"orders", "offers", "faults", "webhooks", "clock"} {
		write(c.call("GET", "/_sandbox/"+path, nil).body)
	}
	return ofOneServer.ReplaceAllString(text.String(), "")
}

// ofOneServer matches what another server makes anew: event ids, and the numbers of faults.
var ofOneServer = regexp.MustCompile(`evt_[0-9a-f]+|"id":[0-9]+,`)

// differ returns where two texts differ first.
func differ(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-100)
	return fmt.Sprintf("got  %.200s\nwant %.200s", got[from:], want[from:])
}

func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := busy(t)
		saved := c.call("GET", "/_sandbox/snapshot", nil)
		want := seen(t, s, c)
		later := func(s *Server, c *controller) string {
			s.Advance(30 * time.Minute)
			return seen(t, s, c)
		}
		done := fmt.Sprint(len(s.Advance(time.Minute)))
		wantLater := done + later(s, c)
		if strings.Contains(wantLater, `"state":"pending"`) || !strings.Contains(want, `"state":"pending"`) || !strings.Contains(want, "JPY") {
			t.Fatal("nothing is pending, or remains so")
		}

		rc := &receiver{}
		other, oc := controlled(t, WithCallbackHandler(rc), WithWebhookRetryDelays(5*time.Minute))
		for range 2 { // into a new server, and again over what it did since
			login(t, other).book("gone", 0)
			oc.must("PUT", "/_sandbox/snapshot", string(saved.body), nil)
			if got := seen(t, other, oc); got != want {
				t.Error(differ(got, want))
			}
			done := fmt.Sprint(len(other.Advance(time.Minute)))
			if got := done + later(other, oc); got != wantLater {
				t.Errorf("later: %s", differ(got, wantLater))
			}
			synctest.Wait()
		}
	})
}

func TestSnapshotRestoresTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := busy(t)
		var saved snapshot
		c.must("GET", "/_sandbox/snapshot", nil, &saved)
		time.Sleep(time.Hour)
		if len(s.Ledger().Orders()[1].History) != 2 {
			t.Error("not confirmed in an hour")
		}
		c.must("PUT", "/_sandbox/snapshot", saved, nil)
		if !s.Now().Equal(saved.Now) || len(s.Ledger().Orders()[1].History) != 1 {
			t.Errorf("now %v, want %v", s.Now(), saved.Now)
		}
		time.Sleep(3 * time.Minute)
		if len(s.Ledger().Orders()[1].History) != 2 {
			t.Error("not confirmed in time")
		}
	})
}

func TestSnapshotsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := busy(t)
		saved := string(c.call("GET", "/_sandbox/snapshot", nil).body)
		before := seen(t, s, c)
		for _, tc := range []struct{ from, to, field, text string }{
			{`"version":1`, `"version":2`, "version", "must be 1"},
			{`"seed":1`, `"seed":2`, "seed", "seed 2"},
			{`"roomsPerHotel":3`, `"roomsPerHotel":4`, "catalog", "another catalog"},
			{`"now":"2000`, `"now":"2020`, "now", "real time"},
			{`"now":"2000`, `"now":"20x0`, "now", "parsing"},
			{`"account":"sandbox`, `"account":"other`, "orders[0].account", "not an account"},
			{`"customerReferenceNo":"cancelled"`, `"customerReferenceNo":""`, "orders[0].customerReferenceNo", "required"},
			{`"customerReferenceNo":"waiting"`, `"customerReferenceNo":"cancelled"`, "orders[1].customerReferenceNo", "earlier order"},
			{`"platformReferenceNo":"PO000000002"`, `"platformReferenceNo":"PO000000003"`, "orders[1].platformReferenceNo", "PO000000002"},
			{`"supplierReferenceNo":"SUP317-000001"`, `"supplierReferenceNo":""`, "orders[0].supplierReferenceNo", "required"},
			{`"ratePkgId":"`, `"ratePkgId":"x`, "orders[0].ratePkgId", "not a ratePkgId"},
			{`"currency":"JPY"`, `"currency":"XXX"`, "orders[1].currency", "XXX"},
			{`"cents":`, `"cents":-`, "orders[0].cents", "must be from 1"},
			{`"callbackUrl":"http://localhost/hook"`, `"callbackUrl":"http://example.com/"`, "orders[0].callbackUrl", "https"},
			{`"callbackUrl":"http://localhost/hook"`, `"callbackUrl":"http://localhost/\u0001"`, "orders[0].callbackUrl", "absolute"},
			{`"status":3`, `"status":9`, "orders[0].history[2].status", "between 0 and 5"},
			{`"amended":1`, `"amended":-1`, "orders[0].amended", "negative"},
			{`"cancelRule":"allowed"`, `"cancelRule":"never"`, "orders[0].cancelRule", "never"},
			{`"createdAt":"`, `"createdAt":"x`, "orders[0].createdAt", "parsing"},
			{`"percents":[10,5]`, `"percents":[10,-500]`, "offers[", "above -100"},
			{`"event":"order_created"`, `"event":"order_created","eventID":"x"`, "webhooks[0].eventID", "unknown field"},
			{ofOneServer.FindString(saved), "", "webhooks[0].eventId", "required"},
			{`"state":"pending"`, `"state":"lost"`, "webhooks[", "unknown"},
			{regexp.MustCompile(`"body":"(\\.|[^"\\])+"`).FindString(saved), `"body":""`, "webhooks[0].body", "required"},
			{`"times":3`, `"times":-3`, "faults[0].times", "below -1"},
			{`"faults":`, `"more":`, "more", "unknown field"},
		} {
			if !strings.Contains(saved, tc.from) {
				t.Fatalf("%s is not in the snapshot", tc.from)
			}
			text := strings.Replace(saved, tc.from, tc.to, 1)
			a := c.call("PUT", "/_sandbox/snapshot", text)
			var got controlError
			json.Unmarshal(a.body, &got)
			if a.status != 400 && a.status != 409 || !strings.HasPrefix(got.Error.Field, tc.field) || !strings.Contains(got.Error.Message, tc.text) {
				t.Errorf("%s: HTTP %d %s", tc.to, a.status, a.body)
			}
		}
		if after := seen(t, s, c); after != before {
			t.Errorf("a refused snapshot changed the server: %s", differ(after, before))
		}
		c.must("PUT", "/_sandbox/snapshot", saved, nil)
	})
}
