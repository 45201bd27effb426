// The balancer: what stands between the service and the workers. It gives each delivery
// of a webhook to a worker at random, and every third to all of them at once.

package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// balancer is an http.Handler. It is safe for concurrent use.
type balancer struct {
	client *http.Client
	toAll  atomic.Int64 // deliveries that went to all workers at once

	mu      sync.Mutex
	workers []string // their URLs; empty while a worker is dead
}

// startBalancer listens on loopback, and returns where.
func startBalancer(workers int) (b *balancer, url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	b = &balancer{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}, workers: make([]string, workers)}
	server := &http.Server{Handler: b, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	return b, "http://" + listener.Addr().String() + "/hotel-events", func() {
		server.Close()
		b.client.CloseIdleConnections()
	}, nil
}

// set says where a worker is, or nowhere.
func (b *balancer) set(worker int, url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.workers[worker] = url
}

// choose returns whom a delivery goes to.
func (b *balancer) choose() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rand.IntN(3) == 0 {
		b.toAll.Add(1)
		return append([]string(nil), b.workers...)
	}
	return []string{b.workers[rand.IntN(len(b.workers))]}
}

// ServeHTTP hands a delivery on. One worker that took it is enough; otherwise the
// sender tries again.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the body did not come", http.StatusBadRequest)
		return
	}
	var taken atomic.Bool
	var all sync.WaitGroup
	for _, worker := range b.choose() {
		all.Go(func() {
			if b.handOn(r, worker, body) == http.StatusOK {
				taken.Store(true)
			}
		})
	}
	all.Wait()
	if !taken.Load() {
		w.WriteHeader(http.StatusBadGateway)
	}
}

// handOn returns the status that a worker answers, or 0 when it does not.
func (b *balancer) handOn(r *http.Request, worker string, body []byte) int {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, worker, bytes.NewReader(body))
	if err != nil || worker == "" {
		return 0
	}
	req.Header = r.Header.Clone()
	resp, err := b.client.Do(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
