package sqltest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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

func TestNewJournalNamesEveryInvalidArgument(t *testing.T) {
	_, err := hotelstayssql.NewJournal(nil, "oracle", nil, hotelstayssql.JournalOptions{BookTimeout: -1})
	for _, what := range []string{"NewJournal: ", "database is nil", `"oracle"`, "keys is empty", "client is nil", "OnOutcome", "negative"} {
		assert.ErrorContains(t, err, what)
	}
}

func TestOutcomeKnownAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.begin("ref-1")
		outcome, err := b.Send(t.Context(), "ref-1")
		require.NoError(t, err)
		require.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
		assert.Equal(t, b.offer.SessionID, outcome.Recovery.SessionID, "Cancel needs it")
		assert.Equal(t, callerRow{"found", b.Ledger().Orders()[0].PlatformReferenceNo, 1}, b.row("ref-1"))

		b.begin("ref-2")
		b.Inject(bookRefused)
		outcome, err = b.Send(t.Context(), "ref-2")
		require.NoError(t, err)
		assert.ErrorIs(t, outcome.Err, hotelstays.ErrRateChanged)
		assert.Equal(t, callerRow{"failed", "", 1}, b.row("ref-2"))

		b.addRow("ref-3")
		outcome, err = b.Book(t.Context(), b.request("ref-3"))
		require.NoError(t, err)
		assert.Equal(t, callerRow{"found", outcome.Order.PlatformReferenceNo, 1}, b.row("ref-3"))

		b.begin("ref-4")
		for _, opt := range []hotelstays.CallOption{hotelstays.WithRawData(), hotelstays.WithMarket("no country"), hotelstays.WithUserRef("another")} {
			var invalid *hotelstays.ValidationError
			_, err = b.Send(t.Context(), "ref-4", opt)
			require.ErrorAs(t, err, &invalid)
			require.Len(t, invalid.Fields, 1)
		}
		outcome, err = b.Send(t.Context(), "ref-4")
		require.NoError(t, err)
		assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome), "it has waited")

		b.begin("ref-5")
		books := b.Ledger().Count(hotelstays.OpBook)
		outcome, err = b.Send(overslept{t.Context()}, "ref-5")
		require.NoError(t, err)
		assert.ErrorIs(t, outcome.Err, context.DeadlineExceeded)
		assert.Equal(t, books, b.Ledger().Count(hotelstays.OpBook))

		b.begin("ref-6")
		refusal := bookRefused
		refusal.Code = 100001112
		b.Inject(refusal)
		outcome, err = b.Send(t.Context(), "ref-6", hotelstays.WithServiceFacts(hotelstays.ServiceFacts{
			RefusalCodes: map[hotelstays.Operation][]int{hotelstays.OpBook: {100001112}}}))
		require.NoError(t, err)
		assert.Equal(t, hotelstays.KindRefused, hotelstays.KindOf(outcome.Err))
		assert.Equal(t, callerRow{"failed", "", 1}, b.row("ref-6"))
		assert.Zero(t, b.Ledger().Count(hotelstays.OpQueryOrders), "nobody had to poll")
	})
}

// overslept is a ctx whose deadline has passed while the machine was suspended.
type overslept struct{ context.Context }

func (overslept) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestLostAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.sendUnknown("ref-1", bookMade)
		b.sendUnknown("ref-2", bookLost)
		b.run()
		b.hasState("ref-1", durable.EndingFound, 10*time.Second)
		b.hasState("ref-2", durable.EndingAbsent, 10*time.Second)
		assert.Equal(t, map[string]int{"ref-1": 1}, b.bookingsMade())
		assert.GreaterOrEqual(t, b.Ledger().Count(hotelstays.OpQueryOrders), 4)

		require.NoError(t, b.beginAgain(b.request("ref-2")))
		outcome, err := b.Send(t.Context(), "ref-2")
		require.NoError(t, err)
		assert.Equal(t, callerRow{"found", outcome.Order.PlatformReferenceNo, 2}, b.row("ref-2"))
		assert.Equal(t, map[string]int{"ref-1": 1, "ref-2": 1}, b.bookingsMade())
	})
}

func TestReferenceOfAnotherOrder(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		_, err := b.client.Book(t.Context(), b.request("ref-1")) // past the journal
		require.NoError(t, err)
		b.addRow("ref-1")
		other, stay := b.request("ref-1"), *b.offer.Expect
		stay.CheckIn, stay.CheckOut = "2099-01-01", "2099-01-03"
		other.Expect = &stay
		require.NoError(t, b.beginAgain(other))
		outcome, err := b.Send(t.Context(), "ref-1")
		require.NoError(t, err)
		assert.Equal(t, durable.EndingReused, durable.EndingOf(outcome))
		assert.Equal(t, "reused", b.row("ref-1").State)
		_, err = b.Send(t.Context(), "ref-1")
		require.ErrorIs(t, err, durable.ErrAlreadyBooked)
	})
}

func TestSentOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		_, err := b.Send(t.Context(), "ref-1")
		require.ErrorIs(t, err, durable.ErrNotBegun)
		assert.ErrorContains(t, err, `"ref-1": nothing was sent`)

		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, b.BeginTx(t.Context(), tx, b.request("ref-1")))
		require.NoError(t, tx.Rollback())
		_, err = b.Send(t.Context(), "ref-1")
		require.ErrorIs(t, err, durable.ErrNotBegun, "the transaction was rolled back")

		b.begin("ref-1")
		begun := b.sealed("ref-1")
		tx, err = db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		require.ErrorIs(t, b.BeginTx(t.Context(), tx, b.request("ref-1")), durable.ErrAlreadyBegun)
		require.NoError(t, tx.Commit())
		assert.Equal(t, begun, b.sealed("ref-1"), "the first request stays, although the caller commits")
		_, err = b.Book(t.Context(), b.request("ref-1"))
		require.ErrorIs(t, err, durable.ErrAlreadyBegun)
		assert.Zero(t, b.Ledger().Count(hotelstays.OpBook))

		var wg sync.WaitGroup
		var sent, started atomic.Int32
		for range 8 {
			process := b.another(nil)
			wg.Go(func() {
				_, err := process.Send(t.Context(), "ref-1")
				switch {
				case err == nil:
					sent.Add(1)
				case errors.Is(err, durable.ErrAlreadyStarted), errors.Is(err, durable.ErrAlreadyBooked):
					started.Add(1)
				default:
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, 1, sent.Load())
		assert.EqualValues(t, 7, started.Load())

		// There is an order: another round would send Book again.
		_, err = b.Send(t.Context(), "ref-1")
		require.ErrorIs(t, err, durable.ErrAlreadyBooked)
		require.ErrorIs(t, b.beginAgain(b.request("ref-1")), durable.ErrAlreadyBooked)
		_, err = b.Book(t.Context(), b.request("ref-1"))
		require.ErrorIs(t, err, durable.ErrAlreadyBooked)
		assert.Equal(t, 1, b.Ledger().Count(hotelstays.OpBook))
		assert.Equal(t, 1, b.row("ref-1").Ended)
	})
}

// References differ in case and in trailing spaces, and may hold any character.
func TestReferences(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, func(o *hotelstayssql.JournalOptions) {
			o.OnOutcome = func(context.Context, *sql.Tx, *hotelstays.BookingOutcome) error { return nil }
		})
		for i, reference := range []string{"abc", "ABC", "abc ", "\u00e4\u4e16", "a'b\"c\\d%_?"} {
			req := b.request(fmt.Sprint("guest-", i))
			req.CustomerReferenceNo = reference
			outcome, err := b.Book(t.Context(), req)
			require.NoError(t, err, reference)
			assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome), reference)
		}
		alone := b.request("alone")
		alone.Guests = nil
		for says, req := range map[string]*hotelstays.BookRequest{
			"request: is nil": nil, "customerReferenceNo: is required": {}, "guests: ": alone,
			"customerReferenceNo has 513 bytes": b.request(strings.Repeat("x", 513)),
		} {
			_, err := b.Book(t.Context(), req)
			assert.ErrorContains(t, err, says)
			err = b.beginAgain(req)
			assert.ErrorContains(t, err, says)
			assert.Equal(t, !strings.Contains(says, "513"), hotelstays.KindOf(err) == hotelstays.KindValidation, says)
		}
		assert.ErrorContains(t, b.BeginTx(t.Context(), nil, b.request("no-tx")), "tx is nil")
	})
}

// After a change of the credential or the base URL nobody may be polling for the open bookings.
func TestBookingsOfAnotherAccount(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.begin("ref-1")
		log := make(logLines, 10)
		changed, err := hotelstays.New(b.URL, hotelstays.TicketCredential{AppKey: "another", AppSecret: types.NewSecret("secret")})
		require.NoError(t, err)
		journal, err := hotelstayssql.NewJournal(db.DB, db.dialect, changed,
			hotelstayssql.JournalOptions{OnOutcome: db.storeRow, Keys: []types.Secret{journalKey}, Logger: slog.New(slog.NewTextHandler(log, nil))})
		require.NoError(t, err)
		running, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { assert.NoError(t, journal.Run(running)) })
		assert.Regexp(t, "another base URL or credential.* bookings=1", <-log)
		b.pass(time.Hour)
		before := b.stored("ref-1").Due
		for range journal.List(t.Context()) {
			assert.Fail(t, "List has a booking of another account")
		}
		require.NoError(t, journal.Wake(t.Context(), "ref-1"))
		time.Sleep(1200 * time.Millisecond) // PollInterval
		assert.Equal(t, before, b.stored("ref-1").Due)
		assert.Empty(t, log)
		stop()
		run.Wait()
	})
}

// wireTap keeps the bodies of Book.
type wireTap struct {
	http.RoundTripper
	bodies, sessions []string
}

func (w *wireTap) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/book") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.bodies = append(w.bodies, string(body))
		w.sessions = append(w.sessions, fmt.Sprint(r.Header["Session-Id"], r.Header["Market"], r.Header["User-Ref"], r.Header["Currency"], r.Header["Test"]))
	}
	return w.RoundTripper.RoundTrip(r)
}

// What Send sends after a restart is what Begin received. The table shows none of it.
func TestBeginTxStoresTheRequestInFull(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		tap := &wireTap{RoundTripper: b.Client().Transport}
		b.sendThrough(tap)
		b = b.another(nil)
		age, child := 7, true
		req := b.request("ref-1")
		req.Holder = types.Holder{FirstName: "Ada", LastName: "Smith", Email: "ada@example.com"}
		req.CallbackURL = b.URL + "/events"
		req.Guests = append(req.Guests, types.Guest{RoomIndex: 1, FirstName: "Bo", LastName: "Smith", NationalityCode: "FR", Age: &age, IsChild: &child,
			Gender: types.GenderOther, DateOfBirth: "2019-02-03", PassportNumber: types.NewSecret("X7654321")})
		opts := []hotelstays.CallOption{hotelstays.WithMarket("FR"), hotelstays.WithUserRef("user-7"), hotelstays.WithCurrency("EUR"),
			hotelstays.WithTestFlags(map[string]string{"flag": "on"})}

		b.addRow("ref-1")
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, b.BeginTx(t.Context(), tx, req, opts...))
		require.NoError(t, tx.Commit())
		var booking, request []byte
		look := func() {
			require.NoError(t, db.QueryRowContext(t.Context(), `SELECT booking, request FROM hotelstays_journal`).Scan(&booking, &request))
			for _, private := range []string{"P1234567", "X7654321", "Smith", "ada@", "2019-02-03"} {
				assert.NotContains(t, string(booking)+string(request), private)
			}
		}
		look()
		assert.NotEmpty(t, request)
		_, err = b.another(nil).Send(t.Context(), "ref-1")
		require.NoError(t, err)
		look()
		assert.Empty(t, request, "it is erased")
		_, err = b.client.Book(t.Context(), req, opts...)
		require.NoError(t, err)
		require.Len(t, tap.bodies, 2)
		assert.Equal(t, tap.bodies[1], tap.bodies[0])
		assert.Equal(t, tap.sessions[1], tap.sessions[0])
		assert.Contains(t, tap.bodies[0], "X7654321")
		assert.Contains(t, tap.sessions[0], "flag=on")
	})
}

func TestSendNeedsTheKeyOfBeginTx(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.begin("ref-1")
		stranger := b.another(func(o *hotelstayssql.JournalOptions) {
			o.Keys = []types.Secret{types.NewSecret(strings.Repeat("x", 32))}
		})
		_, err := stranger.Send(t.Context(), "ref-1")
		require.ErrorContains(t, err, "which is not in Keys; give all processes the same Keys")
		assert.ErrorContains(t, err, "nothing was sent")
		rotated := b.another(func(o *hotelstayssql.JournalOptions) {
			o.Keys = []types.Secret{types.NewSecret(strings.Repeat("x", 32)), journalKey}
		})
		outcome, err := rotated.Send(t.Context(), "ref-1")
		require.NoError(t, err, "nothing is lost")
		assert.NotNil(t, outcome.Order)
	})
}

func TestRowsEditedByHand(t *testing.T) {
	for name, edit := range map[string]func(text string) string{
		"no JSON":           func(string) string { return "{" },
		"another reference": func(text string) string { return strings.Replace(text, "ref-1", "ref-2", 1) },
		"another account":   func(text string) string { return strings.Replace(text, `"fingerprint":"`, `"fingerprint":"x`, 1) },
		"an ending, and live": func(text string) string {
			return strings.TrimSuffix(text, "}") + `,"ending":"absent"}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				b := newBooks(t, db, nil)
				b.begin("ref-1")
				text, err := json.Marshal(b.stored("ref-1"))
				require.NoError(t, err)
				db.exec(t, `UPDATE hotelstays_journal SET booking = ? WHERE reference = ?`, []byte(edit(string(text))), []byte("ref-1"))
				_, err = b.Send(t.Context(), "ref-1")
				require.ErrorContains(t, err, "nothing was sent")
				assert.ErrorContains(t, err, "changed by hand")
				assert.NotContains(t, err.Error(), "Expect")

				// It is kept as it is, and does not hold up others.
				b.begin("ref-0")
				b.run()
				db.exec(t, `UPDATE hotelstays_journal SET due = 1`)
				b.hasState("ref-0", durable.EndingFound, 0)
				b.eventually("it is postponed", func() bool {
					return db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE reference = ? AND due > 1 AND request IS NOT NULL`, []byte("ref-1")) == 1
				})
				assert.Equal(t, callerRow{State: "pending"}, b.row("ref-1"))
				assert.Equal(t, map[string]int{"ref-0": 1}, b.bookingsMade())
			})
		})
	}
}

// Rows that are unreadable, and more than Run reads at once, do not hide others from it.
func TestManyRowsEditedByHand(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.fill(120, nil)
		db.exec(t, `UPDATE hotelstays_journal SET booking = ?, due = 1`, []byte("{"))
		b.sendUnknown("ref-1", bookMade)
		b.run()
		b.eventually("ref-1 is found", func() bool {
			assert.NoError(t, b.Wake(t.Context(), "ref-1"))
			return b.row("ref-1").State == "found"
		})
	})
}

// A row that was copied to another reference does not book there.
func TestRequestOfAnotherRowIsNotSent(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.begin("ref-1")
		b.begin("ref-2")
		db.exec(t, `UPDATE hotelstays_journal SET request = ? WHERE reference = ?`, b.sealed("ref-2"), []byte("ref-1"))
		_, err := b.Send(t.Context(), "ref-1")
		require.ErrorContains(t, err, "moved from another place")
		assert.Zero(t, b.Ledger().Count(hotelstays.OpBook))
	})
}

// logLines receives what is logged, as long as it has room.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}

func TestNothingIsSentOnADatabaseThatDoesNotFit(t *testing.T) {
	settings := map[hotelstayssql.Dialect]map[string]string{
		hotelstayssql.SQLite:     {"query_only": "1"},
		hotelstayssql.PostgreSQL: {"default_transaction_read_only": "on"},
		hotelstayssql.MySQL:      {"tx_read_only": "1"},
	}
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.begin("ref-1")
		log := make(logLines, 10)
		readOnly := db.openWith(t, settings[db.dialect])
		journal, err := hotelstayssql.NewJournal(readOnly, db.dialect, b.client,
			hotelstayssql.JournalOptions{OnOutcome: db.storeRow, Keys: []types.Secret{journalKey}, Logger: slog.New(slog.NewTextHandler(log, nil))})
		require.NoError(t, err)
		_, err = hotelstayssql.Check(t.Context(), readOnly, db.dialect)
		assert.ErrorContains(t, err, "hotelstayssql: checking the database: it refuses to be written")
		_, err = journal.Send(t.Context(), "ref-1")
		assert.ErrorContains(t, err, "nothing was sent")
		_, err = journal.Book(t.Context(), b.request("ref-2"))
		assert.ErrorContains(t, err, "nothing was sent")
		running, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { assert.NoError(t, journal.Run(running)) })
		assert.Contains(t, <-log, "refuses to be written")
		stop()
		run.Wait()

		db.exec(t, `INSERT INTO hotelstays_schema (version) VALUES (99)`)
		var newer *hotelstayssql.SchemaError
		_, err = b.Send(t.Context(), "ref-1")
		require.ErrorAs(t, err, &newer)
		_, err = b.Book(t.Context(), b.request("ref-2"))
		require.ErrorAs(t, err, &newer)
		require.ErrorAs(t, b.Run(t.Context()), &newer)
		assert.Zero(t, b.Ledger().Count(hotelstays.OpBook))

		db.exec(t, `DELETE FROM hotelstays_schema WHERE version = 99`)
		_, err = b.Send(t.Context(), "ref-1")
		require.NoError(t, err, "nothing is lost")
	})
}

// An outcome that cannot be stored is returned, and Run stores it.
func TestOnOutcomeFails(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		boom := errors.New("customer 40001 is in a deadlock") // words of an error that repeats a transaction
		var calls atomic.Int32
		b := newBooks(t, db, func(o *hotelstayssql.JournalOptions) {
			o.OnOutcome = func(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
				if err := db.storeRow(ctx, tx, outcome); err != nil {
					return err
				}
				switch calls.Add(1) {
				case 1, 2:
					return boom
				case 3:
					panic("OnOutcome panicked")
				}
				return nil
			}
		})
		b.begin("ref-1")
		outcome, err := b.Send(t.Context(), "ref-1")
		require.ErrorIs(t, err, boom)
		require.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
		assert.Equal(t, callerRow{State: "pending"}, b.row("ref-1"))
		assert.EqualValues(t, 1, calls.Load())
		b.run()
		b.hasState("ref-1", durable.EndingFound, 10*time.Second)
		assert.Equal(t, 1, b.row("ref-1").Ended)
		assert.EqualValues(t, 4, calls.Load())
	})
}

// List reads more rows than one statement returns.
func TestListOfOpenBookings(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.fill(250, nil)
		b.begin("waiting")
		b.begin("ended")
		_, err := b.Send(t.Context(), "ended")
		require.NoError(t, err)
		db.exec(t, `UPDATE hotelstays_journal SET booking = ? WHERE reference = ?`, []byte("{"), []byte("many-000007"))

		phases := map[string]durable.Phase{}
		var broken []error
		for booking, err := range b.List(t.Context()) {
			if err != nil {
				broken = append(broken, err)
				continue
			}
			phases[booking.Recovery.CustomerReferenceNo] = booking.Phase(time.Now())
			assert.False(t, booking.Due.IsZero())
		}
		assert.Len(t, phases, 250)
		assert.Equal(t, durable.PhaseWaiting, phases["waiting"])
		assert.Equal(t, durable.PhasePolling, phases["many-000249"])
		assert.NotContains(t, phases, "ended")
		require.Len(t, broken, 1)
		assert.ErrorContains(t, broken[0], `"many-000007"`)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range b.List(ctx) {
			assert.ErrorIs(t, err, context.Canceled)
		}
		for range b.List(t.Context()) {
			break
		}
	})
}

func TestAbandonAndRetry(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.sendUnknown("ref-1", bookMade)
		require.NoError(t, b.Abandon(t.Context(), "ref-1"))
		assert.Equal(t, durable.EndingAbandoned, b.stored("ref-1").Ending)
		assert.ErrorIs(t, b.Abandon(t.Context(), "ref-1"), durable.ErrNotBegun)
		b.run()
		require.NoError(t, b.Wake(t.Context(), "ref-1"))
		assert.Equal(t, callerRow{State: "pending"}, b.row("ref-1"), "OnOutcome is not called")

		require.NoError(t, b.Retry(t.Context(), "ref-1"))
		b.hasState("ref-1", durable.EndingFound, 0)
		assert.ErrorIs(t, b.Retry(t.Context(), "ref-1"), durable.ErrNotBegun)
		assert.ErrorIs(t, b.Retry(t.Context(), "ref-9"), durable.ErrNotBegun)

		b.begin("ref-2") // never sent
		assert.ErrorContains(t, b.Retry(t.Context(), "ref-2"), "nothing was sent yet")
		require.NoError(t, b.Abandon(t.Context(), "ref-2"))
		_, err := b.Send(t.Context(), "ref-2")
		assert.ErrorIs(t, err, durable.ErrNotBegun)
	})
}

// A booking whose Book may be under way is not given up: its order could be lost. Whoever ends
// its ctx, whatever the cause, leaves it to Run.
func TestAbandonIsRefusedWhileBookIsUnderWay(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, func(o *hotelstayssql.JournalOptions) { o.BookTimeout = patience })
		b.begin("ref-1")
		b.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: patience})
		ctx, cancel := context.WithCancelCause(t.Context())
		sent := make(chan error)
		go func() {
			_, err := b.Send(ctx, "ref-1")
			sent <- err
		}()
		b.eventually("Book is under way", func() bool { return b.Ledger().Count(hotelstays.OpBook) == 1 })
		assert.ErrorContains(t, b.Abandon(t.Context(), "ref-1"), "may still be under way")
		cancel(&hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 200, Code: types.CodeRateChanged})
		err := <-sent
		assert.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, hotelstays.ErrRateChanged)
		assert.Equal(t, hotelstays.KindOutcomeUnknown, hotelstays.KindOf(err))
		assert.Equal(t, callerRow{State: "pending"}, b.row("ref-1"))
		_, err = b.Send(ctx, "ref-1")
		assert.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, hotelstays.ErrRateChanged)
	})
}
