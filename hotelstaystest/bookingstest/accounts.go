// The promises about many accounts in one database.

package bookingstest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

// Accounts returns accounts for a sandbox.
func Accounts(n int) (accounts []hotelstaystest.Account) {
	for i := range n {
		accounts = append(accounts, hotelstaystest.Account{AppKey: fmt.Sprint("key-", i), AppSecret: fmt.Sprint("secret-", i)})
	}
	return accounts
}

var twoAccounts = hotelstaystest.Config{Accounts: Accounts(2)}

// platform is a process for many accounts. The caller has a row for each account and reference.
type platform[Tx any] struct {
	*World[Tx]
	known sync.Map // of a durable.BookingClient, by account

	mu    sync.Mutex
	ended []string // rows, in the order of their outcomes
}

func (w *World[Tx]) platform() *platform[Tx] {
	w.Helper()
	p := &platform[Tx]{}
	for _, client := range w.clients {
		p.known.Store(client.Account(), client)
	}
	p.World = w.Another(func(o *Options[Tx]) {
		o.Client = nil
		o.Clients = func(account string) durable.BookingClient {
			client, known := p.known.Load(account)
			if !known {
				return nil
			}
			return client.(durable.BookingClient)
		}
		o.OnOutcome = func(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
			recovery, stored := *outcome.Recovery, *outcome
			recovery.CustomerReferenceNo = rowOf(recovery.Fingerprint, recovery.CustomerReferenceNo)
			stored.Recovery = &recovery
			p.mu.Lock()
			p.ended = append(p.ended, recovery.CustomerReferenceNo)
			p.mu.Unlock()
			return w.Fleet.StoreRow(ctx, tx, &stored)
		}
	})
	return p
}

func rowOf(account, reference string) string { return account[:8] + " " + reference }

// begin commits bookings of an account together with the caller's rows.
func (p *platform[Tx]) begin(client *hotelstays.Client, references ...string) {
	p.Helper()
	offer := p.offer(client)
	require.NoError(p, p.Fleet.InTx(p.Context(), func(tx Tx) error {
		for _, reference := range references {
			err := p.ForAccount(client.Account()).BeginTx(p.Context(), tx, RequestOf(offer, reference))
			if err == nil {
				err = p.addRow(p.Context(), tx, rowOf(client.Account(), reference))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

func (p *platform[Tx]) outcomes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ended)
}

func (p *platform[Tx]) listed(of durable.Bookings[Tx]) (listed []string) {
	for b, err := range of.List(p.Context()) {
		require.NoError(p, err)
		row := rowOf(b.Account(), b.Recovery.CustomerReferenceNo)
		require.NotContains(p, listed, row, "each booking once")
		listed = append(listed, row)
	}
	return listed
}

func accountsShareReferences[Tx any](w *World[Tx]) {
	p := w.platform()
	var begun []string
	for _, client := range p.clients {
		p.Fleet.Pass(p.Options.BookTimeout + durable.ClockMargin) // the first one is due
		p.begin(client, "ref-1")
		begun = append(begun, rowOf(client.Account(), "ref-1"))
	}
	first, second := p.ForAccount(p.clients[0].Account()), p.ForAccount(p.clients[1].Account())
	assert.ElementsMatch(p, begun, p.listed(p))
	assert.Equal(p, begun[:1], p.listed(first))
	assert.Equal(p, begun[1:], p.listed(second))
	p.Work()
	p.HasState(begun[0], durable.EndingFound, 0)
	time.Sleep(100 * time.Millisecond)
	assert.Equal(p, begun[1:], p.listed(p), "the other booking waits for Send")
	sent, err := second.Send(p.Context(), "ref-1")
	require.NoError(p, err)
	assert.Equal(p, Row{"found", sent.Order.PlatformReferenceNo, 1}, p.Row(begun[1]))
	assert.NotEqual(p, p.Row(begun[0]).Order, p.Row(begun[1]).Order)
	assert.Empty(p, p.listed(p))
}

func unknownAccountWaits[Tx any](w *World[Tx]) {
	p := w.platform()
	p.begin(p.clients[0], "ref-1")
	p.begin(p.clients[1], "ref-1")
	unknown := p.clients[0]
	p.known.Delete(unknown.Account())
	p.Work()
	p.HasState(rowOf(p.clients[1].Account(), "ref-1"), durable.EndingFound, time.Minute)
	assert.Equal(p, []string{rowOf(unknown.Account(), "ref-1")}, p.listed(p))
	require.ErrorIs(p, p.ForAccount(unknown.Account()).CancelTx(p.Context(), *new(Tx), durable.CancelOrder{}), durable.ErrUnknownAccount)
	p.known.Store(unknown.Account(), unknown)
	p.HasState(rowOf(unknown.Account(), "ref-1"), durable.EndingFound, time.Minute)
}

// stuck is a client whose Book never returns by itself.
type stuck struct{ *hotelstays.Client }

func (stuck) BookAndRecover(ctx context.Context, _ *hotelstays.BookRequest,
	_ ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	<-ctx.Done()
	return nil, &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: ctx.Err()}
}

// An account with many bookings that are due for longer delays no other, also if its calls hang.
func loudAccountDelaysNoOther[Tx any](w *World[Tx]) {
	const many = 400
	w.Options.BookTimeout = 2 * Patience // what hangs does not end before the test
	p := w.platform()
	loud, quiet := p.clients[0], p.clients[1]
	for _, hangs := range []bool{false, true} {
		if hangs {
			p.known.Store(loud.Account(), stuck{loud})
		}
		var references []string
		for i := range many {
			references = append(references, fmt.Sprintf("ref-%t-%d", hangs, i))
		}
		p.begin(loud, references...)
		p.begin(quiet, references[0])
		if !hangs {
			assert.Len(p, p.listed(p), many+1)
		}
		p.Fleet.Pass(2 * w.Options.BookTimeout)
		before := len(p.outcomes())
		stop := p.Work()
		row := rowOf(quiet.Account(), references[0])
		p.HasState(row, durable.EndingFound, 0)
		place := slices.Index(p.outcomes(), row) - before
		assert.Less(p, place, many/4)
		if !hangs {
			p.Eventually("the loud one goes on", func() bool { return len(p.outcomes()) > before+many/4 })
		}
		stop()
	}
}

// number returns the number of a reference of Survive.
func number(reference string) (i int) {
	_, _ = fmt.Sscanf(reference, "ref-%d", &i)
	return i
}

// OfReference returns the Bookings of the account that books a reference of Survive.
func (w *World[Tx]) OfReference(reference string) durable.Bookings[Tx] {
	return w.ForAccount(w.clients[number(reference)%len(w.clients)].Account())
}

// checkAccounts checks that no account was left behind: when a tenth of the bookings was left, each had at most half
// of its own before it. outcomes are the oldest first.
func (w *World[Tx]) checkAccounts(outcomes []chaostest.Outcome) {
	last := map[string]int{}
	for i, o := range outcomes {
		last[o.Reference] = i
	}
	inOrder := slices.SortedFunc(maps.Keys(last), func(a, b string) int { return last[a] - last[b] })
	left, of := make([]int, len(w.clients)), make([]int, len(w.clients))
	for i, reference := range inOrder {
		account := number(reference) % len(w.clients)
		if of[account]++; i >= len(inOrder)*9/10 {
			left[account]++
		}
	}
	w.Logf("%d accounts; when a tenth of the bookings was left, they had %v of %v", len(of), left, of)
	for i := range of {
		assert.LessOrEqual(w, 2*left[i], of[i]+1, "account %d", i)
	}
}
