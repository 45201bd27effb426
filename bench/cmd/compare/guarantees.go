// Targets beside time: the number of token fetches, and the used share of a rate limit.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// ticketOffice answers Ticket and CheckAvail without a network.
type ticketOffice struct {
	tickets atomic.Int64
	takes   atomic.Int64 // nanoseconds until a ticket is issued
}

func (o *ticketOffice) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	req.Body.Close()
	body := checkAvailAnswer
	if strings.HasSuffix(req.URL.Path, "/ticket") {
		body = fmt.Sprintf(`{"code":0,"msg":"success","data":{"ticket":"ticket-%d"}}`, o.tickets.Add(1))
		time.Sleep(time.Duration(o.takes.Load()))
	}
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
		Request: req, Header: http.Header{"Content-Type": {"application/json"}}}, nil
}

var checkAvailAnswer = string(answers.CheckAvail())

type unlimited struct{}

func (unlimited) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return nil, nil
}
func (unlimited) Pause(hotelstays.RateLimitKey, time.Time) {}

// callers are n calls at the same time.
type callers struct {
	n       int
	tickets int64 // that they needed
	waited  bool  // for a ticket
}

// callersAfterExpiry call when the ticket has expired, and all come while it is fetched.
func callersAfterExpiry(ctx context.Context) (callers, error) {
	const lifetime = time.Second
	return callTogether(ctx, 10_000, lifetime, lifetime+50*time.Millisecond, 300*time.Millisecond)
}

// callersDuringRenewal call when the ticket may be used for another half a second, a tenth of
// its lifetime, and a renewal takes longer.
func callersDuringRenewal(ctx context.Context) (callers, error) {
	const lifetime = 5 * time.Second
	return callTogether(ctx, 500, lifetime, lifetime-lifetime/10+50*time.Millisecond, 5*time.Second)
}

// callTogether makes n calls some time after a ticket was issued. The next one takes long.
func callTogether(ctx context.Context, n int, lifetime, after, long time.Duration) (callers, error) {
	office := new(ticketOffice)
	client, err := hotelstays.New("http://127.0.0.1:1",
		hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret"), TTL: lifetime},
		hotelstays.WithHTTPClient(&http.Client{Transport: office}), hotelstays.WithRateLimiter(unlimited{}))
	if err != nil {
		return callers{}, err
	}
	call := func() error {
		_, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: answers.Session, RatePkgID: answers.RatePkgID})
		return err
	}
	if err := call(); err != nil {
		return callers{}, err
	}
	time.Sleep(after)
	office.tickets.Store(0)
	office.takes.Store(int64(long))
	failures := make([]error, n)
	var working sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		working.Go(func() {
			<-begin
			failures[i] = call()
		})
	}
	begun := time.Now()
	close(begin)
	working.Wait()
	return callers{n, office.tickets.Load(), time.Since(begun) >= long}, errors.Join(failures...)
}

// throughput is what a client with its own rate limits gets from a service that counts exactly.
type throughput struct {
	used    []float64 // of the limit, without the first burst, in each round
	refused int       // with a 429, in all rounds
}

func throughputAtLimit(ctx context.Context, rounds int) (throughput, error) {
	const limit = 100 // of HotelsMetadata
	var result throughput
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		hotelstays.WithMaxAttempts(1))
	if err != nil {
		return result, err
	}
	defer client.CloseIdleConnections()
	for range rounds {
		time.Sleep(time.Second + 100*time.Millisecond) // the window of the last round
		rate, refused, err := drain(ctx, client, srv.CityID(0), limit)
		if err != nil {
			return result, fmt.Errorf("throughput: %w", err)
		}
		result.used = append(result.used, rate/limit)
		result.refused += refused
	}
	return result, nil
}

// drain calls as fast as the client allows, and returns the calls in a second once the rate
// limit held them back.
func drain(ctx context.Context, client *hotelstays.Client, city string, limit int) (rate float64, refused int, err error) {
	const parallel = 64
	calls := int64(6 * limit)
	var next, turnedDown atomic.Int64
	ended := make([]time.Time, calls)
	failures := make([]error, parallel)
	var working sync.WaitGroup
	for i := range parallel {
		working.Go(func() {
			for n := next.Add(1); n <= calls && failures[i] == nil; n = next.Add(1) {
				_, err := client.HotelsMetadata(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: city, Page: &types.PageReq{PageSize: 1}})
				switch {
				case errors.Is(err, hotelstays.ErrRateLimited):
					turnedDown.Add(1)
				case err != nil:
					failures[i] = err
				}
				ended[n-1] = time.Now()
			}
		})
	}
	working.Wait()
	slices.SortFunc(ended, time.Time.Compare)
	took := ended[calls-1].Sub(ended[0])
	through := calls - turnedDown.Load() - int64(limit)
	return float64(through) / took.Seconds(), int(turnedDown.Load()), errors.Join(failures...)
}
