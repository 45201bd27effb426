package durable_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hotelstays/hotelstays-go/durable"
)

// pgError and mysqlError are like the errors of jackc/pgx and go-sql-driver/mysql.
type pgError struct{ code string }

func (e *pgError) Error() string    { return "ERROR (SQLSTATE " + e.code + ")" }
func (e *pgError) SQLState() string { return e.code }

type mysqlError struct{ Number uint16 }

func (e *mysqlError) Error() string { return fmt.Sprint("Error ", e.Number) }

type textError string

func (e textError) Error() string { return string(e) }

func TestTransactionIsRepeatedIfItWasUndone(t *testing.T) {
	undone := fmt.Errorf("wrapped: %w", errors.Join(errors.New("other"), &mysqlError{1213}))
	other := errors.New("ERROR: deadlock detected (SQLSTATE 40001)") // only the text names a deadlock, so Repeat must not repeat
	for name, c := range map[string]struct {
		errs  []error // the results of the calls; the last error repeats
		calls int
	}{
		"committed at the first call":                {[]error{nil}, 1},
		"undone three times":                         {[]error{undone, fmt.Errorf("wrapped: %w", &pgError{"40P01"}), &pgError{"40001"}, nil}, 4},
		"undone each time":                           {[]error{undone}, 12},
		"another error whose text names a deadlock":  {[]error{other}, 1},
		"a text that is only the code of a deadlock": {[]error{textError("40001")}, 1},
		"another error of PostgreSQL":                {[]error{&pgError{"23505"}}, 1},
		"another error of MySQL":                     {[]error{&mysqlError{1062}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				last := len(c.errs) - 1
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the test ends even if Repeat never stops
				defer cancel()
				assert.Equal(t, c.errs[last], durable.Repeat(ctx, func() error {
					calls++
					return c.errs[min(calls-1, last)]
				}))
				assert.Equal(t, c.calls, calls)
			})
		})
	}
}

func TestTransactionIsNotRepeatedAfterItsCtxHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		assert.Error(t, durable.Repeat(ctx, func() error {
			if calls++; calls == 3 {
				cancel()
			}
			return &pgError{"40001"}
		}))
		assert.Equal(t, 3, calls)
	})
}
