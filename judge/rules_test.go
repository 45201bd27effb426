package judge_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/judge"
	"github.com/hotelstays/hotelstays-go/types"
)

// spoken is an exchange with a name, so that rows of changes can refer to it.
type spoken struct {
	name string
	judge.Exchange
}

type tape struct {
	*testing.T
	srv            *hotelstaystest.Server
	said           []spoken
	token, session string
}

func (t *tape) say(name string, op types.Operation, body string) string {
	t.Helper()
	url := t.srv.URL + op.Path()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if t.token != "" {
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	switch op {
	case "HotelList", "HotelRates", "CheckAvail", "Book", "Cancel":
		req.Header.Set("Currency", "EUR")
		if t.session != "" {
			req.Header.Set("Session-Id", t.session)
		}
	}
	resp, err := t.srv.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	t.said = append(t.said, spoken{name, judge.Exchange{Time: time.Now(), URL: url, Request: req.Header, RequestBody: []byte(body),
		Status: resp.StatusCode, Header: resp.Header, Body: answer}})
	return string(answer)
}

// member returns the value of the first member with this name in a JSON text.
func (t *tape) member(text, name string) string {
	t.Helper()
	found := regexp.MustCompile(`"` + name + `":"([^"]+)"`).FindStringSubmatch(text)
	require.NotNil(t, found, "%s in %s", name, text)
	return found[1]
}

// life records the exchanges of a booking: search, check, book, read, voucher, cancel and refusals. The events of the order come
// last, and the second event comes twice.
func life(test *testing.T) []spoken {
	var mu sync.Mutex
	var events []spoken
	srv, _ := testkit.NewSandbox(test, hotelstaystest.Config{ConfirmAfter: hotelstaystest.AtOnce, VoucherDelay: hotelstaystest.AtOnce,
		Webhooks: hotelstaystest.WebhookConfig{CallbackHandler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			body, _ := io.ReadAll(req.Body)
			mu.Lock()
			defer mu.Unlock()
			events = append(events, spoken{"event", judge.Exchange{Time: time.Now(), Request: req.Header, RequestBody: body, Event: true}})
		})}})
	t := &tape{T: test, srv: srv}
	secret := fmt.Sprintf(`{"appKey":%q,"appSecret":%q,"ttl":7200}`, srv.AppKey, srv.AppSecret)
	t.token = t.member(t.say("ticket", "Ticket", secret), "ticket")
	province := t.member(t.say("provinces", "Destinations", `{"countryCode":"AE","include":"details"}`), "id")
	t.say("cities", "Destinations", `{"parentDestinationId":"`+province+`","include":"details"}`)
	t.say("all cities", "Destinations", `{"parentDestinationId":"`+province+`","filterEmptyCities":false,"minHotelCount":0,"include":"details"}`)
	city := srv.CityID(0)
	t.say("catalogue", "HotelsMetadata", `{"destinationId":"`+city+`","page":{"pageNum":1,"pageSize":2}}`)
	t.say("catalogue 2", "HotelsMetadata", `{"destinationId":"`+city+`","page":{"pageNum":2,"pageSize":2}}`)
	t.say("detail", "HotelStaticDetail", `{"hotelId":"`+srv.HotelIDs(1)[0]+`"}`)
	stay := `"checkIn":"2000-03-10","checkOut":"2000-03-13","roomOccupancies":[{"adultCount":2},{"adultCount":2}]`
	search := func(name, with string) string {
		return t.say(name, "HotelList", `{`+stay+`,`+with+`}`)
	}
	there := `"destinationId":"` + city + `","pageSize":2,`
	list := search("search", there+`"pageNum":1,"sortBy":"price-asc"`)
	t.session = t.member(list, "sessionId")
	search("search 2", there+`"pageNum":2,"sortBy":"price-asc"`)
	search("capped", there+`"pageNum":1,"sortBy":"price-asc","maxRatesPerHotel":2`)
	search("dearest", there+`"pageNum":1,"sortBy":"price-desc"`)
	search("best", there+`"pageNum":1,"sortBy":"rating-desc"`)
	hotel := t.member(list, "id")
	search("by id", `"hotelIds":["`+srv.HotelIDs(1)[0]+`"]`)
	search("by name", `"destinationName":"`+srv.CityName(0)+`","pageSize":1`)
	search("nothing", `"hotelIds":["x"]`)
	rates := t.say("rates", "HotelRates", `{"hotelId":"`+hotel+`",`+stay+`}`)
	offer := regexp.MustCompile(`"ratePkgId":"([^"]+)","refundableMode":"full"`).FindStringSubmatch(rates)[1]
	t.say("check", "CheckAvail", `{"ratePkgId":"`+offer+`"}`)
	t.say("check again", "CheckAvail", `{"ratePkgId":"`+offer+`"}`)
	book := `{"customerReferenceNo":"ref-1","ratePkgId":"` + offer + `","callbackUrl":"https://127.0.0.1/events",` +
		`"holder":{"firstName":"Guest","lastName":"One"},"guests":[` +
		`{"roomIndex":1,"firstName":"Guest","lastName":"One","passportNumber":"P1234567"},{"roomIndex":2,"firstName":"Guest","lastName":"Two"}]}`
	t.say("book", "Book", book)
	synctest.Wait()
	t.say("again", "Book", book)
	supplier := t.member(t.say("orders", "QueryOrders", `{"customerReferenceNos":["ref-1"]}`), "supplierReferenceNo")
	t.say("by supplier", "QueryOrders", `{"supplierReferenceNos":["`+supplier+`"]}`)
	t.say("by status", "QueryOrders", `{"statusList":[2]}`)
	t.say("by time", "QueryOrders", `{"bookingTimeWindow":{"start":"2000-01-01","end":"2000-01-01"}}`)
	voucher := t.say("voucher", "OrderVoucher", `{"customerReferenceNo":"ref-1","includeDocument":true}`)
	document, err := base64.StdEncoding.DecodeString(t.member(voucher, "base64"))
	require.NoError(t, err)
	link := strings.ReplaceAll(t.member(voucher, "downloadUrl"), `\u0026`, "&")
	t.said = append(t.said, spoken{"download", judge.Exchange{URL: link, Status: http.StatusOK, Body: document}})
	t.say("link", "OrderVoucher", `{"customerReferenceNo":"ref-1"}`)
	t.say("cancel", "Cancel", `{"customerReferenceNo":"ref-1","supplierReferenceNo":"`+supplier+`"}`)
	t.say("cancelled", "QueryOrders", `{"customerReferenceNos":["ref-1"]}`)
	t.say("unknown", "OrderVoucher", `{"customerReferenceNo":"ref-2"}`)
	t.say("no stay", "HotelList", `{}`)
	t.say("another secret", "Ticket", strings.Replace(secret, `"appSecret":"`, `"appSecret":"x`, 1))
	synctest.Wait()
	return append(append(t.said, events...), spoken{"event again", events[1].Exchange})
}

// changed replaces the text old by new in the body of the answer. If old is the name of a header and a colon, new is the
// header's value, and an empty new removes the header. If the name of the exchange begins with ">", changed changes the
// body or the header of the request instead. If old is "status:", new is the HTTP status. If old is "clock:", new is added
// to the time of the exchange.
func (s spoken) changed(t *testing.T, old, new string) judge.Exchange {
	ex, request := s.Exchange, s.name[0] == '>'
	header, body := &ex.Header, &ex.Body
	if request {
		header, body = &ex.Request, &ex.RequestBody
	}
	switch name, is := strings.CutSuffix(old, ":"); {
	case strings.Contains(name, `"`):
		require.Contains(t, string(*body), old, s.name)
		*body = bytes.Replace(*body, []byte(old), []byte(new), 1)
	case name == "status":
		ex.Status, _ = strconv.Atoi(new)
	case name == "clock":
		d, err := time.ParseDuration(new)
		require.NoError(t, err)
		ex.Time = ex.Time.Add(d)
	case is:
		*header = header.Clone()
		if header.Set(name, new); new == "" {
			header.Del(name)
		}
	default:
		require.Contains(t, string(*body), old, s.name)
		*body = bytes.Replace(*body, []byte(old), []byte(new), 1)
	}
	return ex
}

// found changes the exchange whose name is the parameter at, and judges the whole tape. It returns the rule and the path of each
// finding.
func found(t *testing.T, tape []spoken, at, old, new string) string {
	j, list, changed := judge.New(nil), []string{}, false
	for _, said := range tape {
		ex := said.Exchange
		if strings.TrimPrefix(at, ">") == said.name && !changed {
			said.name, changed = at, true
			ex = said.changed(t, old, new)
		}
		for _, f := range j.Look(ex).Findings {
			if finding := f.Name + " " + f.Path; !slices.Contains(list, finding) {
				list = append(list, finding)
			}
			text := fmt.Sprintf("%+v", f)
			for _, value := range []string{"Guest", "P1234567", "ref-1", "AE"} {
				assert.NotContains(t, text, value)
			}
		}
	}
	require.Equal(t, at != "", changed, at)
	return strings.Join(list, ", ")
}

func TestEachChangeOfATapeBreaksExactlyTheListedRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tape := life(t)
		require.Empty(t, found(t, tape, "", "", ""))
		for _, row := range changes {
			got := found(t, tape, row.at, row.old, row.new)
			assert.Equal(t, row.found, got, "%s: %s -> %s", row.at, row.old, row.new)
		}
	})
}
