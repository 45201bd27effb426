package sqltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// A process dies between its commit and its Send. Run sends the booking, once in all processes.
func TestRunSendsWhatNobodySends(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.begin("ref-1")
		b.begin("ref-2")
		refusal := bookRefused
		refusal.Reference = "ref-2"
		b.Inject(refusal)
		b.run()
		b.another(nil).run()
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, b.Wake(t.Context(), "ref-1"))
		assert.Zero(t, b.Ledger().Count(hotelstays.OpBook), "Send may still come")
		b.pass(15 * time.Second) // 10 s of BookTimeout, and the margin
		b.hasState("ref-1", durable.EndingFound, 0)
		b.hasState("ref-2", durable.EndingFailed, 0)
		assert.Equal(t, 2, b.Ledger().Count(hotelstays.OpBook))
		_, err := b.Send(t.Context(), "ref-1")
		require.ErrorIs(t, err, durable.ErrAlreadyBooked)
		assert.Equal(t, 1, b.row("ref-1").Ended)
	})
}

// While polls fail, OnOutcome is not called and the polls continue.
func TestUnverifiedIsNoEnd(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.sendUnknown("ref-1", bookMade)
		b.Inject(noPoll)
		b.run()
		b.eventually("unverified three times", func() bool { b.pass(10 * time.Minute); return b.stored("ref-1").Unverified >= 3 })
		assert.Equal(t, callerRow{State: "pending"}, b.row("ref-1"))
		b.ClearFaults()
		b.hasState("ref-1", durable.EndingFound, time.Hour)
		assert.Equal(t, 1, b.row("ref-1").Ended)
	})
}

func TestWake(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, func(o *hotelstayssql.JournalOptions) { o.PollInterval = time.Hour })
		b.sendUnknown("ref-1", bookMade)
		require.NoError(t, b.Wake(t.Context(), "ref-9"), "a booking of others")
		b.begin("ref-2")
		require.NoError(t, b.Wake(t.Context(), "ref-2"), "a booking that waits")
		b.run()
		b.eventually("it is woken", func() bool {
			assert.NoError(t, b.Wake(t.Context(), "ref-1"))
			return b.row("ref-1").State == "found"
		})
		require.NoError(t, b.Wake(t.Context(), "ref-1"), "a booking that has ended")
		_, err := b.Send(t.Context(), "ref-2")
		require.NoError(t, err)
	})
}

// A webhook may come before the answer of Book. A poll that finds the order ends the booking, and
// Send agrees; one that finds nothing changes nothing.
func TestWakeWhileBookIsUnderWay(t *testing.T) {
	for name, visibleAfter := range map[string]time.Duration{"the order is visible": 0, "the order is not visible": time.Hour} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				b := newBooks(t, db, nil, hotelstaystest.Config{LateVisibility: visibleAfter})
				sending := b.sendHeld("ref-1")
				b.run()
				require.NoError(t, b.Wake(t.Context(), "ref-1"))
				if visibleAfter == 0 {
					b.hasState("ref-1", durable.EndingFound, 0)
				} else {
					b.eventually("it was polled for", func() bool {
						stored := b.stored("ref-1")
						return b.Ledger().Count(hotelstays.OpQueryOrders) == 1 && stored.Due.Sub(stored.BookBy).Abs() < time.Millisecond
					})
					assert.Zero(t, b.stored("ref-1").Recovery.EndedAt)
				}
				_, err := sending.end()
				require.NoError(t, err)
				assert.Equal(t, "found", b.row("ref-1").State)
				assert.Equal(t, 1, b.row("ref-1").Ended)
			})
		})
	}
}

// heldAnswer holds the first answer of an operation back.
type heldAnswer struct {
	http.RoundTripper
	path      string
	once      sync.Once
	held, end chan struct{}
	release   func()
	lose      bool // drops the answer after all
}

func (h *heldAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, h.path) {
		h.once.Do(func() {
			close(h.held)
			<-h.end
			if h.lose {
				resp.Body.Close()
				resp, err = nil, errors.New("the answer is lost")
			}
		})
	}
	return resp, err
}

// holdAnswer makes the process hold the next answer of an operation back.
func (b *books) holdAnswer(path string, change func(*hotelstayssql.JournalOptions)) *heldAnswer {
	b.t.Helper()
	end := make(chan struct{})
	h := &heldAnswer{RoundTripper: b.Client().Transport, path: path, held: make(chan struct{}), end: end,
		release: sync.OnceFunc(func() { close(end) })}
	b.t.Cleanup(h.release)
	b.sendThrough(h)
	*b = *b.another(change)
	return h
}

// sending is a Send whose answer is held back.
type sending struct {
	*heldAnswer
	cancel  context.CancelFunc
	outcome *hotelstays.BookingOutcome
	err     error
	done    chan struct{}
}

// sendHeld begins a booking, and sends it until its answer is held back.
func (b *books) sendHeld(reference string) *sending {
	b.t.Helper()
	b.begin(reference)
	s := &sending{done: make(chan struct{})}
	s.heldAnswer = b.holdAnswer("/book", func(o *hotelstayssql.JournalOptions) { o.BookTimeout = patience })
	ctx, cancel := context.WithCancel(b.t.Context())
	s.cancel = cancel
	go func() { defer close(s.done); s.outcome, s.err = b.Send(ctx, reference) }()
	<-s.held
	return s
}

// end lets the answer pass, or loses it.
func (s *sending) end() (*hotelstays.BookingOutcome, error) {
	if s.lose {
		s.cancel()
	}
	s.release()
	<-s.done
	s.cancel()
	return s.outcome, s.err
}

// hasStateAfter waits until the caller's row has a state, and repeats something.
func (b *books) hasStateAfter(reference string, want durable.Ending, again func()) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("%s is %s", reference, want), func() bool {
		again()
		return b.row(reference).State == string(want)
	})
}

// A process is frozen in Book until its booking is stored as absent. With an answer, Send returns
// its order together with ErrConflictingOutcome. Without one, the order may exist now, so the
// polls start again.
func TestSendFrozenUntilItsBookingIsAbsent(t *testing.T) {
	for _, answered := range []bool{true, false} {
		t.Run(fmt.Sprintf("answered %t", answered), func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				b := newBooks(t, db, nil, hotelstaystest.Config{LateVisibility: 2 * time.Hour})
				sending := b.sendHeld("ref-1")
				stop := b.run()
				b.hasState("ref-1", durable.EndingAbsent, 5*time.Minute)
				stop()
				sending.lose = !answered
				outcome, err := sending.end()
				if answered {
					require.ErrorIs(t, err, durable.ErrConflictingOutcome)
					require.NotNil(t, outcome)
					assert.NotNil(t, outcome.Order)
					assert.Equal(t, callerRow{"absent", "", 1}, b.row("ref-1"))
					return
				}
				require.Equal(t, hotelstays.KindOutcomeUnknown, hotelstays.KindOf(err))
				assert.Equal(t, durable.PhasePolling, b.stored("ref-1").Phase(time.Now()))
				b.Advance(3 * time.Hour)
				b.run()
				b.hasState("ref-1", durable.EndingFound, time.Minute)
				assert.Equal(t, 2, b.row("ref-1").Ended)
			})
		})
	}
}

// nextRoundFinds expects that a booking has begun again while its last Book may have made an
// order. Then a refusal proves nothing, and the order is found when it appears.
func (b *books) nextRoundFinds(reference string) {
	b.t.Helper()
	ended := b.row(reference).Ended
	b.Inject(bookRefused)
	_, err := b.another(nil).Send(b.t.Context(), reference)
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(b.t, err, &unknown)
	require.ErrorIs(b.t, err, hotelstays.ErrRateChanged)
	polls := b.Ledger().Count(hotelstays.OpQueryOrders)
	b.pass(20 * time.Second) // its BookTimeout, and the margin
	b.run()
	b.eventually("it is polled for", func() bool { return b.Ledger().Count(hotelstays.OpQueryOrders) > polls })
	require.Equal(b.t, ended, b.row(reference).Ended)
	b.Advance(3 * time.Hour)
	b.hasState(reference, durable.EndingFound, time.Minute)
	assert.Equal(b.t, ended+1, b.row(reference).Ended)
}

func TestRoundAfterOneThatWasGivenUpFindsItsOrder(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil, hotelstaystest.Config{LateVisibility: 2 * time.Hour})
		b.sendUnknown("ref-1", bookMade)
		b.pass(2 * time.Minute)
		require.NoError(t, b.Abandon(t.Context(), "ref-1"))
		require.NoError(t, b.beginAgain(b.request("ref-1")))
		b.nextRoundFinds("ref-1")
	})
}

// If its booking has begun again meanwhile, the outcome of the old round does not end the new one.
func TestSendFrozenUntilAnotherRoundHasBegun(t *testing.T) {
	for _, answered := range []string{"with an order", "with a refusal", "not at all"} {
		t.Run(answered, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				b := newBooks(t, db, nil, hotelstaystest.Config{LateVisibility: 2 * time.Hour})
				if answered == "with a refusal" {
					b.Inject(bookRefused)
				}
				sending := b.sendHeld("ref-1")
				stop := b.run()
				b.hasState("ref-1", durable.EndingAbsent, 5*time.Minute)
				stop()
				require.NoError(t, b.beginAgain(b.request("ref-1")))
				before := b.stored("ref-1")
				sending.lose = answered == "not at all"
				_, err := sending.end()
				after := b.stored("ref-1")
				assert.Equal(t, 1, b.row("ref-1").Ended)
				switch answered {
				case "with an order":
					require.ErrorIs(t, err, durable.ErrConflictingOutcome)
				case "with a refusal":
					require.NoError(t, err)
					assert.Equal(t, before, after)
					return
				default:
					assert.Equal(t, hotelstays.KindOutcomeUnknown, hotelstays.KindOf(err))
				}
				assert.WithinDuration(t, time.Now(), after.Earlier, 10*time.Second)
				after.Earlier = time.Time{}
				assert.Equal(t, before, after)
				b.nextRoundFinds("ref-1")
			})
		})
	}
}

// A worker that is stopped in a poll returns its booking at once.
func TestStoppedInAPoll(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.sendUnknown("ref-1", bookMade)
		b.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: patience})
		polls := b.Ledger().Count(hotelstays.OpQueryOrders)
		b.pass(time.Minute)
		stop := b.run()
		b.eventually("a worker polls", func() bool { return b.Ledger().Count(hotelstays.OpQueryOrders) > polls })
		stop()
		b.ClearFaults()
		b.run()
		b.hasState("ref-1", durable.EndingFound, 0)
	})
}

// A poll asks for many bookings at once. An order that it finds is polled for alone, because its
// dates count; nothing is taken for absent.
func TestPollsForMany(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		_, err := b.client.Book(t.Context(), b.request("many-000007"))
		require.NoError(t, err)
		const many = 250
		b.fill(many, nil)
		b.addRow("many-000007")
		b.run()
		b.hasState("many-000007", durable.EndingFound, 0)
		b.eventually("none is due", func() bool {
			return db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE live = 1 AND due <= ?`, time.Now().UnixMicro()) == 0
		})
		b.eventually("no lease is left", func() bool { // they are due 150 s after the end of Book: in 90 s
			return db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE live = 1 AND due <= ?`, time.Now().Add(time.Minute).UnixMicro()) == 0
		})
		assert.LessOrEqual(t, b.Ledger().Count(hotelstays.OpQueryOrders), 6, "three polls for many, and one for the order")
		assert.EqualValues(t, many-1, db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE live = 1`))
	})
}

// A reference that the service refuses, or an order that is unreadable, does not spoil the polls
// of others.
func TestPollsForManyAreSplit(t *testing.T) {
	for name, fault := range map[string]hotelstaystest.Fault{
		"a refused reference": {Kind: hotelstaystest.FaultStatus, Status: 400, Code: types.CodeParam},
		"an unreadable order": {Kind: hotelstaystest.FaultGarbage, Body: []byte(`{"code":0,"data":{"orders":7}}`)},
	} {
		fault.Operation, fault.Reference, fault.Times = hotelstays.OpQueryOrders, "many-000007", -1
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				b := newBooks(t, db, nil)
				const many = 20
				b.fillBooked(many, nil)
				b.Inject(fault)
				b.run()
				b.eventually("all but one are found", func() bool {
					return db.number(t, `SELECT COUNT(*) FROM bookings WHERE state = 'found'`) == many-1
				})
				assert.Equal(t, "pending", b.row("many-000007").State)
				assert.LessOrEqual(t, b.Ledger().Count(hotelstays.OpQueryOrders), many+10, "it is found by halves")
			})
		})
	}
}

// A worker takes one booking, and leaves the others to workers that are free.
func TestWorkerTakesOneBooking(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.fill(3, func(_ int, booking *durable.Booking) { booking.Recovery.EndedAt = time.Now().Add(-time.Hour).UTC() })
		hold := b.holdAnswer("/queryOrders", func(o *hotelstayssql.JournalOptions) { o.MaxWorkers = 1 })
		stop := b.run()
		<-hold.held
		assert.EqualValues(t, 1, db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE due > ?`, time.Now().UnixMicro()))
		hold.release()
		stop()
	})
}

// A poll of an earlier round does not end the round that has begun meanwhile.
func TestPollOfAnEarlierRoundEndsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.sendUnknown("ref-1", bookLost)
		_, err := b.client.Book(t.Context(), b.request("ref-1")) // past the journal
		require.NoError(t, err)
		slow := *b
		hold := slow.holdAnswer("/queryOrders", nil)
		b.pass(time.Minute)
		stop := slow.run()
		<-hold.held
		require.NoError(t, b.Abandon(t.Context(), "ref-1"))
		require.NoError(t, b.beginAgain(b.request("ref-1")))
		before := b.stored("ref-1")
		hold.release()
		time.Sleep(200 * time.Millisecond)
		stop()
		assert.Equal(t, before, b.stored("ref-1"))
		assert.Zero(t, b.row("ref-1").Ended)
	})
}

// A poll that proves absence does not end a booking that was woken meanwhile: its order may be there.
func TestWakeDuringTheLastPoll(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.sendUnknown("ref-1", bookLost)
		slow := *b
		hold := slow.holdAnswer("/queryOrders", nil)
		b.pass(time.Hour)
		slow.run()
		<-hold.held // an answer without orders
		_, err := b.client.Book(t.Context(), b.request("ref-1"))
		require.NoError(t, err)
		require.NoError(t, b.Wake(t.Context(), "ref-1"))
		hold.release()
		b.hasState("ref-1", durable.EndingFound, 0)
	})
}

// What a newer version has stored in a booking survives the writes of this one.
func TestFieldsOfANewerVersion(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.sendUnknown("ref-1", bookMade)
		text, err := json.Marshal(b.stored("ref-1"))
		require.NoError(t, err)
		newer := strings.Replace(string(text), `{"recovery":{`, `{"sentBy":{"id":12345678901234567890},"recovery":{"mode":"x",`, 1)
		db.exec(t, `UPDATE hotelstays_journal SET booking = ? WHERE reference = ?`, []byte(newer), []byte("ref-1"))
		b.run()
		b.hasStateAfter("ref-1", durable.EndingFound, func() { assert.NoError(t, b.Wake(t.Context(), "ref-1")) })
		assert.Equal(t, durable.EndingFound, b.stored("ref-1").Ending)
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT booking FROM hotelstays_journal`).Scan(&text))
		assert.Contains(t, string(text), `"sentBy":{"id":12345678901234567890}`)
		assert.Contains(t, string(text), `"mode":"x"`)
	})
}

// Bookings of other users are polled for by these users.
func TestPollsForManyKeepTheirUsers(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.fill(40, func(i int, booking *durable.Booking) { booking.Recovery.UserRef = fmt.Sprint("user-", i%4) })
		b.run()
		b.eventually("none is due", func() bool {
			return db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE due <= ?`, time.Now().Add(time.Minute).UnixMicro()) == 0
		})
		users := map[string]int{}
		for _, r := range b.Ledger().Requests(hotelstays.OpQueryOrders) {
			users[r.Header.Get("User-Ref")]++
		}
		for i := range 4 {
			assert.Positive(t, users[fmt.Sprint("user-", i)])
		}
		assert.Len(t, users, 4)
	})
}

// Many open bookings are polled for within the rate limit and in little memory.
func TestManyOpenBookings(t *testing.T) {
	many := 2000
	if os.Getenv("HOTELSTAYS_LONG") != "" {
		many = 100_000
	}
	t.Logf("%d open bookings", many)
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil, hotelstaystest.Config{LedgerLimit: 2000, RateLimits: map[hotelstaystest.Operation]int{}})
		b.fill(many, nil)
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		var peak uint64
		start := time.Now()
		b.run()
		require.Eventually(t, func() bool {
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
			return db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE live = 1 AND due <= ?`, start.Add(time.Minute).UnixMicro()) == 0
		}, 15*time.Minute, 100*time.Millisecond, "none is due, and no lease is left")
		polls := b.Ledger().Requests(hotelstays.OpQueryOrders)
		t.Logf("%d polls in %s, %d MB", b.Ledger().Count(hotelstays.OpQueryOrders), time.Since(start).Round(time.Millisecond), (peak-min(peak, before.HeapAlloc))>>20)
		assert.LessOrEqual(t, b.Ledger().Count(hotelstays.OpQueryOrders), many/50)
		for _, poll := range polls {
			assert.False(t, poll.RateLimited)
		}
		assert.Less(t, peak, before.HeapAlloc+(100<<20))
	})
}
