// The stories of bookings.

package sandboxpage

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// engine is a client of the sandbox. It keeps the offer that it found.
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

// poll asks for orders, whatever the answer.
func (e *engine) poll(references ...string) {
	_, _ = e.client.QueryOrders(e.t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: references})
}

// story returns the steps of a booking as texts.
func story(b *booking) []string {
	var out []string
	for _, s := range b.Steps {
		out = append(out, strings.Join(slices.DeleteFunc([]string{s.Since, s.Class, s.Title, s.Text, string(s.Fault), s.Note},
			func(part string) bool { return part == "" }), "|"))
	}
	return out
}

func TestStory(t *testing.T) {
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
		for range 4 { // the first is without a body, and so without a reference
			if _, err := e.client.Book(t.Context(), e.book); err == nil {
				t.Fatal("Book was answered")
			}
			time.Sleep(time.Second)
		}
		e.poll("trip-1")
		time.Sleep(time.Minute)
		e.poll("trip-1")
		e.poll("trip-1", "a", "b", "c") // about too many
		if _, err := e.client.Book(t.Context(), e.book); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		v := newView(srv, nil)
		if len(v.Bookings) != 1 || v.MoreBookings != 0 {
			t.Fatalf("%d bookings, %d more", len(v.Bookings), v.MoreBookings)
		}
		b := v.Bookings[0]
		want := []string{
			"+0.0 s|bad|Book|was cut off. Nothing was done.|cut",
			"+1.0 s|bad|Book|was refused.|status|HTTP 503: Service Unavailable",
			"+2.0 s|bad|Book|made the order. The answer was lost: the client does not know.|cut",
			"+2.0 s|good|Webhook order_created|was delivered. Attempts: 2.",
			"+3.0 s|QueryOrders|found nothing.",
			"+1 m 3 s|good|QueryOrders|found the order.",
			"+1 m 3 s|good|Book|returned the same order.",
			"+3 m 2 s|mark|The order|is confirmed.",
		}
		if got := story(b); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if b.Order.State != "confirmed" || b.Failing != 0 || len(b.Webhooks) != 1 || !b.Open {
			t.Errorf("%+v", b)
		}
		if e.poll("trip-2"); newView(srv, nil).Bookings[1].Open {
			t.Error("a settled booking is open beside a newer one")
		}
		for i, text := range []string{"HTTP 503, signature correct", "HTTP 204, signature correct"} {
			if got := b.Webhooks[0].Attempts[i].Text; !strings.HasSuffix(got, text) {
				t.Errorf("%q, want %q", got, text)
			}
		}
	})
}

func TestWrongSignatures(t *testing.T) {
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
			if _, err := e.client.Book(t.Context(), e.book); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := newView(srv, nil).Bookings[0].Webhooks[0].Attempts[0].Text; !strings.HasSuffix(got, want) {
				t.Errorf("%s: %q, want %q", kind, got, want)
			}
		})
	}
}

func TestOnlyTheNewestBookings(t *testing.T) {
	srv := start(t, hotelstaystest.Config{NoRateLimits: true})
	e := newEngine(t, srv)
	for i := range maxBookings + 2 {
		e.poll("trip-" + string(rune('a'+i)))
	}
	for range maxSteps {
		e.poll("trip-c")
	}
	v := newView(srv, nil)
	if len(v.Bookings) != maxBookings || v.MoreBookings != 2 || v.Bookings[0].Reference != "trip-v" || v.Bookings[0].Order != nil {
		t.Errorf("%d bookings, %d more, %+v", len(v.Bookings), v.MoreBookings, v.Bookings[0])
	}
	if last := v.Bookings[maxBookings-1]; last.Reference != "trip-c" || len(last.Steps) != maxSteps || last.Earlier != 1 || last.ID != 3 {
		t.Errorf("%+v", last)
	}
}

func TestSettled(t *testing.T) {
	sent := func(state hotelstaystest.WebhookState) []webhook {
		return []webhook{{Webhook: hotelstaystest.Webhook{State: state}}}
	}
	for name, tc := range map[string]struct {
		b    booking
		want bool
	}{
		"no order":           {booking{}, false},
		"confirming":         {booking{Order: &order{}}, false},
		"confirmed":          {booking{Order: &order{Class: "good"}}, true},
		"webhook on its way": {booking{Order: &order{Class: "good"}, Webhooks: sent(hotelstaystest.WebhookPending)}, false},
		"webhook given up":   {booking{Order: &order{Class: "bad"}, Webhooks: sent(hotelstaystest.WebhookGivenUp)}, true},
	} {
		if got := tc.b.settled(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestSince(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "+0.0 s", 1250 * time.Millisecond: "+1.2 s", 61 * time.Second: "+1 m 1 s", 25*time.Hour + 2*time.Minute: "+25 h 2 m",
	} {
		if got := since(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
