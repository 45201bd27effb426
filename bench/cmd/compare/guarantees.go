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
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// ticketOffice answers Ticket and CheckAvail without a network. It issues a ticket when gate
// is closed.
type ticketOffice struct {
	tickets atomic.Int64
	gate    chan struct{}
}

func (o *ticketOffice) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	req.Body.Close()
	body := checkAvailAnswer
	if strings.HasSuffix(req.URL.Path, "/ticket") {
		body = fmt.Sprintf(`{"code":0,"msg":"success","data":{"ticket":"ticket-%d"}}`, o.tickets.Add(1))
		select {
		case <-o.gate:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
		Request: req,
		Header:  http.Header{"Content-Type": {"application/json"}}}, nil
}

var checkAvailAnswer = string(answers.CheckAvail())

// client returns a client whose stored ticket has this much left to live. Fetched tickets live
// for a day.
func (o *ticketOffice) client(left time.Duration) (*hotelstays.Client, error) {
	return hotelstays.New("http://127.0.0.1:1", hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")},
		hotelstays.WithHTTPClient(&http.Client{Transport: o}), hotelstays.WithRateLimiter(unlimited{}),
		hotelstays.WithTokenStore(&oneToken{hotelstays.Token{Value: types.NewSecret("ticket-0"), Expiry: time.Now().Add(left)}}))
}

// oneToken is a TokenStore with one token at first.
type oneToken struct{ token hotelstays.Token }

func (o *oneToken) Load(context.Context, string) (hotelstays.Token, error) {
	if time.Now().After(o.token.Expiry) {
		return hotelstays.Token{}, nil
	}
	return o.token, nil
}
func (o *oneToken) Store(context.Context, string, hotelstays.Token) error            { return nil }
func (o *oneToken) CompareAndDelete(context.Context, string, hotelstays.Token) error { return nil }

type unlimited struct{}

func (unlimited) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return nil, nil
}
func (unlimited) Pause(hotelstays.RateLimitKey, time.Time) {}

// callTogether makes n calls at the same time.
func callTogether(ctx context.Context, client *hotelstays.Client, n int) error {
	failures := make([]error, n)
	var started, working sync.WaitGroup
	begin := make(chan struct{})
	started.Add(n)
	for i := range n {
		working.Go(func() {
			started.Done()
			<-begin
			_, failures[i] = client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: answers.Session, RatePkgID: answers.RatePkgID})
		})
	}
	started.Wait()
	close(begin)
	working.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

// expiryResult is the number of tickets for the callers after the expiry of one.
type expiryResult struct {
	callers int
	tickets int64
}

func callersAtExpiry(ctx context.Context) (expiryResult, error) {
	const left = time.Second
	result := expiryResult{callers: 10_000}
	office := &ticketOffice{gate: make(chan struct{})}
	client, err := office.client(left)
	if err != nil {
		return result, err
	}
	if err := callTogether(ctx, client, 1); err != nil {
		return result, err
	}
	time.Sleep(left + 50*time.Millisecond)
	time.AfterFunc(300*time.Millisecond, func() { close(office.gate) }) // all callers come during the fetch
	err = callTogether(ctx, client, result.callers)
	result.tickets = office.tickets.Load()
	return result, err
}

// marginResult is whether callers continued while a slow renewal was under way.
type marginResult struct {
	callers  int
	renewals int64
	waited   bool
}

func callersInMargin(ctx context.Context) (marginResult, error) {
	const left = 5 * time.Second // the last tenth is the margin
	result := marginResult{callers: 500}
	office := &ticketOffice{gate: make(chan struct{})}
	defer close(office.gate) // the renewal ends after all calls
	client, err := office.client(left)
	if err != nil {
		return result, err
	}
	if err := callTogether(ctx, client, 1); err != nil {
		return result, err
	}
	time.Sleep(left - left/10 + 50*time.Millisecond)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err = callTogether(ctx, client, result.callers)
	result.renewals = office.tickets.Load()
	if errors.Is(err, context.DeadlineExceeded) {
		result.waited, err = true, nil
	}
	return result, err
}

// sandboxPlace is the address of the sandbox.
type sandboxPlace struct{ URL, AppKey, AppSecret, CityID string }

func serveSandbox() error {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	return origin.Serve(sandboxPlace{srv.URL, srv.AppKey, srv.AppSecret, srv.CityID(0)})
}

// throughputResult is the throughput of a client with its own rate limits against a service
// that counts exactly, in several rounds.
type throughputResult struct {
	limit   int
	used    []float64 // of the limit, without the first burst
	refused int       // with a 429, in all rounds
}

func throughputAtLimit(ctx context.Context, rounds int) (throughputResult, error) {
	result := throughputResult{limit: 100} // of HotelsMetadata
	var place sandboxPlace
	stop, err := origin.Start(&place, roleSandbox)
	if err != nil {
		return result, err
	}
	defer stop()
	client, err := hotelstays.New(place.URL, hotelstays.TicketCredential{AppKey: place.AppKey, AppSecret: types.NewSecret(place.AppSecret)},
		hotelstays.WithMaxAttempts(1))
	if err != nil {
		return result, err
	}
	defer client.CloseIdleConnections()
	for range rounds {
		time.Sleep(time.Second + 100*time.Millisecond) // the window of the last round
		rate, refused, err := drain(ctx, client, place.CityID, result.limit)
		if err != nil {
			return result, fmt.Errorf("throughput: %w", err)
		}
		result.used = append(result.used, rate/float64(result.limit))
		result.refused += refused
	}
	return result, nil
}

// drain calls as fast as the client allows, and returns the calls in a second once the rate
// limit held them back.
func drain(ctx context.Context, client *hotelstays.Client, city string, limit int) (rate float64, refused int, err error) {
	const callers = 64
	calls := int64(6 * limit)
	var next, turnedDown atomic.Int64
	ended := make([]time.Time, calls)
	failures := make([]error, callers)
	var working sync.WaitGroup
	for i := range callers {
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
