// The promises about which order is read, and about answers that say less than others.

package bookingstest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// order is an order as JSON has it.
type order = map[string]any

// rewritten changes the orders in answers of QueryOrders.
type rewritten struct {
	base   http.RoundTripper
	change func([]order) []order
}

// RoundTrip sends a request.
func (r *rewritten) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.base.RoundTrip(req)
	if err != nil || !strings.HasSuffix(req.URL.Path, "/queryOrders") {
		return resp, err
	}
	var answer struct {
		Code int    `json:"code"`
		Msg  string `json:"msg"`
		Data struct {
			Orders []order `json:"orders"`
		} `json:"data"`
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		err = d.Decode(&answer)
	}
	if err == nil && answer.Code == 0 {
		answer.Data.Orders = r.change(answer.Data.Orders)
		body, err = json.Marshal(answer)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, err
}

// rewrite opens the process anew, with a client whose answers of QueryOrders are changed.
func (w *World[Tx]) rewrite(change func([]order) []order) {
	w.Helper()
	w.SendThrough(&rewritten{w.Server.Client().Transport, change})
}

// otherOrder returns an order of the same reference, with another identity.
func otherOrder(o order) order {
	other := maps.Clone(o)
	other["platformReferenceNo"], other["supplierReferenceNo"], other["status"] = "another", "another", 3
	return other
}

// Another order under the reference of a followed one is no change of it.
func followsOneOrder[Tx any](w *World[Tx]) {
	w = w.following(w.Fleet.StoreOrder)
	w.Booked("ref-1")
	var reads atomic.Int32
	alone := atomic.Bool{}
	w.rewrite(func(orders []order) []order {
		if len(orders) != 1 {
			return orders
		}
		other := otherOrder(orders[0])
		switch n := reads.Add(1); {
		case alone.Load():
			return []order{other}
		case n%2 == 0:
			return []order{orders[0], other}
		}
		return []order{other, orders[0]}
	})
	w.Work()
	for n := range int32(6) {
		alone.Store(n >= 4)
		require.NoError(w, w.Wake(w.Context(), "ref-1"))
		w.Eventually("it is read", func() bool { return reads.Load() > n })
	}
	time.Sleep(50 * time.Millisecond)
	_, changes := w.mirror("ref-1")
	assert.Zero(w, changes)
	alone.Store(false)
	w.ConfirmOrder("ref-1")
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.Eventually("its own change is delivered", func() bool { _, n := w.mirror("ref-1"); return n == 1 })
}

// An order that has disappeared is read until its stay is over.
func followsUntilTheStayIsOver[Tx any](w *World[Tx]) {
	w = w.following(w.Fleet.StoreOrder)
	w.Booked("ref-1")
	w.rewrite(func([]order) []order { return []order{} })
	w.Work()
	for range 25 { // the stay is in two months
		before := w.polls()
		w.Fleet.Pass(4 * 24 * time.Hour)
		if w.polls() == before {
			time.Sleep(20 * time.Millisecond)
		}
	}
	w.PassUntil("it is read no more", 24*time.Hour, func() bool {
		before := w.polls()
		w.Fleet.Pass(10 * 24 * time.Hour)
		time.Sleep(200 * time.Millisecond)
		return w.polls() == before
	})
	_, changes := w.mirror("ref-1")
	assert.Zero(w, changes)
}

// A cancellation cancels the order of its booking, also if another one is shown under its reference.
func cancelsOneOrder[Tx any](w *World[Tx]) {
	w.Booked("ref-1")
	w.rewrite(func(orders []order) []order {
		if len(orders) == 1 {
			orders = append([]order{otherOrder(orders[0])}, orders...)
		}
		return orders
	})
	require.NoError(w, w.CancelAlone("ref-1", nil))
	w.Work()
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	own := w.Ledger().Orders()[0].PlatformReferenceNo
	assert.Equal(w, own, w.Fleet.Cancellation("ref-1").PlatformReferenceNo)
	assert.NotEqual(w, "another", w.Fleet.Cancellation("ref-1").SupplierReferenceNo)
}

// An order without the number that Cancel requires exists: it is not said to be missing.
func cancelWithoutSupplierNo[Tx any](w *World[Tx]) {
	w.Booked("ref-1")
	w.rewrite(func(orders []order) []order {
		for _, o := range orders {
			delete(o, "supplierReferenceNo")
		}
		return orders
	})
	require.NoError(w, w.CancelAlone("ref-1", nil))
	w.Work()
	w.CancelEnds("ref-1", durable.CancelRefused, 1, time.Minute)
	err := w.cancelErr("ref-1")
	assert.NotErrorIs(w, err, hotelstays.ErrNotFound)
	assert.ErrorContains(w, err, "supplierReferenceNo")
	assert.Zero(w, w.cancels())
}

// A Cancel that the service accepts, and carries out later, is not sent twice.
func cancelAccepted[Tx any](w *World[Tx]) {
	w.Booked("ref-1", "ref-2")
	base := w.Server.Client().Transport
	w.SendThrough(roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/cancel") {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
				Body: io.NopCloser(strings.NewReader(`{"code": 0, "msg": "", "data": {"status": 4}}`))}, nil
		}
		return base.RoundTrip(r)
	}))
	require.NoError(w, w.CancelAlone("ref-1", nil))
	require.NoError(w, w.CancelAlone("ref-2", nil))
	w.Work()
	w.Eventually("it is accepted", func() bool { return w.Fleet.Cancellation("ref-2").Accepted })
	w.Fleet.Pass(20 * time.Minute)
	w.SetOrderStatus("ref-2", 3)
	w.CancelEnds("ref-2", durable.CancelDone, 1, time.Minute)
	w.CancelEnds("ref-1", durable.CancelAccepted, 1, time.Hour)
	require.ErrorIs(w, w.CancelAlone("ref-1", nil), durable.ErrAlreadyCancelling)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
