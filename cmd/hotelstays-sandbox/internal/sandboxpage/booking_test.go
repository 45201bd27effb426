package sandboxpage

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// engine is a client of the sandbox, with an offer that it has found.
type engine struct {
	t      *testing.T
	client *hotelstays.Client
	book   *hotelstays.BookRequest
}

func newEngine(t *testing.T, srv *hotelstaystest.Server) *engine {
	t.Helper()
	client := testkit.NewClient(t, srv, testkit.TicketOf(srv))
	book := testkit.FindOffer(t, srv, client, 0).Request("trip-1")
	book.CallbackURL = "https://engine.example.com/events"
	return &engine{t, client, book}
}

func (e *engine) poll(references ...string) {
	_, _ = e.client.QueryOrders(e.t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: references})
}

// story returns the texts of a booking's steps.
func story(b *booking) []string {
	var out []string
	for _, s := range b.Steps {
		out = append(out, strings.Join(slices.DeleteFunc([]string{s.Since, s.Class, s.Title, s.Text, string(s.Fault), s.Note},
			func(part string) bool { return part == "" }), "|"))
	}
	return out
}

func TestPageShowsTheStepsOfABookingInTheOrderOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []int{503, 204}
		receiver := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(answers[0])
			answers = answers[1:]
		})
		srv := start(t, hotelstaystest.Config{LateVisibility: 30 * time.Second, Webhooks: hotelstaystest.WebhookConfig{
			CallbackHandler: receiver, Events: map[hotelstaystest.WebhookTrigger][]types.EventKind{hotelstaystest.OnConfirm: {}},
		}})
		e := newEngine(t, srv)
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCutBeforeRead})
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut})
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus})
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
		// The first request belongs to no booking: the sandbox cuts its connection before it reads the reference.
		for range 4 {
			_, err := e.client.Book(t.Context(), e.book)
			require.Error(t, err)
			time.Sleep(time.Second)
		}
		e.poll("trip-1")
		time.Sleep(time.Minute)
		e.poll("trip-1")
		e.poll("trip-1", "a", "b", "c") // a request with four references belongs to no booking
		_, err := e.client.Book(t.Context(), e.book)
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		v := newView(srv, nil)
		require.Len(t, v.Bookings, 1)
		assert.Equal(t, pages{Page: 1, Last: 1, All: 1}, v.BookingPages)
		b := v.Bookings[0]
		assert.Equal(t, []string{
			"+0.0 s|bad|Book|was cut off. Nothing was done.|cut",
			"+1.0 s|bad|Book|was refused.|status|HTTP 503: Service Unavailable",
			"+2.0 s|bad|Book|made the order. The answer was lost: the client does not know.|cut",
			"+2.0 s|good|Webhook order_created|was delivered. Attempts: 2.",
			"+3.0 s|QueryOrders|found nothing.",
			"+1 m 3 s|good|QueryOrders|found the order.",
			"+1 m 3 s|good|Book|returned the same order.",
			"+3 m 2 s|mark|The order|is confirmed.",
		}, story(b))
		assert.Equal(t, "confirmed", b.Order.State)
		assert.True(t, b.Open)
		assert.Zero(t, b.Failing)
		require.Len(t, b.Webhooks, 1)
		require.Len(t, b.Webhooks[0].Attempts, 2)
		for i, text := range []string{"HTTP 503, signature correct", "HTTP 204, signature correct"} {
			assert.True(t, strings.HasSuffix(b.Webhooks[0].Attempts[i].Text, text), "%+v", b.Webhooks[0].Attempts)
		}
		e.poll("trip-2")
		assert.False(t, newView(srv, nil).Bookings[1].Open, "a booking whose order is final is collapsed if a newer booking exists")
	})
}

func TestPageShowsWhatAFaultDidToAnAttemptOfAWebhook(t *testing.T) {
	for kind, want := range map[hotelstaystest.FaultKind]string{
		hotelstaystest.FaultBadSignature: ", signature wrong", hotelstaystest.FaultAlteredBody: ", signature wrong",
		hotelstaystest.FaultDrop: "not sent",
	} {
		synctest.Test(t, func(t *testing.T) {
			srv := start(t, hotelstaystest.Config{
				ConfirmAfter: hotelstaystest.Never,
				Webhooks: hotelstaystest.WebhookConfig{
					RetryDelays: []time.Duration{}, CallbackHandler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
				},
			})
			srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpWebhook, Kind: kind})
			e := newEngine(t, srv)
			_, err := e.client.Book(t.Context(), e.book)
			require.NoError(t, err)
			synctest.Wait()
			got := newView(srv, nil).Bookings[0].Webhooks[0].Attempts[0].Text
			assert.True(t, strings.HasSuffix(got, want), "%s: %q, want %q", kind, got, want)
		})
	}
}

func TestPageListsTheNewestBookingsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in virtual time, because the client waits for its rate limits
		srv := start(t)
		e := newEngine(t, srv)
		for i := range maxBookings + 2 {
			e.poll("trip-" + string(rune('a'+i)))
			time.Sleep(time.Millisecond)
		}
		for range maxSteps {
			e.poll("trip-c")
		}
		v := newView(srv, nil)
		require.Len(t, v.Bookings, maxBookings)
		assert.Equal(t, pages{Page: 1, Last: 2, All: maxBookings + 2}, v.BookingPages)
		assert.Equal(t, "trip-v", v.Bookings[0].Reference)
		assert.Nil(t, v.Bookings[0].Order)
		last := v.Bookings[maxBookings-1]
		assert.Equal(t, "trip-c 3 1", fmt.Sprint(last.Reference, " ", last.ID, " ", last.Earlier))
		assert.Len(t, last.Steps, maxSteps)

		for query, want := range map[string]string{ // maps a filter to the first reference and the number of bookings
			"bookings=2": "trip-b 2", "bookings=9": "trip-b 2", "reference=+TRIP-C+": "trip-c 1", "state=no+order": "trip-v 20",
			"state=confirmed": " 0", "operation=QueryOrders": "trip-v 20", "operation=Book": " 0", "reference=trip-&bookings=2": "trip-b 2",
		} {
			parsed, err := url.ParseQuery(query)
			require.NoError(t, err)
			shown, first := newView(srv, parsed).Bookings, ""
			if len(shown) > 0 {
				first = shown[0].Reference
			}
			assert.Equal(t, want, fmt.Sprint(first, " ", len(shown)), query)
		}
		found := newView(srv, url.Values{"reference": {"trip-a"}, "operation": {"QueryOrders"}})
		assert.Equal(t, pages{Page: 1, Last: 1, All: 1}, found.JournalPages)
		assert.Equal(t, "trip-a", found.Journal[0].Reference)
	})
}
