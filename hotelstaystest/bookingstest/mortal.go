// Processes that die at a stage of what they do.

package bookingstest

import (
	"context"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/types"
)

// Mortal is a process that kills itself at a stage. Its own stages are "leaving" and "answered", of the
// requests of a path, and "outcome", in a function of the caller.
type Mortal[Tx any] struct {
	Plan
	Database[Tx]
	Path  string
	DieAt string
}

// Stage kills the process at its stage.
func (m *Mortal[Tx]) Stage(name string) {
	if name == m.DieAt {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {}
	}
}

// RoundTrip sends a request.
func (m *Mortal[Tx]) RoundTrip(r *http.Request) (*http.Response, error) {
	watch := strings.HasSuffix(r.URL.Path, m.Path)
	if watch {
		m.Stage("leaving")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if watch {
		m.Stage("answered")
	}
	return resp, err
}

// Options returns the options of the process's Bookings.
func (m *Mortal[Tx]) Options() (opts Options[Tx], err error) {
	opts.Client, err = m.Client(m)
	opts.Keys, opts.BookTimeout = []types.Secret{Key}, 10*time.Second
	opts.OnOutcome = func(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
		defer m.Stage("outcome")
		return m.StoreRow(ctx, tx, outcome)
	}
	opts.OnCancel = func(ctx context.Context, tx Tx, c *durable.Cancellation) error {
		defer m.Stage("outcome")
		return m.StoreCancel(ctx, tx, c)
	}
	opts.OnOrder = func(ctx context.Context, tx Tx, before, after *types.Order) error {
		defer m.Stage("outcome")
		return m.StoreOrder(ctx, tx, before, after)
	}
	return opts, err
}

// Dies starts a process by a plan for chaostest.Main, and waits until it has killed itself.
func Dies(t testing.TB, plan any) {
	t.Helper()
	process, err := chaostest.Start(plan)
	require.NoError(t, err)
	t.Cleanup(process.Kill)
	late := time.AfterFunc(Patience, func() { _ = process.Cmd.Process.Signal(syscall.SIGTERM) })
	defer late.Stop()
	err = process.Wait()
	require.Error(t, err)
	status, ok := process.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "%+v: %v", plan, err)
}
