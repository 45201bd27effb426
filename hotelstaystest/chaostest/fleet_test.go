package chaostest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

// part is what a process of a test does.
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
		case "fail":
			return errors.New("failed on purpose")
		case "hang":
			time.Sleep(time.Hour)
		case "work": // writes files until it is closed or killed
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

func TestProcess(t *testing.T) {
	p, err := chaostest.Start(part{Role: "echo"})
	require.NoError(t, err)
	line, err := p.Line()
	require.NoError(t, err)
	assert.Equal(t, "ready", line)
	_, err = fmt.Fprintln(p, "word")
	require.NoError(t, err)
	line, err = p.Line()
	require.NoError(t, err)
	assert.Equal(t, "word", line)
	_, err = p.Line()
	assert.ErrorIs(t, err, io.EOF)
	assert.NoError(t, p.Wait())
}

func TestProcessFails(t *testing.T) {
	p, err := chaostest.Start(part{Role: "fail"})
	require.NoError(t, err)
	assert.ErrorContains(t, p.Close(), "exit status 1")
}

func TestProcessIsClosed(t *testing.T) {
	dir := t.TempDir()
	p, err := chaostest.Start(part{"work", dir})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	assert.FileExists(t, filepath.Join(dir, "closed"))
}

func TestProcessIsKilled(t *testing.T) {
	dir := t.TempDir()
	p, err := chaostest.Start(part{"work", dir})
	require.NoError(t, err)
	p.Kill()
	p.Kill()
	assert.NoFileExists(t, filepath.Join(dir, "closed"))
}

// workers is a fleet that has to write files.
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

func TestFleetSurvives(t *testing.T) {
	dir, started, crashed := t.TempDir(), 0, 0
	f := workers(dir, 50)
	start := f.Start
	f.Start = func(i int) (*chaostest.Process, error) { started++; return start(i) }
	f.Kills, f.Crashes = 3, []func(context.Context) error{func(context.Context) error { crashed++; return nil }}
	var log []string
	f.Logf = func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	require.NoError(t, f.Survive(t.Context()))
	assert.Len(t, log, 3+1)
	assert.Contains(t, log, "server 0 crashes")
	assert.Equal(t, 4+3, started)
	assert.Equal(t, 1, crashed)
	before, err := f.Ended(t.Context())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, before, 50)
	assert.NoFileExists(t, filepath.Join(dir, "closed"))
}

func TestFleetStops(t *testing.T) {
	dir := t.TempDir()
	f := workers(dir, 1)
	f.Grace = time.Minute
	require.NoError(t, f.Survive(t.Context()))
	assert.FileExists(t, filepath.Join(dir, "closed"))
}

func TestFleetFails(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no longer needed"))
	for says, change := range map[string]func(*chaostest.Fleet) context.Context{
		"has ended by itself": func(f *chaostest.Fleet) context.Context {
			f.Start = func(int) (*chaostest.Process, error) { return chaostest.Start(part{}) }
			return t.Context()
		},
		"cannot start": func(f *chaostest.Fleet) context.Context {
			f.Start = func(int) (*chaostest.Process, error) { return nil, errors.New("cannot start") }
			return t.Context()
		},
		"HOTELSTAYS_CHAOSTEST_NOTHING is not set": func(f *chaostest.Fleet) context.Context {
			f.Bookings, f.Crashes = 5, []func(context.Context) error{chaostest.ShellCrash("HOTELSTAYS_CHAOSTEST_NOTHING")}
			return t.Context()
		},
		"process 3 failed to stop within 1ms: signal: killed": func(f *chaostest.Fleet) context.Context {
			f.Start = func(int) (*chaostest.Process, error) { return chaostest.Start(part{Role: "hang"}) }
			f.Bookings, f.Grace = 0, time.Millisecond
			return t.Context()
		},
		"bookings have ended: no longer needed": func(*chaostest.Fleet) context.Context { return ended },
	} {
		f := workers(t.TempDir(), 1_000_000)
		ctx := change(f)
		assert.ErrorContains(t, f.Survive(ctx), says)
	}
}

func TestShellCrash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "restarted")
	t.Setenv("HOTELSTAYS_CHAOSTEST_RESTART", "touch "+file)
	require.NoError(t, chaostest.ShellCrash("HOTELSTAYS_CHAOSTEST_RESTART")(t.Context()))
	assert.FileExists(t, file)
	t.Setenv("HOTELSTAYS_CHAOSTEST_RESTART", "echo no room; false")
	assert.ErrorContains(t, chaostest.ShellCrash("HOTELSTAYS_CHAOSTEST_RESTART")(t.Context()), "no room")
}
