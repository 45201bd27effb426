// The log of requests.

package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const logPause = 100 * time.Millisecond

// logRequests logs every request in the ledger after it has been answered. The returned function logs the requests that
// are not logged yet, and stops.
func logRequests(ledger *hotelstaystest.Ledger, to slog.Handler) func() {
	log := requestLog{ledger: ledger, to: slog.New(to)}
	ending := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		tick := time.NewTicker(logPause)
		defer tick.Stop()
		for more := true; more; log.catchUp() {
			select {
			case <-tick.C:
			case <-ending:
				more = false
			}
		}
	})
	return func() { close(ending); following.Wait() }
}

type requestLog struct {
	ledger *hotelstaystest.Ledger
	to     *slog.Logger
	seq    int64 // sequence number of the last entry that the log has read
}

func (l *requestLog) catchUp() {
	for _, e := range l.ledger.Entries(l.seq) {
		l.seq = e.Seq
		if r := e.Request; r != nil && !r.Done.IsZero() { // log only answered requests: an answered request no longer changes
			l.to.LogAttrs(context.Background(), slog.LevelInfo, "request", attributes(r)...)
		}
	}
}

func attributes(r *hotelstaystest.Request) []slog.Attr {
	name := slog.String("operation", string(r.Operation))
	if r.Operation == "" {
		name = slog.String("path", r.Path)
	}
	list := []slog.Attr{slog.Int64("n", r.Seq), name}
	reference := ""
	if len(r.References) > 0 {
		reference = r.References[0]
	}
	for _, a := range []struct{ key, value string }{{"reference", reference}, {"traceId", r.TraceID}, {"fault", string(r.Fault)}} {
		if a.value != "" {
			list = append(list, slog.String(a.key, a.value))
		}
	}
	if r.Cut {
		list = append(list, slog.Bool("cut", true))
	}
	if r.Status != 0 {
		list = append(list, slog.Int("status", r.Status), slog.Int("code", r.Code))
	}
	return append(list, slog.Float64("ms", float64(r.Done.Sub(r.Arrived).Microseconds())/1000))
}
