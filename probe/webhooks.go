// Rules about the webhooks for the booking of the run.

package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/judge"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	redelivering = 5 * time.Minute  // maximum wait until the service delivers an event again
	overtaken    = 10 * time.Second // how late an event may arrive after a newer event
	idHeader     = "X-Platform-Event-Id"
	signHeader   = "X-Platform-Signature"
)

// events waits for the event order_cancelled of the cancelled booking, and returns all deliveries about this booking. An
// event of another kind that arrives after Cancel may be about an earlier change. So events then waits ten more seconds.
func (r *run) events() []delivery {
	return r.world.events.get(r, "the events of a booking", func() (list []delivery) {
		b := r.cancelled()
		_, found := r.poll(confirming, time.Second, func() bool {
			list = r.cfg.Booking.Callback.about(b.entry.reference())
			return slices.ContainsFunc(list, func(d delivery) bool {
				return !d.at.Before(b.cancelAt) && (d.fields().Event == types.EventOrderCancelled || time.Since(d.at) >= overtaken)
			})
		})
		breaks(len(list) == 0, "no webhook came to %s within %s after the cancellation", r.cfg.Booking.Callback.URL, confirming)
		for _, d := range list {
			r.bench.judges(&exchange{began: d.at, method: d.method,
				Exchange: judge.Exchange{Time: d.at, Request: d.header, RequestBody: d.body, Event: true}})
		}
		breaks(!found, "no webhook about the cancellation came within %s", confirming)
		return list
	})
}

func (d delivery) fields() (f struct {
	Reference string          `json:"customerReferenceNo"`
	Event     types.EventKind `json:"event"`
	Time      int64           `json:"eventTime"`
}) {
	_ = json.Unmarshal(d.body, &f) // if a field is unreadable, it stays empty
	return f
}

var webhookRules = rules("-callback", []line{
	{"webhook/delivered", "changes of an order are posted to its callbackUrl; which events come, and with which members", func(r *run) {
		var kinds []string
		types, all := obj{}, obj{}
		for _, d := range r.events() {
			kinds, types[d.header.Get("Content-Type")] = append(kinds, string(d.fields().Event)), true
			_ = json.Unmarshal(d.body, &all) // json.Unmarshal adds the members to the members of earlier events
			breaks(d.method != http.MethodPost, "an event came by %s instead of POST", d.method)
		}
		r.find("%s; members: %s; Content-Type: %s", strings.Join(kinds, " "), members(all), members(types))
	}},
	{"webhook/signature", "each event has an id, and a signature of its raw body with the current time", func(r *run) {
		skip(len(r.cfg.Booking.Callback.Secrets) == 0, "needs HOTELSTAYS_WEBHOOK_SECRET")
		for _, d := range r.events() {
			skip(errors.Is(d.err, hotelstays.ErrWebhookTime) && r.behind.Abs() > time.Minute, "this machine's clock is wrong by %s", r.behind.Abs())
			breaks(d.err != nil, "event %s: %v", d.fields().Event, d.err)
			breaks(d.header.Get(idHeader) == "", "event %s has no header %s", d.fields().Event, idHeader)
		}
	}},
	{"webhook/redelivery", "how soon an event is delivered again after HTTP 503, and what differs", func(r *run) {
		list := r.events()
		first := slices.IndexFunc(list, func(d delivery) bool { return d.status == 503 })
		skip(first < 0, "the first delivery was of another booking")
		var again *delivery
		took, found := r.poll(redelivering, time.Second, func() bool {
			for _, d := range r.cfg.Booking.Callback.about(list[first].fields().Reference) {
				if d.at.After(list[first].at) && d.fields() == list[first].fields() {
					again = &d
				}
			}
			return again != nil
		})
		r.suffers(!found, "the event was not delivered again within %s", took)
		if found {
			same := again.header.Get(idHeader) == list[first].header.Get(idHeader)
			r.suffers(!same, "the second delivery has another %s", idHeader)
			r.find("after %s; the same id: %t, body: %t, signature: %t", again.at.Sub(list[first].at).Round(time.Second), same,
				bytes.Equal(again.body, list[first].body), again.header.Get(signHeader) == list[first].header.Get(signHeader))
		}
	}},
})

var unasked = newRule("webhook/unasked", "no event comes for an order without callbackUrl", "-callback", func(r *run) {
	tried := false
	for _, b := range r.allowance.silent {
		tried = tried || b.order != nil
		breaks(len(r.cfg.Booking.Callback.about(b.entry.reference())) > 0, "an event came for %s", b.entry.reference())
	}
	skip(!tried, "needs an order without callbackUrl")
	r.get(opQueryOrders, obj{"customerReferenceNos": []string{r.allowance.silent[0].entry.reference()}})
})

// Callback is an http.Handler that receives the events of the bookings. Serve it at URL. It answers the first delivery
// with HTTP 503, so that the service must deliver the event again.
type Callback struct {
	URL string // the public https URL of this handler
	// Secrets are the webhook signing secrets. Without a secret, signatures are not judged.
	Secrets []types.Secret

	mu  sync.Mutex
	got []delivery
}

type delivery struct {
	at     time.Time
	method string
	header http.Header
	body   []byte
	err    error // why the signature or the body is invalid, or nil
	status int   // the HTTP status with which the handler answered the delivery
}

// ServeHTTP stores a delivery, and answers it with HTTP 204, or the first delivery with HTTP 503.
func (c *Callback) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<20))
	d := delivery{at: time.Now(), method: req.Method, header: req.Header.Clone(), body: body, status: http.StatusNoContent}
	if d.err = err; err == nil {
		_, d.err = hotelstays.VerifyWebhook(body, req.Header,
			hotelstays.VerifyWebhookOptions{Secrets: c.Secrets, AllowUnsigned: len(c.Secrets) == 0})
	}
	c.mu.Lock()
	if len(c.got) == 0 {
		d.status = http.StatusServiceUnavailable
	}
	if len(c.got) < 1000 { // the number is limited, because anybody can call this handler
		c.got = append(c.got, d)
	}
	c.mu.Unlock()
	w.WriteHeader(d.status)
}

// about returns the deliveries received so far for a customerReferenceNo.
func (c *Callback) about(reference string) []delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.got), func(d delivery) bool { return d.fields().Reference != reference })
}
