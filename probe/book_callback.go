// Callbacks: receiving the events of the bookings.

package probe

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// Callback receives the events of the bookings: serve it at its URL. It answers the first delivery with
// HTTP 503, to see another one.
type Callback struct {
	URL string // public and https
	// Secrets are the webhook signing secrets. Without one signatures are not judged.
	Secrets []types.Secret

	mu  sync.Mutex
	got []delivery
}

// delivery is a request of the service.
type delivery struct {
	at     time.Time
	header http.Header
	body   []byte
	err    error // of its signature, or of the body
	status int   // the answer
}

// ServeHTTP receives a delivery.
func (c *Callback) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<20))
	d := delivery{at: time.Now(), header: req.Header.Clone(), body: body, status: http.StatusNoContent}
	if d.err = err; err == nil {
		_, d.err = hotelstays.VerifyWebhook(body, req.Header,
			hotelstays.WebhookOptions{Secrets: c.Secrets, AllowUnsigned: len(c.Secrets) == 0})
	}
	c.mu.Lock()
	if len(c.got) == 0 {
		d.status = http.StatusServiceUnavailable
	}
	if len(c.got) < 1000 { // it is open to the world
		c.got = append(c.got, d)
	}
	c.mu.Unlock()
	w.WriteHeader(d.status)
}

// deliveries are all so far.
func (c *Callback) deliveries() []delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}
