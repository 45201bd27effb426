// Package storetest tests implementations of the interfaces that a fleet implements:
// [hotelstays.EventStore], [hotelstays.TokenStore], [hotelstays.TokenLeaser] and
// [hotelstays.RateLimiter]. Each suite has a subtest for each promise in the documentation of
// its interface. A failure reports the promise, what happened instead, and where to look.
//
//	func TestEvents(t *testing.T) {
//		storetest.TestEventStore(t, func(t *testing.T) storetest.Fleet[hotelstays.EventStore] {
//			db := openTestDatabase(t)
//			return storetest.Fleet[hotelstays.EventStore]{
//				Open:    func() hotelstays.EventStore { return NewEvents(db) },
//				Advance: func(d time.Duration) { shiftRows(t, db, d) },
//			}
//		}, nil)
//	}
//
// Behaviour that is not promised is not tested, such as the order in which callers are served.
//
// # Time
//
// Leases and tokens expire, so time has to pass. There are three ways:
//
//   - [Options.InBubble], for a store that uses no real socket: a store in memory, or a fake server over
//     in-memory connections. Time is virtual and exact, and a suite takes milliseconds.
//   - Fleet.Advance, for a store on a real server: the test shifts the times in its rows.
//   - Otherwise the suites wait, with short leases. TestEventStore takes about 5 seconds,
//     TestTokenLeaser 35, and TestRateLimiter 75. A case for which the machine was too slow
//     is repeated with longer leases.
//
// Run the suites with the race detector as well.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Fleet describes several processes that share a store or a limiter of type S.
type Fleet[S any] struct {
	// Open returns an S for another process. If S works only in the memory of one process, return the same S each
	// time. The cases of a suite use different keys, so S need not be empty. A RateLimiter must be new for each case.
	Open func() S
	// Freeze stops a process, as SIGSTOP or a lost network does. Until the suite calls thaw, calls of the process hang or
	// fail, and background work of the process has no effect. The suite calls thaw once. A process that is never thawed
	// is dead. If S has no background work, Freeze may be nil. Cases that need a hanging store are then skipped.
	Freeze func(process S) (thaw func())
	// Advance makes the time d pass for the store, for instance by moving the times in its rows back. If it is nil,
	// the suite sleeps. TestRateLimiter always sleeps.
	Advance func(d time.Duration)
	// SetBack sets the clock of the server back by d, also while methods of S run. If SetBack is nil, the
	// cases that need it are skipped.
	SetBack func(d time.Duration)
}

// Options are the settings of a suite. nil means the defaults.
type Options struct {
	// InBubble runs each case, including its Fleet, in a bubble of testing/synctest. Cleanups of the
	// case run inside the bubble. They must end all goroutines that S started.
	InBubble bool
}

// promise is a rule from an interface's documentation, and the function that tests it.
type promise[S any] struct {
	name string // the name of the subtest
	says string // the rule in the words of the documentation
	look string // where to look for the mistake after a failure
	test func(*run[S])
}

type run[S any] struct {
	*testing.T
	Fleet[S]
	bubble     bool
	says, look string
	a, b       S // two processes
	both       []S
}

// runAll runs each promise as a subtest. The subtest calls begin, and then the promise's function.
func runAll[S any](t *testing.T, start func(*testing.T) Fleet[S], opts *Options, promises []promise[S], begin func(*run[S])) {
	t.Helper()
	bubble := opts != nil && opts.InBubble
	for _, p := range promises {
		test := func(t *testing.T) {
			c := &run[S]{T: t, Fleet: start(t), bubble: bubble, says: p.says, look: p.look}
			c.a, c.b = c.Open(), c.Open()
			c.both = []S{c.a, c.b}
			begin(c)
			p.test(c)
		}
		t.Run(p.name, func(t *testing.T) {
			if bubble {
				synctest.Test(t, test)
			} else {
				test(t)
			}
		})
	}
}

// broken ends the subtest with a failure that names the broken promise.
func (c *run[S]) broken(format string, args ...any) {
	c.Helper()
	c.Fatalf("%s\npromised: %s\nlook at:  %s", fmt.Sprintf(format, args...), c.says, c.look)
}

func (c *run[S]) mustNot(err error, call string, args ...any) {
	c.Helper()
	if err != nil {
		c.broken("%s returned the error %v", fmt.Sprintf(call, args...), err)
	}
}

const (
	// slack is an extra wait after the end of a time span, because stores may round times to a second.
	slack = time.Second
	// deathTime is the longest time that a store may keep the lease of a dead process.
	deathTime = time.Minute
	// fetchTime is the longest time for which a client holds a lease while it fetches a token.
	fetchTime = 25 * time.Second
)

// freeze calls Fleet.Freeze for a process. The process continues when thaw is called, or at the end of the subtest.
// Without Fleet.Freeze, freeze does nothing.
func (c *run[S]) freeze(process S) (thaw func()) {
	if c.Freeze == nil {
		return func() {}
	}
	thaw = sync.OnceFunc(c.Freeze(process))
	c.Cleanup(thaw)
	return thaw
}

// isWaiting reports whether the method pass sleeps in real time.
func (c *run[S]) isWaiting() bool { return !c.bubble && c.Advance == nil }

func (c *run[S]) pass(d time.Duration) {
	if c.Advance != nil {
		c.Advance(d)
		return
	}
	time.Sleep(d)
}

// halfway tests a rule that holds for a time span. It calls begin, lets half of the span pass, and calls complain,
// which returns a text if the rule is broken. A complaint before the end of the span fails the test. A complaint
// after the end of the span means that the machine was too slow. Then halfway repeats the test with a longer span.
// When halfway returns, the span has ended.
func (c *run[S]) halfway(begin func(span time.Duration), complain func() string) {
	c.Helper()
	span := time.Minute
	if c.isWaiting() {
		span = time.Second / 2
	}
	for ; ; span *= 2 {
		start := time.Now()
		begin(span)
		c.pass(span / 2)
		complaint := complain()
		used := time.Since(start)
		if c.Advance != nil {
			used += span / 2
		}
		switch {
		case complaint == "":
			c.pass(span/2 + slack)
			return
		case used < span:
			c.broken("%s, %s into a span of %s", complaint, used, span)
		}
	}
}

// patience returns how late an event may come without failing a test.
func (c *run[S]) patience() time.Duration {
	if c.bubble {
		return time.Second / 10
	}
	return 10 * time.Second
}

// returnsWithin ends the subtest with a failure if f takes longer than limit.
func (c *run[S]) returnsWithin(limit time.Duration, call string, f func()) {
	c.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		if c.bubble { // a bubble cannot end while the call runs
			select {
			case <-done:
			case <-time.After(1000 * time.Hour):
			}
		}
		c.broken("%s has not returned after %s", call, limit)
	}
}

// call is a method call that takes a ctx, and its name for failures.
type call struct {
	name string
	do   func(context.Context) error
}

// returnsWithCtx checks that each call returns soon if its ctx has ended before the call, or ends while the process
// is frozen.
func (c *run[S]) returnsWithCtx(process S, calls []call) {
	c.Helper()
	ended, cancel := context.WithCancel(c.Context())
	cancel()
	for _, call := range calls {
		c.returnsWithin(c.patience(), call.name+" with an ended ctx", func() { _ = call.do(ended) })
	}
	if c.Freeze == nil {
		c.Log("not tested with a store that hangs, because Fleet.Freeze is nil")
		return
	}
	defer c.freeze(process)()
	for _, call := range calls {
		ctx, cancel := context.WithTimeout(c.Context(), time.Second/2)
		var err error
		c.returnsWithin(time.Second/2+c.patience(), call.name+" of a store that hangs, with a ctx of half a second,",
			func() { err = call.do(ctx) })
		cancel()
		if err == nil {
			c.Errorf("%s of a frozen process returned no error: Fleet.Freeze does not cut it off from the store", call.name)
		}
	}
}

// atOnce calls f(0) to f(n-1) at the same time, and returns their joined errors.
func atOnce(n int, f func(i int) error) error {
	errs := make(chan error, n)
	begin := make(chan struct{})
	for i := range n {
		go func() {
			<-begin
			errs <- f(i)
		}()
	}
	close(begin)
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	return all
}

// keys returns keys that no other case has used.
func keys(names ...string) []string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	made := make([]string, len(names))
	for i, name := range names {
		made[i] = fmt.Sprintf("%s %x", name, id)
	}
	return made
}

func key() string { return keys("key")[0] }

// similarKeys returns keys that a store may confuse with each other.
func similarKeys() []string {
	k := key()
	long := k + strings.Repeat("x", 255-len(k)-1)
	return []string{
		k, k + " ", k + "  ", " " + k, k + "\t", k + "\n", // white space
		"a" + k, "A" + k, "\u00e9" + k, "e\u0301" + k, "e" + k, "\u00c9" + k, "\u0131" + k, "i" + k, "I" + k, // case and accents
		"\u00df" + k, "ss" + k, "\u6771\u4eac" + k, "\U0001F3E8" + k, "\U0001F3E9" + k, // other scripts
		k + "'", k + "''", k + `"`, k + "%", k + "_", k + `\`, k + `\\`, k + "';--", k + "`", k + "?", k + "$1", // SQL
		k + "*", k + "[a]", k + "{a}", "{" + k + "}", k + ":", k + ":a", k + "\r\n", // Redis
		k + ",", k + "|", k + "/", k + "\x01", k + "\x7f",
		long, long + "a", long + "b", // they differ only in the last byte
	}
}
