// The site for a guest, and its requests to the service.

package main

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestSearchFormSaysWhatIsWrong(t *testing.T) {
	s := startSite(t)
	for _, test := range []struct{ field, value, told string }{
		{"destination", " ", "Enter the name of a city."},
		{"check_in", "21.01.2027", "Choose the day of arrival."},
		{"check_in", "2020-01-01", "Choose a day that is not past."},
		{"check_out", "2020-01-01", "Choose a day after the arrival."},
		{"check_out", "2099-01-01", "A stay has at most 30 nights."},
		{"rooms", "5", "Choose a number from 1 to 4."},
		{"adults", "", "Choose a number from 1 to 6."},
		{"children", "4, nine", "Enter the age of each child"},
		{"children", "1 2 3 4 5", "up to 4 children"},
	} {
		address, err := url.Parse(s.searchAddress(60))
		require.NoError(t, err)
		query := address.Query()
		query.Set(test.field, test.value)
		w := s.send(http.MethodGet, "/hotels?"+query.Encode(), nil)
		assert.Equal(t, http.StatusUnprocessableEntity, w.Code)
		assert.Regexp(t, `id="`+test.field+`"[^>]* aria-invalid="true" aria-describedby="`+test.field+`-error`, w.Body)
		assert.Regexp(t, `id="`+test.field+`-error">[^<]*`+test.told, w.Body)
	}
	assert.Zero(t, s.srv.Ledger().Count(""), "nothing was asked")
}

func TestASearchWithoutHotels(t *testing.T) {
	for _, test := range []struct {
		reason types.EmptyReasonCode
		told   string
	}{
		{types.EmptyReasonNoSupplierAnswered, "Please search again in a moment."},
		{types.EmptyReasonNoSupplierPermitted, "Please try other dates, or another city."},
	} {
		s := startSite(t, hotelstaystest.Config{EmptyReason: &types.EmptyReason{Code: test.reason}})
		assert.Contains(t, s.get(s.searchAddress(60)), test.told)
	}
}

// A hotel's id may contain any character.
func TestAddressesHoldAnyID(t *testing.T) {
	s := startSite(t)
	hotels := []types.Hotel{{ID: "A/1?b=%2F&c#d"}}
	s.engine.searches.put("one", search{ID: "one", Hotels: hotels})
	w := httptest.NewRecorder()
	s.renderArriving(w, "hotels", struct {
		search
		Any      bool
		Arriving []types.Hotel
		Err      error
	}{search: search{ID: "one"}, Any: true, Arriving: hotels})
	link := hotelLink.FindStringSubmatch(w.Body.String())
	require.NotNil(t, link)
	s.send(http.MethodGet, html.UnescapeString(link[1]), nil)
	assert.Contains(t, s.log.String(), "hotelstays: HotelRates", "the hotel was found and asked for")
}

// A form that is sent many times makes one order.
func TestABookingIsMadeOnce(t *testing.T) {
	s := startSite(t)
	address := s.toCheckout()
	const clicks = 8
	answers := make(chan *httptest.ResponseRecorder, clicks)
	for range clicks {
		go func() { answers <- s.send(http.MethodPost, address+"/book", guests()) }()
	}
	order := strings.Replace(address, "/checkouts/", "/orders/", 1)
	for range clicks {
		w := <-answers
		assert.Equal(t, http.StatusSeeOther, w.Code)
		assert.Equal(t, order, w.Header().Get("Location"))
	}
	require.Eventually(t, func() bool { return strings.Contains(s.get(order), "Waiting for the hotel") }, time.Minute, 10*time.Millisecond)
	s.srv.CloseRate(s.rateOf(address)) // the last room
	assert.Equal(t, order, s.post(address+"/book", guests()), "the back button, and once more")
	assert.Equal(t, order, s.send(http.MethodGet, address, nil).Header().Get("Location"))
	assert.Equal(t, 1, s.srv.Ledger().Count(hotelstays.OpBook))
	assert.Len(t, s.srv.Ledger().Orders(), 1)
}

func TestTheGuestFormSaysWhatIsWrong(t *testing.T) {
	s := startSite(t)
	address := s.toCheckout()
	form := guests()
	form.Set("guest3_last", "")
	form.Set("email", "guest at example.com")
	form.Set("guest1_passport", "P1234567")
	form.Set("guest2_passport", strings.Repeat("9", types.MaxPassportNumber+1))
	w := s.send(http.MethodPost, address+"/book", form)
	assert.Equal(t, http.StatusUnprocessableEntity, w.Code)
	for _, field := range []string{"guest3_last", "email", "guest2_passport"} {
		assert.Regexp(t, `id="`+field+`"[^>]* aria-invalid="true" aria-describedby="`+field+`-error"`, w.Body)
	}
	assert.Contains(t, w.Body.String(), "Room 2, adult 1: enter the last name.")
	assert.Contains(t, w.Body.String(), `value="guest2"`, "what was right is kept")
	assert.NotContains(t, w.Body.String(), "P1234567", "but no passport number")
	assert.NotContains(t, w.Body.String(), "99999")
	assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))

	// The form is now at the address that it was sent to.
	w = s.send(http.MethodGet, address+"/book", nil)
	assert.Equal(t, http.StatusSeeOther, w.Code)
	assert.Equal(t, address, w.Header().Get("Location"))
	assert.Contains(t, s.get(address), `value="guest2"`)
}

func TestAMovedPriceNeedsConsent(t *testing.T) {
	s := startSite(t)
	_, choose, offer := s.rooms(60)
	s.srv.MoveRate(offer.Get("offer"), 10)
	address := s.post(choose, offer)

	page := s.get(address)
	assert.Contains(t, page, "The offer has changed")
	assert.Regexp(t, `The price was EUR\x{a0}[\d,.]+ when you saw this offer, and is EUR\x{a0}[\d,.]+ now\.`, page)
	assert.Equal(t, address, s.post(address+"/book", guests()), "no way around the consent")

	// The guest agrees to what was shown, not to what it is now.
	s.srv.MoveRate(offer.Get("offer"), 10)
	s.post(address+"/check", nil)
	assert.Equal(t, address, s.post(address+"/agree", url.Values{"version": {"1"}}))
	assert.Contains(t, s.get(address), "The offer has changed")
	assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))

	s.post(address+"/agree", url.Values{"version": {"2"}})
	assert.Contains(t, s.get(address), "Who is travelling?")
	assert.Equal(t, address, s.post(address+"/book", guests()), "a form from before the consent")
	form := guests()
	form.Set("version", "3")
	assert.Contains(t, s.post(address+"/book", form), "/orders/")
}

// A lower price needs no consent.
func TestALowerPriceNeedsNoConsent(t *testing.T) {
	s := startSite(t)
	address := s.toCheckout()
	seen, _ := s.engine.checkouts.get(strings.TrimPrefix(address, "/checkouts/"))
	s.srv.MoveRate(s.rateOf(address), -10)
	order := s.post(address+"/book", guests())
	require.Eventually(t, func() bool { return strings.Contains(s.get(order), "Waiting for the hotel") }, time.Minute, 10*time.Millisecond)
	assert.NotContains(t, s.get(order), price(selling(seen.Offer.TotalRate)))
	now, _ := s.engine.checkouts.get(strings.TrimPrefix(address, "/checkouts/"))
	assert.Contains(t, s.get(order), price(selling(now.Offer.TotalRate)))
}

func TestASoldOutRoom(t *testing.T) {
	s := startSite(t)
	hotel, choose, offer := s.rooms(60)
	s.srv.CloseRate(offer.Get("offer"))
	address := s.post(choose, offer)
	page := s.get(address)
	assert.Contains(t, page, "This room is sold out")
	assert.Contains(t, page, hotel, "the way to other rooms")
	assert.Equal(t, address, s.post(address+"/book", guests()))
	assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))
}

// A guest never sees an error text; the log has it under the number that the guest sees.
func TestFailuresAreToldInAGuestsWords(t *testing.T) {
	for _, test := range []struct {
		fault  hotelstaystest.Fault
		status int
		told   string
	}{
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 503}, http.StatusBadGateway, "We could not reach the hotels"},
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 429}, http.StatusServiceUnavailable, "We could not reach the hotels"},
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultCut}, http.StatusBadGateway, "We could not reach the hotels"},
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage}, http.StatusInternalServerError, "Something went wrong on our side"},
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 403}, http.StatusInternalServerError, "Something went wrong on our side"},
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 400}, http.StatusBadRequest, "These details were not accepted"},
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour}, http.StatusGatewayTimeout, "We could not reach the hotels"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, closeSite := memorySite(t)
			defer closeSite()
			test.fault.Operation, test.fault.Times = hotelstays.OpHotelList, -1
			s.srv.Inject(test.fault)
			w := s.send(http.MethodGet, s.searchAddress(60), nil)
			page := w.Body.String()
			assert.Equal(t, test.status, w.Code)
			assert.Contains(t, page, test.told)
			assert.NotContains(t, page, "HotelList")
			assert.NotContains(t, page, "hotelstays:")
			number := regexp.MustCompile(`please quote ([0-9a-f-]{36})`).FindStringSubmatch(page)
			require.NotNil(t, number)
			assert.Regexp(t, `error="hotelstays: HotelList.*page=`+number[1], s.log)
		})
	}
}

// timedWriter records when each hotel reached the browser.
type timedWriter struct {
	*httptest.ResponseRecorder
	hotels []time.Time
}

func (w *timedWriter) FlushError() error {
	w.hotels = append(w.hotels, time.Now())
	return nil
}

// get is a request whose page may arrive slowly.
func (w *timedWriter) get(s *testSite, address string) {
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.Host = "127.0.0.1"
	w.ResponseRecorder = httptest.NewRecorder()
	s.ServeHTTP(w, r)
}

func TestHotelsAreShownWhileTheyArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, closeSite := memorySite(t)
		defer closeSite()
		s.get(s.searchAddress(60)) // fetches the token
		s.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultSlowBody, BytesPerSecond: 4000})
		var w timedWriter
		start := time.Now()
		w.get(s, s.searchAddress(60))
		require.Len(t, w.hotels, 12)
		whole := time.Since(start)
		assert.Less(t, w.hotels[0].Sub(start), whole/8)
		assert.Less(t, w.hotels[5].Sub(start), whole*5/8)
		assert.Contains(t, w.Body.String(), "12\u00a0hotels.")
	})
}

// headerless removes the Session-Id header of answers, which the document allows.
type headerless struct{ http.RoundTripper }

func (h headerless) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Header.Del("Session-Id")
	}
	return resp, err
}

func TestRoomsOfASessionThatNoHeaderNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := hotelstaystest.NewServer(&hotelstaystest.Config{InMemory: true})
		defer srv.Close()
		svc := sandboxService(srv, "http://127.0.0.1")
		svc.options = []hotelstays.Option{hotelstays.WithHTTPClient(&http.Client{Transport: headerless{srv.Client().Transport}})}
		s := newTestSite(t, srv, svc)
		defer srv.Client().CloseIdleConnections()
		defer s.engine.close()
		link := hotelLink.FindStringSubmatch(s.get(s.searchAddress(60)))
		require.NotNil(t, link)
		s.get(html.UnescapeString(link[1]))
	})
}

// A list that breaks off says so, and what was shown can be chosen.
func TestHotelsThatBreakOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, closeSite := memorySite(t)
		defer closeSite()
		s.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultCutMidResponse})
		page := s.get(s.searchAddress(60))
		assert.Contains(t, page, "The list broke off.")
		assert.Contains(t, s.log.String(), "a search broke off")
		links := hotelLink.FindAllStringSubmatch(page, -1)
		require.NotEmpty(t, links)
		require.Less(t, len(links), 12)
		for _, link := range links {
			s.get(html.UnescapeString(link[1]))
		}
	})
}

// If the service has forgotten a session or an offer, the guest can correct nothing, and needs
// a new search.
func TestTheServiceForgets(t *testing.T) {
	s := startSite(t)
	hotel, choose, offer := s.rooms(60)
	checkout := s.post(choose, offer)
	s.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelRates, Kind: hotelstaystest.FaultStatus, Status: 400})
	s.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpCheckAvail, Kind: hotelstaystest.FaultStatus, Status: 400, Times: -1})
	for _, w := range []*httptest.ResponseRecorder{
		s.send(http.MethodGet, hotel, nil), s.send(http.MethodPost, choose, offer),
		s.send(http.MethodPost, checkout+"/check", nil), s.send(http.MethodPost, checkout+"/book", guests()),
	} {
		assert.Equal(t, http.StatusNotFound, w.Code)
		assert.Contains(t, w.Body.String(), "Please search again")
	}
	assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))
}

// Forms of other sites, unknown addresses, and pages that are no longer stored.
func TestWhatIsNoFormOfThisSite(t *testing.T) {
	s := startSite(t)
	address := s.toCheckout()
	r := httptest.NewRequest(http.MethodPost, address+"/book", strings.NewReader(guests().Encode()))
	r.Host = "127.0.0.1"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	assert.Equal(t, http.StatusForbidden, w.Code)
	assert.Contains(t, w.Body.String(), "That did not come from here")

	for _, test := range []struct {
		method, address string
		status          int
		told            string
	}{
		{http.MethodGet, "/nowhere", http.StatusNotFound, "There is no such page"},
		{http.MethodGet, "/orders/unknown", http.StatusNotFound, "There is no such booking"},
		{http.MethodGet, "/orders/unknown/events", http.StatusNotFound, "There is no such booking"},
		{http.MethodGet, "/checkouts/unknown", http.StatusNotFound, "This page has expired"},
		{http.MethodGet, "/searches/unknown/hotels/unknown", http.StatusNotFound, "This page has expired"},
		{http.MethodPost, "/searches/unknown/checkout", http.StatusNotFound, "This page has expired"},
		{http.MethodPost, "/checkouts/unknown/book", http.StatusNotFound, "This page has expired"},
		{http.MethodPost, address + "/agree", http.StatusBadRequest, "Please go back and send the form again"},
	} {
		w := s.send(test.method, test.address, nil)
		assert.Equal(t, test.status, w.Code, test.address)
		assert.Contains(t, w.Body.String(), test.told, test.address)
	}
	assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))
}

// A host name of another site, or that of the webhooks, does not open a site without a login.
func TestOnlyNamesOfThisMachineOpenTheSite(t *testing.T) {
	s := startSite(t)
	for host, status := range map[string]int{
		"127.0.0.1:8090": http.StatusOK, "[::1]:8090": http.StatusOK, "localhost:8090": http.StatusOK, "LOCALHOST": http.StatusOK,
		"host.example:8090": http.StatusMisdirectedRequest, "localhost.host.example": http.StatusMisdirectedRequest,
		"192.0.2.1": http.StatusMisdirectedRequest, "": http.StatusMisdirectedRequest,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		assert.Equal(t, status, w.Code, host)
		assert.NotEmpty(t, w.Header().Get("Content-Security-Policy"), host)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://host.example"+eventsPath, strings.NewReader("{}")))
	assert.Equal(t, http.StatusUnauthorized, w.Code, "webhooks are told by their signature")
}

// The policy forbids inline scripts and styles, and no page has one.
func TestPagesKeepToTheirPolicy(t *testing.T) {
	s := startSite(t, hotelstaystest.Config{ConfirmAfter: hotelstaystest.Never})
	order, _ := s.toOrder()
	checkout := s.toCheckout()
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|<script(?: src="/static/[^"]+" defer)?>[^<]+|\son[a-z]+=|javascript:`)
	for _, address := range []string{"/", s.searchAddress(60), checkout, order} {
		w := s.send(http.MethodGet, address, nil)
		assert.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		assert.NotRegexp(t, inline, w.Body)
	}
	query := url.Values{"destination": {`"><script>alert(1)</script>`}}
	assert.NotContains(t, s.send(http.MethodGet, "/hotels?"+query.Encode(), nil).Body.String(), "<script>alert")
}

// No secret and no passport number is in a page or in the log.
func TestNothingPrivateIsShown(t *testing.T) {
	s := startSite(t, hotelstaystest.Config{RequiredGuestFields: []string{"passportNumber"}})
	address := s.toCheckout()
	form := guests()
	for _, guest := range []string{"guest1", "guest2", "guest3", "guest4"} {
		form.Set(guest+"_passport", "X9876543")
	}
	order := s.post(address+"/book", form)
	var page string
	require.Eventually(t, func() bool {
		page = s.get(order)
		return strings.Contains(page, "Waiting for the hotel")
	}, time.Minute, 10*time.Millisecond, "the passport numbers should reach the service")
	for _, private := range []string{"X9876543", s.srv.AppSecret, s.srv.WebhookSecret, "guest@example.com"} {
		assert.NotContains(t, page+s.log.String(), private)
	}
	files, err := filepath.Glob(s.file + "*")
	require.NoError(t, err)
	assert.Len(t, files, 3, "with -wal and -shm")
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode(), "%s: guests' names are for nobody else", file)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "X9876543")
	}
}

// An order's stream sends each change at once, and a new stream starts with the current state.
//
// Open streams do not keep the site from ending.
func TestTheStreamTellsOfChanges(t *testing.T) {
	s := startSite(t, hotelstaystest.Config{ConfirmAfter: hotelstaystest.Never})
	address, reference := s.toOrder()
	wait := func(next func() string, want string) {
		t.Helper()
		for event := next(); !strings.Contains(event, want); event = next() {
			require.Regexp(t, `^event: order\ndata: <section`, event, "or the stream has ended")
		}
	}
	next := s.events(address)
	wait(next, "Waiting for the hotel to confirm")
	s.srv.ConfirmOrder(reference)
	wait(next, "Your booking is confirmed")

	assert.Contains(t, s.events(address)(), "Your booking is confirmed")
}

func TestTheVoucherIsVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, closeSite := memorySite(t)
		defer closeSite()
		s.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Minute})
		address, reference := s.toOrder()
		assert.NotContains(t, s.get(address), "Download the voucher")
		w := s.send(http.MethodGet, address+"/voucher", nil)
		assert.Contains(t, w.Body.String(), "no such booking", "before the order exists")
		time.Sleep(2 * time.Minute)
		w = s.send(http.MethodGet, address+"/voucher", nil)
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Contains(t, w.Body.String(), "The voucher is not ready", "before the hotel has confirmed")
		time.Sleep(10 * time.Minute)
		assert.Contains(t, s.get(address), "Download the voucher")

		w = s.send(http.MethodGet, address+"/voucher", nil)
		require.Equal(t, http.StatusOK, w.Code)
		resp, err := s.engine.client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: reference})
		require.NoError(t, err)
		assert.NoError(t, hotelstays.VerifyVoucher(w.Body.Bytes(), resp.Voucher))
		assert.Equal(t, `attachment; filename=`+resp.Voucher.VoucherNumber+`.pdf`, w.Header().Get("Content-Disposition"))

		s.srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpVoucherDownload, Kind: hotelstaystest.FaultAlteredBody, Times: -1})
		w = s.send(http.MethodGet, address+"/voucher", nil)
		assert.Equal(t, http.StatusBadGateway, w.Code)
		assert.Contains(t, w.Body.String(), "The voucher could not be verified")
		assert.NotContains(t, w.Body.String(), "%PDF")

		s.post(address+"/cancel", url.Values{"fee": {"free"}})
		time.Sleep(time.Second)
		w = s.send(http.MethodGet, address+"/voucher", nil)
		assert.Equal(t, http.StatusNotFound, w.Code)
		assert.Contains(t, w.Body.String(), "There is no voucher", "after the cancellation")
	})
}
