package chaostest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

const shouted = 1 << 17 // more bytes than a pipe holds

// part is what a process of a test has to do.
type part struct{ Role, Folder string }

func TestMain(m *testing.M) {
	chaostest.Main(func(p part) error {
		switch p.Role {
		case "echo":
			fmt.Println("ready")
			var word string
			_, err := fmt.Scan(&word)
			fmt.Println(word)
			return err
		case "shout":
			fmt.Println(strings.Repeat("x", shouted))
			return nil
		case "fail":
			return errors.New("failed on purpose")
		case "hang":
			time.Sleep(time.Hour)
		case "handle": // two handlers that print their names
			for _, name := range []string{"a", "b"} {
				go func() {
					for ; ; time.Sleep(time.Millisecond) {
						chaostest.MayBlock()
						fmt.Println(name)
					}
				}()
			}
			<-chaostest.UntilClosed().Done()
			return nil
		case "work": // writes files until it is closed or killed
			fmt.Println(strings.Repeat("x", shouted))
			for ctx := chaostest.UntilClosed(); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
				f, err := os.CreateTemp(p.Folder, "")
				if err != nil {
					return err
				}
				_ = f.Close()
			}
			return os.WriteFile(filepath.Join(p.Folder, "closed"), nil, 0o600)
		}
		return nil
	})
	goleak.VerifyTestMain(m)
}

func begin(t *testing.T, role, folder string) *chaostest.Process {
	t.Helper()
	p, err := chaostest.Start(part{role, folder})
	require.NoError(t, err)
	return p
}

func lineOf(t *testing.T, p *chaostest.Process) string {
	t.Helper()
	line, err := p.Line()
	require.NoError(t, err)
	return line
}

func TestFrozenProcessContinuesAfterThaw(t *testing.T) {
	p := begin(t, "echo", "")
	assert.Equal(t, "ready", lineOf(t, p))
	require.NoError(t, p.Freeze())
	require.NoError(t, p.Freeze(), "a second Freeze does nothing")
	_, err := fmt.Fprintln(p, "word")
	require.NoError(t, err)
	said := make(chan string, 1)
	go func() {
		line, _ := p.Line()
		said <- line
	}()
	select {
	case <-said:
		require.Fail(t, "the process is not frozen")
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, p.Thaw())
	assert.Equal(t, "word", <-said)
	_, err = p.Line()
	assert.ErrorIs(t, err, io.EOF)
	assert.NoError(t, p.Wait())
}

func TestOneHandlerBlocksAndOthersContinue(t *testing.T) {
	t.Parallel()
	p := begin(t, "handle", "")
	seen := map[string]int{} // the only key is the handler that printed the last line; the value counts its lines in a row
	for lines := 0; max(seen["a"], seen["b"]) < 500; lines++ {
		if lines == 100 {
			_, err := fmt.Fprintln(p, "block")
			require.NoError(t, err)
		}
		line := lineOf(t, p)
		seen = map[string]int{line: seen[line] + 1}
		require.Less(t, lines, 100_000, "both handlers continue") // a high limit: after "block", the pipe may still contain lines of both
	}
	assert.NoError(t, p.Close())
}

func TestWaitReportsHowAProcessEnds(t *testing.T) {
	p := begin(t, "hang", "")
	p.Kill()
	p.Kill() // does nothing
	assert.ErrorContains(t, p.Wait(), "signal: killed")
	assert.ErrorContains(t, begin(t, "fail", "").Close(), "exit status 1")
}

func TestLongLineBlocksNoProcess(t *testing.T) {
	p := begin(t, "shout", "")
	assert.Len(t, lineOf(t, p), shouted)
	assert.NoError(t, p.Wait())
	assert.NoError(t, begin(t, "shout", "").Wait(), "Wait does not need a reader")
}

// workers returns a fleet whose processes write files instead of making bookings.
func workers(dir string, wanted int) *chaostest.Fleet {
	return &chaostest.Fleet{
		Bookings: wanted,
		Start:    func(int) (*chaostest.Process, error) { return chaostest.Start(part{"work", dir}) },
		Ended: func(context.Context) (int, error) {
			files, err := os.ReadDir(dir)
			return len(files), err
		},
	}
}

func TestFleetMakesAllDisturbances(t *testing.T) {
	t.Parallel()
	dir, started, crashed := t.TempDir(), 0, 0
	f := workers(dir, 50)
	start := f.Start
	f.Start = func(i int) (*chaostest.Process, error) { started++; return start(i) }
	f.Kills, f.Crashes = 3, []func(context.Context) error{func(context.Context) error { crashed++; return nil }}
	var log []string
	f.Logf = func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	require.NoError(t, f.Survive(t.Context()))
	assert.Len(t, log, 3+1+1)
	assert.Contains(t, log, "server 0 crashes")
	assert.Equal(t, 4+3, started)
	assert.Equal(t, 1, crashed)
	before, err := f.Ended(t.Context())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, before, 50)
	assert.NoFileExists(t, filepath.Join(dir, "closed"))
}

func TestFrozenAndBlockedProcessesAreNotDisturbed(t *testing.T) {
	t.Parallel()
	f := workers(t.TempDir(), 100)
	f.Ended = func(context.Context) (int, error) { return f.Bookings, nil } // all bookings have ended, so the test does not wait for files
	f.Processes, f.Kills, f.Freezes, f.Blocks, f.Lease = 5, 3, 3, 1, time.Second
	log := ""
	f.Logf = func(format string, args ...any) { log += fmt.Sprintf(format, args...) + "\n" }
	require.NoError(t, f.Survive(t.Context()))
	for _, held := range []string{
		`process (\d) is frozen until 1.5s`, `process (\d) is frozen until all bookings`, `a handler of process (\d) blocks`,
	} {
		found := regexp.MustCompile(held).FindStringSubmatchIndex(log)
		require.NotNil(t, found, log)
		process := "process " + log[found[2]:found[3]]
		meanwhile, _, continues := strings.Cut(log[found[1]:], process+" continues")
		assert.NotContains(t, meanwhile, process+" ", log)
		assert.Equal(t, strings.Contains(held, "frozen"), continues, log)
	}
}

func TestSurviveWithGraceClosesTheProcessesInsteadOfKillingThem(t *testing.T) {
	dir := t.TempDir()
	f := workers(dir, 1)
	f.Processes, f.Grace = 1, time.Minute
	require.NoError(t, f.Survive(t.Context()))
	assert.FileExists(t, filepath.Join(dir, "closed"))
}

func TestErrorOfSurviveNamesTheFailure(t *testing.T) {
	t.Parallel()
	type fleet = chaostest.Fleet
	for says, change := range map[string]func(f *fleet, cancel func(error)){
		"has ended although Survive did not stop it": func(f *fleet, _ func(error)) {
			f.Start = func(int) (*chaostest.Process, error) { return chaostest.Start(part{}) }
		},
		"starting process 0: cannot start": func(f *fleet, _ func(error)) {
			f.Start = func(int) (*chaostest.Process, error) { return nil, errors.New("cannot start") }
		},
		"HOTELSTAYS_CHAOSTEST_NOTHING is not set": func(f *fleet, _ func(error)) {
			f.Bookings, f.Crashes = 5, []func(context.Context) error{chaostest.ShellCrash("HOTELSTAYS_CHAOSTEST_NOTHING")}
		},
		"process 1 failed to stop within 1ms: signal: killed": func(f *fleet, _ func(error)) {
			f.Start = func(int) (*chaostest.Process, error) { return chaostest.Start(part{Role: "hang"}) }
			f.Bookings, f.Grace = 0, time.Millisecond
		},
		"Processes (2) must be greater than Freezes (1) plus Blocks (1)": func(f *fleet, _ func(error)) {
			f.Freezes, f.Blocks = 1, 1
		},
		"no booking has ended for": func(f *fleet, _ func(error)) {
			f.Start = func(int) (*chaostest.Process, error) { return chaostest.Start(part{Role: "hang"}) }
			f.Lease = 10 * time.Millisecond
		},
		"0 of 1000000 bookings have ended: no patience; the last call of Ended failed: no such table": func(f *fleet, cancel func(error)) {
			calls := 0
			f.Ended = func(context.Context) (int, error) {
				if calls++; calls == 2 {
					cancel(errors.New("no patience"))
				}
				return 0, errors.New("no such table")
			}
		},
	} {
		f := workers(t.TempDir(), 1_000_000)
		f.Processes = 2
		ctx, cancel := context.WithCancelCause(t.Context())
		change(f, cancel)
		assert.ErrorContains(t, f.Survive(ctx), says)
		cancel(nil)
	}
}

func TestShellCrashRunsTheCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "restarted")
	t.Setenv("HOTELSTAYS_CHAOSTEST_RESTART", "touch "+file)
	require.NoError(t, chaostest.ShellCrash("HOTELSTAYS_CHAOSTEST_RESTART")(t.Context()))
	assert.FileExists(t, file)
	t.Setenv("HOTELSTAYS_CHAOSTEST_RESTART", "echo no room; false")
	assert.ErrorContains(t, chaostest.ShellCrash("HOTELSTAYS_CHAOSTEST_RESTART")(t.Context()), "no room")
}

// service is a sandbox, a client that never repeats a call, and the stored outcomes.
type service struct {
	*testing.T
	*hotelstaystest.Server
	client *hotelstays.Client
	offer  testkit.Offer
	stored []chaostest.Outcome
}

// book returns the order's number, or "" after an error.
func (s *service) book(reference, guest string) string {
	req := s.offer.Request(reference)
	req.Guests[0].LastName = guest
	resp, err := s.client.Book(s.Context(), req, hotelstays.WithTraceID(reference))
	if err != nil {
		return ""
	}
	return resp.HotelOrder.PlatformReferenceNo
}

// bookAfter injects a fault, and then books under the reference "a".
func (s *service) bookAfter(f hotelstaystest.Fault) string {
	f.Operation = hotelstays.OpBook
	s.Inject(f)
	return s.book("a", "One")
}

func (s *service) store(reference string, round int, order string) {
	time.Sleep(time.Millisecond)
	s.stored = append(s.stored, chaostest.Outcome{Reference: reference, Round: round, OrderNo: order, At: time.Now()})
}

// check calls the function happens with a new service, and returns the text of Check's error. The map begun has the number
// of rounds of each reference.
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

func TestCheckFindsEachProblem(t *testing.T) {
	lost := hotelstaystest.Fault{Kind: hotelstaystest.FaultCut}
	answerLost := hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Commit: true}
	limited := hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 429}
	once, twice, both := map[string]int{"a": 1}, map[string]int{"a": 2}, map[string]int{"a": 1, "b": 1}
	for name, c := range map[string]struct {
		begun   map[string]int
		happens func(s *service)
		problem string // empty if Check must find no problem
	}{
		"a booking with one order and one outcome": {once, func(s *service) { s.store("a", 1, s.book("a", "One")) }, ""},
		"an order whose answer to Book was lost": {once, func(s *service) {
			s.bookAfter(answerLost)
			s.store("a", 1, s.Ledger().Orders()[0].PlatformReferenceNo)
		}, ""},
		"an order that was made in the second round": {twice, func(s *service) {
			s.store("a", 1, s.bookAfter(lost))
			s.store("a", 2, s.book("a", "One"))
		}, ""},
		"a Book sent again after a refusal": {once, func(s *service) {
			s.bookAfter(limited)
			s.store("a", 1, s.book("a", "One"))
		}, ""},
		"an order that nobody stored": {once, func(s *service) { s.book("a", "One") }, "lost: order"},
		"an outcome with the order of another booking": {both, func(s *service) {
			order := s.book("a", "One")
			s.store("a", 1, order)
			s.store("b", 1, order)
		}, "b is stored as order"},
		"an existing order stored as absent": {twice, func(s *service) {
			order := s.book("a", "One")
			s.store("a", 1, "")
			s.store("a", 2, order)
		}, "a was stored as having no order in round 1"},
		"a round with two outcomes": {once, func(s *service) {
			order := s.book("a", "One")
			s.store("a", 1, order)
			s.store("a", 1, order)
		}, "a: round 1 has too many outcomes: 1 more"},
		"a round without an outcome": {twice, func(s *service) { s.store("a", 1, s.book("a", "One")) },
			"a: round 2 was begun and has no outcome"},
		"the same stay under two references": {both, func(s *service) {
			s.store("a", 1, s.book("a", "One"))
			s.store("b", 1, s.book("b", "One"))
		}, "1 Books of stays with an order under another reference"},
		"a Book sent although its order existed": {once, func(s *service) {
			s.book("a", "One")
			s.store("a", 1, s.book("a", "One"))
		}, "1 Books whose orders existed"},
		"a Book sent again without proof of failure": {once, func(s *service) {
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
