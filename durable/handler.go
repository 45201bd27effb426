// Calls of the functions of the caller: OnOutcome, OnCancel and OnOrder.

package durable

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"
)

type handlerCall struct {
	ID
	name string
}

// handle calls OnOutcome, OnCancel or OnOrder for a row. The transaction of the call ends when ctx ends. If the
// function has not returned a second later, handle keeps other processes from the row until the function returns.
func (e *Engine[Tx]) handle(ctx context.Context, id ID, name string, call func() error) error {
	c, returned := &handlerCall{id, name}, make(chan struct{})
	defer close(returned)
	stop := context.AfterFunc(ctx, func() { e.keepFromOthers(context.WithoutCancel(ctx), c, returned) })
	defer stop() // without stop, a ctx that never ends would keep c in memory
	// After the end of ctx, nothing can be committed, even if the call succeeds.
	if err := cmp.Or(call(), ctx.Err()); err != nil {
		return &handlerError{name, err}
	}
	return nil
}

type handlerError struct {
	name string
	err  error
}

func (e *handlerError) Error() string { return e.name + ": " + e.err.Error() }

func (e *handlerError) Unwrap() error { return e.err }

// isOfHandler reports whether OnOutcome, OnCancel or OnOrder returned the error. Such an error may also match any error
// of this package.
func isOfHandler(err error) bool {
	_, is := errors.AsType[*handlerError](err)
	return is
}

// keepFromOthers extends the lease of a row while OnOutcome, OnCancel or OnOrder does not return although its ctx has
// ended. Otherwise another process would also call the function for this row, and the call would block a worker of
// that process, too.
func (e *Engine[Tx]) keepFromOthers(ctx context.Context, c *handlerCall, returned <-chan struct{}) {
	defer e.calls.Delete(c)
	for wait := time.Second; ; wait = lease / 3 {
		select {
		case <-returned:
			return
		case <-time.After(wait):
		}
		e.calls.Store(c, nil)
		e.log.ErrorContext(ctx, c.name+" has not returned, though its ctx has ended; it blocks one worker of this process",
			slog.String("reference", c.Reference))
		if err := e.hold(ctx, c.ID); err != nil {
			e.log.WarnContext(ctx, "another process may call "+c.name+" as well",
				slog.String("reference", c.Reference), slog.String("error", err.Error()))
		}
	}
}

func (e *Engine[Tx]) hold(ctx context.Context, id ID) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return e.store.InTx(ctx, false, func(ctx context.Context, tx Tx) error {
		row, err := e.store.Lock(ctx, tx, id)
		if row == nil || row.Life != Open {
			return err
		}
		row.Due = wallClock(time.Now().Add(lease))
		return e.store.Save(ctx, tx, row)
	})
}

// Hanging returns the calls of OnOutcome, OnCancel and OnOrder in this process that have not returned a second after
// the end of their ctx. Each text has the name of the function and the reference, such as "OnOutcome ref-7". With
// Options.Clients it also has the account. Each such call blocks a worker.
func (e *Engine[Tx]) Hanging() (calls []string) {
	for key := range e.calls.Range {
		c, _ := key.(*handlerCall)
		call := c.name + " " + c.Reference
		if e.opts.Clients != nil {
			call += " of account " + c.Account
		}
		calls = append(calls, call)
	}
	return calls
}
