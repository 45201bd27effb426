package chaostest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// service is a sandbox and a client that never repeats a call.
type service struct {
	*hotelstaystest.Server
	client *hotelstays.Client
	offer  testkit.Offer
}

func newService(t *testing.T, config ...hotelstaystest.Config) *service {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.NoRateLimits = true
	srv := hotelstaystest.NewServer(&c)
	t.Cleanup(srv.Close)
	client := testkit.NewClient(t, srv, testkit.TicketOf(srv), hotelstays.WithMaxAttempts(1))
	return &service{srv, client, testkit.FindOffer(t, srv, client, 0)}
}

// book books for a guest, and returns the order's number, or nothing after an error.
func (s *service) book(ctx context.Context, reference, guest string) string {
	req := s.offer.Request(reference)
	req.Guests[0].LastName = guest
	resp, err := s.client.Book(ctx, req, hotelstays.WithTraceID(reference))
	if err != nil {
		return ""
	}
	return resp.HotelOrder.PlatformReferenceNo
}

func (s *service) fail(f hotelstaystest.Fault) {
	f.Operation = hotelstays.OpBook
	s.Inject(f)
}

func TestCheck(t *testing.T) {
	lost := hotelstaystest.Fault{Kind: hotelstaystest.FaultCut}
	answerLost := hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Commit: true}
	once := map[string]int{"a": 1}
	limited := hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 429}
	for _, c := range []struct {
		name  string
		begun map[string]int
		// what happens, and what is stored of it
		run     func(ctx context.Context, s *service) []chaostest.Outcome
		problem string // empty: none
	}{
		{"a good booking", once, func(ctx context.Context, s *service) []chaostest.Outcome {
			return []chaostest.Outcome{{"a", 1, s.book(ctx, "a", "One"), time.Now()}}
		}, ""},
		{"an answer that was lost", once, func(ctx context.Context, s *service) []chaostest.Outcome {
			s.fail(answerLost)
			s.book(ctx, "a", "One")
			return []chaostest.Outcome{{"a", 1, s.Ledger().Orders()[0].PlatformReferenceNo, time.Now()}}
		}, ""},
		{"booked in the second round", map[string]int{"a": 2}, func(ctx context.Context, s *service) []chaostest.Outcome {
			s.fail(lost)
			absent := chaostest.Outcome{Reference: "a", Round: 1, OrderNo: s.book(ctx, "a", "One"), At: time.Now()}
			return []chaostest.Outcome{absent, {"a", 2, s.book(ctx, "a", "One"), time.Now()}}
		}, ""},
		{"sent again after a refusal", once, func(ctx context.Context, s *service) []chaostest.Outcome {
			s.fail(limited)
			s.book(ctx, "a", "One")
			return []chaostest.Outcome{{"a", 1, s.book(ctx, "a", "One"), time.Now()}}
		}, ""},
		{"an order that nobody stored", once, func(ctx context.Context, s *service) []chaostest.Outcome {
			s.book(ctx, "a", "One")
			return nil
		}, "lost: order"},
		{"an order that was stored under another number", once, func(ctx context.Context, s *service) []chaostest.Outcome {
			s.book(ctx, "a", "One")
			return []chaostest.Outcome{{"a", 1, "P0", time.Now()}}
		}, "a is stored as order P0, which does not exist"},
		{"an order of another booking", map[string]int{"a": 1, "b": 1}, func(ctx context.Context, s *service) []chaostest.Outcome {
			order := s.book(ctx, "a", "One")
			return []chaostest.Outcome{{"a", 1, order, time.Now()}, {"b", 1, order, time.Now()}}
		}, "b is stored as order"},
		{"said to be absent, and existed", map[string]int{"a": 2}, func(ctx context.Context, s *service) []chaostest.Outcome {
			order := s.book(ctx, "a", "One")
			return []chaostest.Outcome{{"a", 1, "", time.Now()}, {"a", 2, order, time.Now()}}
		}, "a was stored as being without an order in round 1"},
		{"a round with two outcomes", once, func(ctx context.Context, s *service) []chaostest.Outcome {
			order := s.book(ctx, "a", "One")
			return []chaostest.Outcome{{"a", 1, order, time.Now()}, {"a", 1, order, time.Now()}}
		}, "a: round 1 has too many outcomes: 1 more"},
		{"begun, and nothing is known", map[string]int{"a": 2}, func(ctx context.Context, s *service) []chaostest.Outcome {
			return []chaostest.Outcome{{"a", 1, s.book(ctx, "a", "One"), time.Now()}}
		}, "a: round 2 was begun and has no outcome"},
		{"an outcome of nothing", nil, func(ctx context.Context, s *service) []chaostest.Outcome {
			return []chaostest.Outcome{{"a", 1, s.book(ctx, "a", "One"), time.Now()}}
		}, "a: round 1 has too many outcomes: 1 more"},
		{"the same stay under two references", map[string]int{"a": 1, "b": 1}, func(ctx context.Context, s *service) []chaostest.Outcome {
			first, second := s.book(ctx, "a", "One"), s.book(ctx, "b", "One")
			return []chaostest.Outcome{{"a", 1, first, time.Now()}, {"b", 1, second, time.Now()}}
		}, "1 Books of stays with an order under another reference"},
		{"sent although its order existed", once, func(ctx context.Context, s *service) []chaostest.Outcome {
			s.book(ctx, "a", "One")
			return []chaostest.Outcome{{"a", 1, s.book(ctx, "a", "One"), time.Now()}}
		}, "1 Books whose orders existed"},
		{"sent again without proof", once, func(ctx context.Context, s *service) []chaostest.Outcome {
			s.fail(lost)
			s.book(ctx, "a", "One")
			return []chaostest.Outcome{{"a", 1, s.book(ctx, "a", "One"), time.Now()}}
		}, "sent twice: Book of a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t)
			err := chaostest.Check(s.Ledger(), c.begun, c.run(t.Context(), s))
			if c.problem == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.problem)
			}
		})
	}
}

func TestCheckNeedsAllRequests(t *testing.T) {
	s := newService(t, hotelstaystest.Config{LedgerLimit: 1})
	first, second := s.book(t.Context(), "a", "One"), s.book(t.Context(), "b", "Two")
	stored := []chaostest.Outcome{{"a", 1, first, time.Now()}, {"b", 1, second, time.Now()}}
	err := chaostest.Check(s.Ledger(), map[string]int{"a": 1, "b": 1}, stored)
	assert.EqualError(t, err, "chaostest: the ledger has 1 of 2 Books: start the sandbox with a higher LedgerLimit")
}
