package chaostest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// service is a sandbox, a client that never repeats a call, and what was stored.
type service struct {
	*testing.T
	*hotelstaystest.Server
	client *hotelstays.Client
	offer  testkit.Offer
	stored []chaostest.Outcome
}

// book books for a guest, and returns the order's number, or nothing after an error.
func (s *service) book(reference, guest string) string {
	req := s.offer.Request(reference)
	req.Guests[0].LastName = guest
	resp, err := s.client.Book(s.Context(), req, hotelstays.WithTraceID(reference))
	if err != nil {
		return ""
	}
	return resp.HotelOrder.PlatformReferenceNo
}

// bookAfter books "a" after a fault.
func (s *service) bookAfter(f hotelstaystest.Fault) string {
	f.Operation = hotelstays.OpBook
	s.Inject(f)
	return s.book("a", "One")
}

func (s *service) store(reference string, round int, order string) {
	time.Sleep(time.Millisecond)
	s.stored = append(s.stored, chaostest.Outcome{Reference: reference, Round: round, OrderNo: order, At: time.Now()})
}

// check checks what happens and is stored after as many rounds were begun. It returns the error's text.
func check(t *testing.T, config hotelstaystest.Config, begun map[string]int, happens func(*service)) (problem string) {
	synctest.Test(t, func(t *testing.T) {
		config.NoRateLimits = true
		srv, _ := testkit.NewSandbox(t, config)
		client := testkit.NewClient(t, srv, testkit.TicketOf(srv), hotelstays.WithMaxAttempts(1))
		s := &service{T: t, Server: srv, client: client, offer: testkit.FindOffer(t, srv, client, 0)}
		happens(s)
		if err := chaostest.Check(s.Ledger(), begun, s.stored); err != nil {
			problem = err.Error()
		}
	})
	return problem
}

func TestCheck(t *testing.T) {
	lost := hotelstaystest.Fault{Kind: hotelstaystest.FaultCut}
	answerLost := hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Commit: true}
	limited := hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 429}
	once, twice, both := map[string]int{"a": 1}, map[string]int{"a": 2}, map[string]int{"a": 1, "b": 1}
	for name, c := range map[string]struct {
		begun   map[string]int
		happens func(s *service)
		problem string // empty: none
	}{
		"a good booking": {once, func(s *service) { s.store("a", 1, s.book("a", "One")) }, ""},
		"an answer that was lost": {once, func(s *service) {
			s.bookAfter(answerLost)
			s.store("a", 1, s.Ledger().Orders()[0].PlatformReferenceNo)
		}, ""},
		"booked in the second round": {twice, func(s *service) {
			s.store("a", 1, s.bookAfter(lost))
			s.store("a", 2, s.book("a", "One"))
		}, ""},
		"sent again after a refusal": {once, func(s *service) {
			s.bookAfter(limited)
			s.store("a", 1, s.book("a", "One"))
		}, ""},
		"an order that nobody stored": {once, func(s *service) { s.book("a", "One") }, "lost: order"},
		"an order that was stored under another number": {once, func(s *service) {
			s.book("a", "One")
			s.store("a", 1, "P0")
		}, "a is stored as order P0, which does not exist"},
		"an order of another booking": {both, func(s *service) {
			order := s.book("a", "One")
			s.store("a", 1, order)
			s.store("b", 1, order)
		}, "b is stored as order"},
		"said to be absent, and existed": {twice, func(s *service) {
			order := s.book("a", "One")
			s.store("a", 1, "")
			s.store("a", 2, order)
		}, "a was stored as being without an order in round 1"},
		"a round with two outcomes": {once, func(s *service) {
			order := s.book("a", "One")
			s.store("a", 1, order)
			s.store("a", 1, order)
		}, "a: round 1 has too many outcomes: 1 more"},
		"begun, and nothing is known": {twice, func(s *service) { s.store("a", 1, s.book("a", "One")) },
			"a: round 2 was begun and has no outcome"},
		"an outcome of nothing": {nil, func(s *service) { s.store("a", 1, s.book("a", "One")) },
			"a: round 1 has too many outcomes: 1 more"},
		"the same stay under two references": {both, func(s *service) {
			s.store("a", 1, s.book("a", "One"))
			s.store("b", 1, s.book("b", "One"))
		}, "1 Books of stays with an order under another reference"},
		"sent although its order existed": {once, func(s *service) {
			s.book("a", "One")
			s.store("a", 1, s.book("a", "One"))
		}, "1 Books whose orders existed"},
		"sent again without proof": {once, func(s *service) {
			s.bookAfter(lost)
			s.store("a", 1, s.book("a", "One"))
		}, "sent twice: Book of a"},
	} {
		t.Run(name, func(t *testing.T) {
			if problem := check(t, hotelstaystest.Config{}, c.begun, c.happens); c.problem == "" {
				assert.Empty(t, problem)
			} else {
				assert.Contains(t, problem, c.problem)
			}
		})
	}
	assert.Equal(t, "chaostest: the ledger has 1 of 2 Books: start the sandbox with a higher LedgerLimit",
		check(t, hotelstaystest.Config{LedgerLimit: 1}, both, func(s *service) {
			s.store("a", 1, s.book("a", "One"))
			s.store("b", 1, s.book("b", "Two"))
		}))
}
