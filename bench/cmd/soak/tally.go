package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// operations is the number of operations.
const operations = 13

// tally is an observer that counts the calls of each operation. It is safe for concurrent use.
type tally struct {
	mu    sync.Mutex
	calls map[hotelstays.Operation]*count
	slip  error // an error that no fault explains
}

type count struct{ made, failed, attempts int }

func newTally() *tally { return &tally{calls: map[hotelstays.Operation]*count{}} }

func (t *tally) callEnd(_ context.Context, info hotelstays.CallInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.calls[info.Operation]
	if c == nil {
		c = &count{}
		t.calls[info.Operation] = c
	}
	c.made++
	c.attempts += len(info.Attempts)
	if info.Err != nil {
		c.failed++
	}
	if errors.Is(info.Err, hotelstays.ErrParam) { // not one of the faults
		t.slip = fmt.Errorf("the sandbox refused a request as wrong: %w", info.Err)
	}
}

func (t *tally) sum() (made, failed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.calls {
		made += c.made
		failed += c.failed
	}
	return made, failed
}

// slips returns an error if the sandbox found a request invalid, or if an operation never
// succeeded.
func (t *tally) slips() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.slip
	if len(t.calls) != operations {
		err = errors.Join(err, fmt.Errorf("%d operations were called, of %d: run for longer", len(t.calls), operations))
	}
	for op, c := range t.calls {
		if c.failed == c.made {
			err = errors.Join(err, fmt.Errorf("%s never succeeded, in %d calls", op, c.made))
		}
	}
	return err
}

// String returns a table of the operations.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	b.WriteString("| operation | calls | attempts | failed |\n|---|---:|---:|---:|\n")
	for _, op := range slices.Sorted(maps.Keys(t.calls)) {
		c := t.calls[op]
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", op, c.made, c.attempts, c.failed)
	}
	return b.String()
}
