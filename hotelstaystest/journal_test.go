package hotelstaystest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// journal returns the requests that the control API lists for a query.
func (c *controller) journal(query string) []journalRequest {
	c.t.Helper()
	var got struct{ Requests []journalRequest }
	c.must("GET", "/_sandbox/requests"+query, nil, &got)
	return got.Requests
}

func TestLedgerKeepsBodiesIfTheControlAPIIsEnabled(t *testing.T) {
	s, c := controlled(t)
	u := login(t, s)
	in, ids := u.find(nil)
	s.Inject(Fault{Operation: opBook, Kind: FaultCut, Commit: true})
	_, err := in.header("Trace-Id", "call").send(bookPath, booking("ref", ids[0], nil))
	failIf(t, err == nil, "no cut")
	in.header("Trace-Id", "call").must(bookPath, booking("ref", ids[0], nil))
	u.header("Trace-Id", "poll").must(queryPath, object{"customerReferenceNos": []string{"ref", "b\"é"}})
	u.post("/unknown", "not JSON \x00")
	u.must(queryPath, "{}")

	all := c.journal("")
	stopIf(t, len(all) != 7, "%+v", all)
	book, again, query, unknown := all[2], all[3], all[4], all[5]
	failIf(t, !book.Cut || !book.Executed || book.Fault != FaultCut || book.Status != 0 || book.Answer != "" ||
		!strings.Contains(book.Body, `"ratePkgId":"`+ids[0]) || !slices.Equal(book.References, []string{"ref"}), "%+v", book)
	failIf(t, again.TraceID != "call" || !slices.Equal(again.References, []string{"ref", "PO000000001"}) ||
		again.Status != 200 || !strings.Contains(again.Answer, "platformReferenceNo") || again.Header.Get("Content-Type") != "application/json",
		"%+v", again)
	failIf(t, !slices.Equal(query.References, []string{"ref", "b\"é", "PO000000001"}), "%+v", query)
	failIf(t, unknown.Operation != "" || unknown.Status != 404 || unknown.Body != "" || unknown.BodySize != 10,
		"%+v", unknown)

	for query, want := range map[string]string{
		"?operation=Book": "[3 4]", "?traceId=poll": "[5]", "?reference=PO000000001": "[4 5 7]", "?reference=PO00000000": "[]",
		"?limit=2": "[6 7]", "?after=0&limit=2": "[1 2]", "?after=2&limit=2": "[3 4]", "?operation=Book&traceId=poll": "[]",
		"?operation=Cancel": "[]", "?after=7": "[]",
	} {
		numbers := []int64{}
		for _, r := range c.journal(query) {
			numbers = append(numbers, r.Seq)
		}
		same(t, fmt.Sprint(numbers), want, query)
	}
	c.refused("GET", "/_sandbox/requests?limit=0", nil, 400, "limit", "integer")
	c.refused("GET", "/_sandbox/requests?text=x", nil, 400, "text", "unknown parameter")
}

func TestJournalMasksSecrets(t *testing.T) {
	s, c := controlled(t, Config{
		Accounts:     []Account{{AppKey: "key", AppSecret: "SECRET-app"}},
		OAuthClients: []OAuthClient{{ClientID: "id", ClientSecret: "SECRET-client"}},
		Webhooks:     WebhookConfig{Secret: "SECRET-webhook"},
		ConfirmAfter: AtOnce,
		VoucherDelay: AtOnce,
		NoRateLimits: true,
	})
	u := login(t, s)
	oauth := object{"grant_type": "client_credentials", "client_id": "id", "client_secret": "SECRET-client"}
	token := u.must(oauthPath, oauth).str("access_token")
	in, ids := u.find(nil)
	more := object{
		"guests": []object{{"roomIndex": 1, "firstName": "Seen", "lastName": "Guest", "passportNumber": "SECRET-Zq4711",
			"dateOfBirth": "1999-12-31"}},
		"holder": object{"firstName": "Seen", "lastName": "Holder", "email": "SECRET@example.com", "phone": object{"number": "SECRET-555"}},
	}
	in.must(bookPath, booking("ref", ids[0], more))
	u.must(queryPath, "{}")
	link := u.must(voucherPath, object{"customerReferenceNo": "ref"}).str("voucher", "downloadUrl")
	proof := must(url.Parse(link)).Query().Get("proof")
	u.download(link)
	for _, body := range []string{
		`{"appKey":"key","appSecret":"SECRET-typo",}`, `{"appSecret":"SECRET \"quoted\" typo`, `{"Appsecret" : "SECRET"}`,
		`{"clientSecret":"SECRET"}`,
		"{\n  \"appSecret\"\n:\n\"SECRET\"}", `{"appSecret":12SECRET}`, "client_secret=SECRET&x=1", `{"x":"Bearer SECRET.token"}`,
		`{"note":"SECRET-app"}`,
		`{"pad":"` + strings.Repeat("x", maxJournalBody-20) + `","appSecret":"SECRET` + strings.Repeat("SECRET", 10_000) + `"}`,
		`{"guests":[{"passportNumber":"SECRET` + "\xff" + `"}]}`,
	} {
		u.header("Cookie", "SECRET=1").post(ticketPath, body)
	}
	a := c.call("GET", "/_sandbox/requests?limit=1000", nil)
	text := string(a.body)
	for _, secret := range []string{"SECRET", u.token, token, proof, "Zq4711", "1999-12-31"} {
		i := strings.Index(text, secret)
		failIf(t, i >= 0, "%q is in the journal: %s", secret, text[max(0, i-200):min(len(text), i+50)])
	}
	failIf(t, !strings.Contains(text, "Seen") || !strings.Contains(text, "Holder"), "the names of guests are masked")
	for _, r := range c.journal("?limit=1000") {
		failIf(t, len(r.Body) > maxJournalBody || len(r.Answer) > maxJournalBody, "%d and %d bytes", len(r.Body), len(r.Answer))
	}
}
