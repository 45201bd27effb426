package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestSearchFormNamesWrongFields(t *testing.T) {
	inBubble(t, func(s *testSite) {
		for _, test := range []struct{ field, value, told string }{
			{"destination", strings.Repeat("x", 101), "Enter the name of a city."},
			{"destination", s.srv.CityName(1) + "x", s.srv.CityName(1)},
			{"check_in", "1999-12-01", "Choose a day of arrival that is not past."},
			{"check_out", "2099-01-01", "30 nights later at most."},
			{"rooms", "5", "Choose a number from 1 to 4."},
			{"children", "4, nine", "Enter the age of each child"},
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
		assert.Zero(t, s.srv.Ledger().Count(""), "the site sends no request")
		s.shows("/", `<option value="`+s.srv.CityName(1)+`">`)
	})
}

func TestFormThatIsSentSeveralTimesBooksOnce(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address := s.toCheckout(60)
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
		time.Sleep(time.Second)
		s.shows(order, "Waiting for the hotel")
		s.srv.CloseRate(s.checkoutAt(address).Offer.RatePkgID) // now the room is sold out
		assert.Equal(t, order, s.post(address+"/book", guests()), "the guest goes back and sends the form again")
		assert.Equal(t, order, s.send(http.MethodGet, address, nil).Header().Get("Location"))
		assert.Equal(t, 1, s.srv.Ledger().Count(hotelstays.OpBook))
		assert.Len(t, s.srv.Ledger().Orders(), 1)
	})
}

func TestGuestFormNamesWrongFields(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address := s.toCheckout(60)
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
		page := w.Body.String()
		assert.Contains(t, page, "Room 2, adult 1: Enter the last name.")
		assert.Contains(t, page, "Room 2, child aged 5")
		assert.Contains(t, page, `value="guest2"`, "the form keeps right values")
		assert.NotContains(t, page, "P1234567", "the form keeps no passport number")
		assert.NotContains(t, page, strings.Repeat("9", 20))
		assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))
		s.shows(address+"/book", `value="guest2"`) // a reload of the page with errors must work at the form's address
	})
}

func TestChangedPriceNeedsConsent(t *testing.T) {
	inBubble(t, func(s *testSite) {
		_, offer := s.rooms(60)
		rate := s.checkoutAt(offer).Offer.RatePkgID
		s.srv.MoveRate(rate, 10)
		address := s.post(offer, nil)
		page := s.get(address)
		assert.Contains(t, page, "The offer has changed")
		assert.Regexp(t, `The price was EUR\x{a0}[\d,.]+ when you saw this offer, and is EUR\x{a0}[\d,.]+ now\.`, page)
		assert.Equal(t, address, s.post(address+"/book", guests()), "no booking without consent")

		// The guest agrees to the offer on the page, not to a newer offer.
		s.srv.MoveRate(rate, 10)
		s.post(address+"/check", nil)
		assert.Equal(t, address, s.post(address+"/agree", url.Values{"version": {"1"}}))
		s.shows(address, "The offer has changed")
		assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))

		s.post(address+"/agree", url.Values{"version": {"2"}})
		s.shows(address, "Who is travelling?")
		assert.Equal(t, address, s.post(address+"/book", guests()), "a form from before the consent")
		form := guests()
		form.Set("version", "3")
		assert.Contains(t, s.post(address+"/book", form), "/orders/")
		s.shows(s.post(offer, nil), "The offer has changed") // choosing the offer again does not count as consent
	})
}

func TestLowerPriceNeedsNoConsent(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address := s.toCheckout(60)
		seen := s.checkoutAt(address)
		s.srv.MoveRate(seen.Offer.RatePkgID, -10)
		order := s.post(address+"/book", guests())
		time.Sleep(time.Second)
		page := s.get(order)
		assert.Contains(t, page, "Waiting for the hotel")
		assert.NotContains(t, page, price(selling(seen.Offer.TotalRate)))
		assert.Contains(t, page, price(selling(s.checkoutAt(address).Offer.TotalRate)))
	})
}

func TestSoldOutRoomCannotBeBooked(t *testing.T) {
	inBubble(t, func(s *testSite) {
		hotel, offer := s.rooms(60)
		s.srv.CloseRate(s.checkoutAt(offer).Offer.RatePkgID)
		address := s.post(offer, nil)
		page := s.get(address)
		assert.Contains(t, page, "This room is sold out")
		assert.Contains(t, page, hotel, "a link to other rooms")
		assert.Equal(t, address, s.post(address+"/book", guests()))
		assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))
	})
}

// The log has the error text, with the id that the guest sees.
func TestGuestSeesNoErrorText(t *testing.T) {
	const busy, ours = "We could not reach the hotels", "Something went wrong on our side"
	for _, test := range []struct {
		fault  hotelstaystest.Fault
		status int
		told   string
	}{
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 503}, http.StatusServiceUnavailable, busy},
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage}, http.StatusInternalServerError, ours},
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 400}, http.StatusBadRequest, "These details were not accepted"},
		{hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour}, http.StatusGatewayTimeout, busy},
	} {
		inBubble(t, func(s *testSite) {
			s.withoutJudge()
			test.fault.Operation, test.fault.Times = hotelstays.OpHotelList, -1
			s.srv.Inject(test.fault)
			w := s.send(http.MethodGet, s.searchAddress(60), nil)
			page := w.Body.String()
			assert.Equal(t, test.status, w.Code)
			assert.Contains(t, page, test.told)
			assert.NotContains(t, page, "HotelList")
			assert.NotContains(t, page, "hotelstays:")
			id := regexp.MustCompile(`please quote ([0-9a-f-]{36})`).FindStringSubmatch(page)
			require.NotNil(t, id)
			assert.Regexp(t, `error="hotelstays: HotelList.*page=`+id[1], s.log.String())
		})
	}
}

func TestCallsSendTheIDOfThePageThatCausedThem(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.toOrder()
		time.Sleep(time.Second)
		id := func(op types.Operation, n int) string { return s.srv.Ledger().Requests(op)[n].TraceID }
		assert.Equal(t, id(hotelstays.OpCheckAvail, 1), id(hotelstays.OpBook, 0), "both calls belong to the page that books")
		assert.NotEqual(t, id(hotelstays.OpCheckAvail, 0), id(hotelstays.OpCheckAvail, 1), "the first CheckAvail belongs to an earlier page")
		assert.Regexp(t, `operation=Book .*trace_id=`+id(hotelstays.OpBook, 0)+" ", s.log.String())
	})
}

// arrivals records when each part of a page reached the browser.
type arrivals struct {
	*httptest.ResponseRecorder
	parts []time.Time
}

func (w *arrivals) FlushError() error {
	w.parts = append(w.parts, time.Now())
	return nil
}

func TestHotelsAreShownWhileTheyArrive(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.get(s.searchAddress(60)) // fetches the token before the measurement
		s.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultSlowBody, BytesPerSecond: 4000})
		w, start := &arrivals{ResponseRecorder: httptest.NewRecorder()}, time.Now()
		s.ServeHTTP(w, request(http.MethodGet, s.searchAddress(60), nil))
		require.Len(t, w.parts, 12)
		whole := time.Since(start)
		assert.Less(t, w.parts[0].Sub(start), whole/8)
		assert.Less(t, w.parts[5].Sub(start), whole*5/8)
		assert.Contains(t, w.Body.String(), "12\u00a0hotels.")
	})
}

// If the list of hotels is interrupted, the page says so, and the guest can choose the hotels that arrived.
func TestInterruptedSearchKeepsItsHotels(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultCutMidResponse})
		page := s.get(s.searchAddress(60))
		assert.Contains(t, page, "The list was interrupted.")
		assert.Contains(t, s.log.String(), "the search is not complete")
		require.NotEmpty(t, links(page))
		require.Less(t, len(links(page)), 12)
		for _, hotel := range links(page) {
			s.get(hotel)
		}
	})
}

func TestPageAsksForANewSearchIfTheSessionHasExpired(t *testing.T) {
	inBubble(t, func(s *testSite) {
		hotel, offer := s.rooms(60)
		checkout := s.post(offer, nil)
		s.status(hotelstays.OpHotelRates, 400, 1)
		s.status(hotelstays.OpCheckAvail, 400, -1)
		for _, w := range []*httptest.ResponseRecorder{
			s.send(http.MethodGet, hotel, nil), s.send(http.MethodPost, offer, nil),
			s.send(http.MethodPost, checkout+"/check", nil), s.send(http.MethodPost, checkout+"/book", guests()),
		} {
			assert.Equal(t, http.StatusNotFound, w.Code)
			assert.Contains(t, w.Body.String(), "Please search again")
		}
		assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))
	})
}

// The site has no login, so only this machine may open it, and forms of other sites book nothing. Expired and unknown
// addresses get a page that says so.
func TestInvalidRequestsAreRefused(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address := s.toCheckout(60)
		form := request(http.MethodPost, address+"/book", guests())
		form.Header.Set("Sec-Fetch-Site", "cross-site")
		assert.Equal(t, http.StatusForbidden, s.answer(form).Code)
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
			{http.MethodPost, "/checkouts/unknown/check", http.StatusNotFound, "This page has expired"},
			{http.MethodPost, address + "/agree", http.StatusBadRequest, "Please go back and send the form again"},
		} {
			w := s.send(test.method, test.address, nil)
			assert.Equal(t, test.status, w.Code, test.address)
			assert.Contains(t, w.Body.String(), test.told, test.address)
		}
		assert.Zero(t, s.srv.Ledger().Count(hotelstays.OpBook))

		for host, status := range map[string]int{
			"[::1]:8090": http.StatusOK, "localhost": http.StatusOK, "localhost.host.example": http.StatusMisdirectedRequest,
			"192.0.2.1": http.StatusMisdirectedRequest, "": http.StatusMisdirectedRequest,
		} {
			r := request(http.MethodGet, "/", nil)
			r.Host = host
			w := s.answer(r)
			assert.Equal(t, status, w.Code, host)
			assert.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'", host)
			assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		}
		w := s.answer(httptest.NewRequest(http.MethodPost, "http://host.example"+eventsPath, strings.NewReader("{}")))
		assert.Equal(t, http.StatusUnauthorized, w.Code, "a webhook needs a signature, not a loopback name")
	})
}

func TestSecretsAndPassportNumbersAreNotShown(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address := s.toCheckout(60)
		form := guests()
		for _, guest := range []string{"guest1", "guest2", "guest3", "guest4"} {
			form.Set(guest+"_passport", "X9876543")
		}
		order := s.post(address+"/book", form)
		time.Sleep(time.Second)
		page := s.get(order)
		assert.Contains(t, page, "Waiting for the hotel", "the passport numbers should reach the service")
		for _, private := range []string{"X9876543", s.srv.AppSecret, s.srv.WebhookSecret, "guest@example.com"} {
			assert.NotContains(t, page+s.log.String(), private)
		}
		files, err := filepath.Glob(s.db + "*")
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
	}, hotelstaystest.Config{RequiredGuestFields: []string{"passportNumber"}})
}

// The stream of an order sends the current state first. Then it sends each change once, without delay.
func TestStreamSendsEachChangeOfAnOrderOnce(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address, reference := s.toOrder()
		time.Sleep(time.Second)
		w, ended := &arrivals{ResponseRecorder: httptest.NewRecorder()}, make(chan bool)
		ctx, leave := context.WithCancel(s.t.Context())
		go func() {
			defer close(ended)
			s.ServeHTTP(w, request(http.MethodGet, address+"/events", nil).WithContext(ctx))
		}()
		time.Sleep(30*time.Second + streamPause/2)
		confirmed := time.Now()
		s.srv.ConfirmOrder(reference)
		time.Sleep(journalPause + time.Second)
		leave()
		<-ended
		assert.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
		assert.Regexp(t, `^event: order\ndata: <section(.*\n)+\n$`, w.Body)
		for _, once := range []string{"Waiting for the hotel to confirm", "Download the voucher"} {
			assert.Equal(t, 1, strings.Count(w.Body.String(), once), once)
		}
		assert.Contains(t, w.Body.String(), "Your booking is confirmed")
		assert.Less(t, w.parts[len(w.parts)-1].Sub(confirmed), streamPause/2, "the journal wakes the stream")
	})
}

// The cleanup of startSite fails if the site does not end within ten seconds.
func TestSiteEndsAlthoughStreamsAreOpen(t *testing.T) {
	var stream io.Closer
	t.Cleanup(func() { stream.Close() }) // runs after the site has ended
	s := startSite(t, hotelstaystest.Config{})
	address, _ := s.toOrder()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(s.base + address + "/events")
	require.NoError(t, err)
	stream = resp.Body
	_, err = resp.Body.Read(make([]byte, 1))
	require.NoError(t, err)
}

func TestOnlyAVerifiedVoucherIsServed(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Minute})
		address, _ := s.toOrder()
		refused := func(status int, told string) {
			t.Helper()
			w := s.send(http.MethodGet, address+"/voucher", nil)
			assert.Equal(t, status, w.Code)
			assert.Contains(t, w.Body.String(), told)
			assert.NotContains(t, w.Body.String(), "%PDF")
		}
		assert.NotContains(t, s.get(address), "Download the voucher")
		refused(http.StatusNotFound, "no such booking")
		time.Sleep(2 * time.Minute)
		refused(http.StatusServiceUnavailable, "The voucher is not ready") // the hotel has not confirmed
		time.Sleep(10 * time.Minute)
		s.shows(address, "Download the voucher")

		w := s.send(http.MethodGet, address+"/voucher", nil)
		require.Equal(t, http.StatusOK, w.Code)
		assert.Contains(t, w.Body.String(), "%PDF")
		assert.Regexp(t, `^attachment; filename=V\w+\.pdf$`, w.Header().Get("Content-Disposition"))
		s.withoutJudge()
		s.srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpVoucherDownload, Kind: hotelstaystest.FaultAlteredBody, Times: -1})
		refused(http.StatusBadGateway, "The voucher could not be verified")
		s.post(address+"/cancel", free)
		time.Sleep(journalPause + time.Second)
		refused(http.StatusNotFound, "There is no voucher")
	})
}

func TestHotelIDMayContainAnyCharacter(t *testing.T) {
	inBubble(t, func(s *testSite) {
		hotels := []types.Hotel{{ID: "A/1?b=%2F&c#d"}}
		s.searches.Add("one", search{ID: "one", Hotels: hotels})
		var page strings.Builder
		found := map[string]any{"Search": search{ID: "one"}, "Arriving": hotels}
		require.NoError(t, s.pages.ExecuteTemplate(&page, "hotels.html", found))
		require.Len(t, links(page.String()), 1)
		s.send(http.MethodGet, links(page.String())[0], nil)
		assert.Contains(t, s.log.String(), "hotelstays: HotelRates", "the site calls HotelRates for the hotel")
	})
}

func TestPageSaysThatASearchFoundNoHotels(t *testing.T) {
	for reason, told := range map[types.EmptyReasonCode]string{
		types.EmptyReasonNoSupplierAnswered:  "Please search again in a moment.",
		types.EmptyReasonNoSupplierPermitted: "Please try other dates, or another city.",
	} {
		inBubble(t, func(s *testSite) { s.shows(s.searchAddress(60), told) },
			hotelstaystest.Config{EmptyReason: &types.EmptyReason{Code: reason}})
	}
}
