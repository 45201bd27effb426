// Targets that are not a matter of time alone: how often a token is asked for, and
// how much of a ceiling is used.

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

// ticketOffice answers Ticket and CheckAvail without a network. A ticket is handed out
// once gate is closed.
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
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)), Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}}, nil
}

var checkAvailAnswer = string(answers.CheckAvail())

// client is a client that finds a ticket with this much left to live. The tickets
// that it fetches live for a day.
func (o *ticketOffice) client(left time.Duration) (*hotelstays.Client, error) {
	return hotelstays.New("http://127.0.0.1:1", hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")},
		hotelstays.WithHTTPClient(&http.Client{Transport: o}), hotelstays.WithRateLimiter(noCeilings{}),
		hotelstays.WithTokenStore(&oneToken{hotelstays.Token{Value: types.NewSecret("ticket-0"), Expiry: time.Now().Add(left)}}))
}

// oneToken has one token to begin with, and keeps no other.
type oneToken struct{ token hotelstays.Token }

func (o *oneToken) Load(context.Context, string) (hotelstays.Token, error) {
	if time.Now().After(o.token.Expiry) {
		return hotelstays.Token{}, nil
	}
	return o.token, nil
}
func (o *oneToken) Store(context.Context, string, hotelstays.Token) error            { return nil }
func (o *oneToken) CompareAndDelete(context.Context, string, hotelstays.Token) error { return nil }

type noCeilings struct{}

func (noCeilings) Acquire(context.Context, hotelstays.Operation) (hotelstays.Permit, error) {
	return nil, nil
}
func (noCeilings) Pause(hotelstays.Operation, time.Time) {}

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

// expiryResult is how many tickets were fetched for the callers who came after the
// end of one.
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
	time.AfterFunc(300*time.Millisecond, func() { close(office.gate) }) // so that all callers come while it is fetched
	err = callTogether(ctx, client, result.callers)
	result.tickets = office.tickets.Load()
	return result, err
}

// marginResult is whether callers went on while the renewal of an ageing ticket took
// longer than all of their calls.
type marginResult struct {
	callers  int
	renewals int64
	waited   bool
}

func callersInMargin(ctx context.Context) (marginResult, error) {
	const left = 5 * time.Second // its last tenth is the margin
	result := marginResult{callers: 500}
	office := &ticketOffice{gate: make(chan struct{})}
	defer close(office.gate) // the renewal is answered when everybody is through
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

// sandboxPlace is where the sandbox's process is.
type sandboxPlace struct{ URL, AppKey, AppSecret, CityID string }

func serveSandbox() error {
	srv := hotelstaystest.NewServer()
	defer srv.Close()
	return origin.Serve(sandboxPlace{srv.URL, srv.AppKey, srv.AppSecret, srv.CityID(0)})
}

// throughputResult is what a client with its own ceilings got out of a service that
// counts exactly, in several rounds.
type throughputResult struct {
	ceiling int
	used    []float64 // of the ceiling, without the burst at the beginning
	refused int       // with a 429, in all rounds
}

func throughputAtCeiling(ctx context.Context, rounds int) (throughputResult, error) {
	result := throughputResult{ceiling: 100} // of HotelsMetadata
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
		time.Sleep(time.Second + 100*time.Millisecond) // the window of the round before
		rate, refused, err := drain(ctx, client, place.CityID, result.ceiling)
		if err != nil {
			return result, fmt.Errorf("throughput: %w", err)
		}
		result.used = append(result.used, rate/float64(result.ceiling))
		result.refused += refused
	}
	return result, nil
}

// drain calls as fast as the client lets it, and returns how many calls came through
// in a second once the ceiling held them back.
func drain(ctx context.Context, client *hotelstays.Client, city string, ceiling int) (rate float64, refused int, err error) {
	const callers = 64
	calls := int64(6 * ceiling)
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
	through := calls - turnedDown.Load() - int64(ceiling)
	return float64(through) / took.Seconds(), int(turnedDown.Load()), errors.Join(failures...)
}
