// The balancer between the service and the workers. It sends each webhook delivery to a random
// worker, and every third one to all of them at once.

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

type balancer struct {
	client *http.Client
	toAll  atomic.Int64 // deliveries that went to all workers at once

	mu      sync.Mutex
	workers []string // URLs
}

// startBalancer listens on loopback, and returns its URL.
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

// set sets the URL of a worker, which is empty while it is dead.
func (b *balancer) set(worker int, url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.workers[worker] = url
}

// choose returns the receivers of a delivery.
func (b *balancer) choose() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rand.IntN(3) == 0 {
		b.toAll.Add(1)
		return append([]string(nil), b.workers...)
	}
	return []string{b.workers[rand.IntN(len(b.workers))]}
}

// ServeHTTP forwards a delivery. It succeeds if one worker answers 200; otherwise the sender
// tries again.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the body is incomplete", http.StatusBadRequest)
		return
	}
	var taken atomic.Bool
	var all sync.WaitGroup
	for _, worker := range b.choose() {
		all.Go(func() {
			if b.forward(r, worker, body) == http.StatusOK {
				taken.Store(true)
			}
		})
	}
	all.Wait()
	if !taken.Load() {
		w.WriteHeader(http.StatusBadGateway)
	}
}

// forward returns the status of a worker's answer, or 0.
func (b *balancer) forward(r *http.Request, worker string, body []byte) int {
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
