// Soak calls every operation for a long time, against a service that fails often, and reports
// whether the client's goroutines and memory grow.
//
//	go run ./cmd/soak -for 10m
//
// The sandbox is a separate process, so only the client is measured. Figures are taken while no
// call is under way. The exit status is 1 if they grow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/types"
)

const callers = 8

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func play(ctx context.Context) error {
	length := flag.Duration("for", 10*time.Minute, "how long to call")
	profile := flag.String("profile", "", "write the live heap at the end to this `file`, for go tool pprof")
	every := flag.Duration("every", 0, "how often to look (0: every 30s, or a twelfth of a shorter run)")
	flag.Parse()
	if *every == 0 {
		*every = min(30*time.Second, *length/12)
	}
	switch role := flag.Arg(0); {
	case role == roleSandbox:
		return serveSandbox()
	case role != "" || *length <= 0 || *every <= 0:
		return fmt.Errorf("usage: soak [-for 10m] [-every 30s], both above 0")
	}
	return soak(ctx, *length, *every, *profile)
}

func soak(ctx context.Context, length, every time.Duration, profile string) error {
	var place sandboxPlace
	stop, err := origin.Start(&place, roleSandbox)
	if err != nil {
		return err
	}
	defer stop()
	distrust, err := origin.Trust(place.Certificate)
	if err != nil {
		return err
	}
	defer distrust()
	tally := newTally()
	client, err := hotelstays.New(place.URL, hotelstays.TicketCredential{AppKey: place.AppKey,
		AppSecret: types.NewSecret(place.AppSecret), TTL: ticketLife},
		hotelstays.WithObserver(hotelstays.Observer{CallEnd: tally.callEnd}), hotelstays.WithTimeout(callTimeout))
	if err != nil {
		return err
	}

	calling, end := context.WithTimeout(ctx, length)
	defer end()
	var atRest sync.RWMutex // each journey holds it for reading
	var working sync.WaitGroup
	for i := range callers {
		j := journey{client: client, place: place, caller: i}
		working.Go(func() {
			for calling.Err() == nil {
				atRest.RLock()
				j.travel(calling)
				atRest.RUnlock()
			}
		})
	}
	looks := watch(calling, every, &atRest, tally)
	working.Wait()
	if err := writeProfile(profile); err != nil {
		return err
	}
	client.CloseIdleConnections()
	fmt.Printf("\n%s\n", tally)
	if err := tally.slips(); err != nil {
		return err
	}
	return judge(looks)
}

func writeProfile(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

// look is a measurement while no call is under way.
type look struct {
	after      time.Duration
	goroutines int
	heap       uint64
}

// watch measures again and again until ctx ends.
func watch(ctx context.Context, every time.Duration, atRest *sync.RWMutex, tally *tally) []look {
	fmt.Println(runtime.Version())
	fmt.Print("\n| after | calls | failed | goroutines | live heap |\n|---:|---:|---:|---:|---:|\n")
	var looks []look
	start := time.Now()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return looks
		case <-ticker.C:
		}
		atRest.Lock()
		if ctx.Err() != nil { // the callers have ended
			atRest.Unlock()
			return looks
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // the second one empties sync.Pools
		runtime.ReadMemStats(&m)
		now := look{time.Since(start), runtime.NumGoroutine(), m.HeapAlloc}
		atRest.Unlock()
		looks = append(looks, now)
		made, failed := tally.sum()
		fmt.Printf("| %s | %d | %d | %d | %.0f KB |\n", now.after.Round(time.Second), made, failed, now.goroutines, float64(now.heap)/1e3)
	}
}

// settled is when a run has its typical size: net/http keeps a cut connection for 45 seconds,
// and the token has been renewed.
const settled = time.Minute

// The allowed growth from the least of the first third to the least of the last. The least
// counts, because connections come and go, and a leak raises it too.
const (
	moreGoroutines = 8
	moreHeap       = 512 << 10
)

// judge compares the last third of a settled run with the first.
func judge(looks []look) error {
	looks = slices.DeleteFunc(looks, func(l look) bool { return l.after < settled })
	third := len(looks) / 3
	if third == 0 {
		return fmt.Errorf("no verdict: %d looks after the first %s are too few, run for three minutes or more", len(looks), settled)
	}
	first, last := least(looks[:third]), least(looks[len(looks)-third:])
	fmt.Printf("goroutines %d, then %d; live heap %.0f KB, then %.0f KB (the least of the first third and of the last, after %s)\n",
		first.goroutines, last.goroutines, float64(first.heap)/1e3, float64(last.heap)/1e3, settled)
	if last.goroutines > first.goroutines+moreGoroutines || last.heap > first.heap+first.heap/10+moreHeap {
		return errors.New("verdict: it grows")
	}
	fmt.Println("verdict: flat")
	return nil
}

func least(looks []look) look {
	l := looks[0]
	for _, other := range looks {
		l.goroutines, l.heap = min(l.goroutines, other.goroutines), min(l.heap, other.heap)
	}
	return l
}
