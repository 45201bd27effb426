// The promises about many accounts in one database.

package bookingstest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

var twoAccounts = hotelstaystest.Config{Accounts: Accounts(2)}

// platform is a process that books for several accounts. The caller's table has a row for each account and reference.
type platform[Tx any] struct {
	*World[Tx]
	known sync.Map // maps an account to its durable.BookingClient

	mu    sync.Mutex
	ended []string // references of rows, in the order in which their outcomes were stored
}

func (w *World[Tx]) platform() *platform[Tx] {
	w.Helper()
	p := &platform[Tx]{}
	for _, client := range w.Clients {
		p.known.Store(client.Account(), client)
	}
	p.World = w.Another(func(o *durable.Options[Tx]) {
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
func (p *platform[Tx]) begin(account int, references ...string) {
	p.Helper()
	name := p.Clients[account].Account()
	require.NoError(p, p.Fleet.InTx(p.Context(), func(tx Tx) error {
		for _, reference := range references {
			err := p.ForAccount(name).BeginTx(p.Context(), tx, p.Accounts[account].Request(reference))
			if err == nil {
				err = p.addRow(p.Context(), tx, rowOf(name, reference))
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

func (p *platform[Tx]) listed(of durable.Bookings[Tx]) (rows []string) {
	for _, b := range listed(p.World, of.List(p.Context())) {
		row := rowOf(b.Account(), b.Recovery.CustomerReferenceNo)
		require.NotContains(p, rows, row, "List returns each booking once")
		rows = append(rows, row)
	}
	return rows
}

func accountsShareReferences[Tx any](w *World[Tx]) {
	p := w.platform()
	var begun []string
	for i, client := range p.Clients {
		p.Fleet.Pass(p.Options.BookTimeout + durable.ClockMargin) // makes the booking of the previous account due
		p.begin(i, "ref-1")
		begun = append(begun, rowOf(client.Account(), "ref-1"))
	}
	first, second := p.ForAccount(p.Clients[0].Account()), p.ForAccount(p.Clients[1].Account())
	assert.ElementsMatch(p, begun, p.listed(p))
	assert.Equal(p, begun[:1], p.listed(first))
	assert.Equal(p, begun[1:], p.listed(second))
	p.Work()
	p.HasState(begun[0], durable.EndingFound, 0)
	time.Sleep(100 * time.Millisecond)
	assert.Equal(p, begun[1:], p.listed(p), "the booking of the other account waits for Send")
	sent, err := second.Send(p.Context(), "ref-1")
	require.NoError(p, err)
	assert.Equal(p, Row{"found", sent.Order.PlatformReferenceNo, 1}, p.Row(begun[1]))
	assert.NotEqual(p, p.Row(begun[0]).Order, p.Row(begun[1]).Order)
	assert.Empty(p, p.listed(p))
}

func unknownAccountWaits[Tx any](w *World[Tx]) {
	p := w.platform()
	p.begin(0, "ref-1")
	p.begin(1, "ref-1")
	unknown := p.Clients[0]
	p.known.Delete(unknown.Account())
	p.Work()
	p.HasState(rowOf(p.Clients[1].Account(), "ref-1"), durable.EndingFound, time.Minute)
	assert.Equal(p, []string{rowOf(unknown.Account(), "ref-1")}, p.listed(p))
	require.ErrorIs(p, p.ForAccount(unknown.Account()).CancelTx(p.Context(), *new(Tx), durable.CancelOrder{}), durable.ErrUnknownAccount)
	p.known.Store(unknown.Account(), unknown)
	p.HasState(rowOf(unknown.Account(), "ref-1"), durable.EndingFound, time.Minute)
}

// stuck is a client whose Book returns only when ctx ends.
type stuck struct{ *hotelstays.Client }

func (stuck) BookAndRecover(ctx context.Context, _ *hotelstays.BookRequest,
	_ ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	<-ctx.Done()
	return nil, &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: ctx.Err()}
}

// loudAccountDelaysNoOther checks that many due bookings of one account (loud) do not delay the one due booking of
// another account (quiet), even if the calls of the loud account hang.
func loudAccountDelaysNoOther[Tx any](w *World[Tx]) {
	const many = 150                     // a page of a list has 100 rows
	w.Options.BookTimeout = 2 * Patience // a long limit, so that a hanging call does not end before the test
	p := w.platform()
	loud, quiet := p.Clients[0], p.Clients[1]
	for _, hangs := range []bool{false, true} {
		if hangs {
			p.known.Store(loud.Account(), stuck{loud})
		}
		var references []string
		for i := range many {
			references = append(references, fmt.Sprintf("ref-%t-%d", hangs, i))
		}
		p.begin(0, references...)
		p.begin(1, references[0])
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
			p.Eventually("the bookings of the loud account continue", func() bool { return len(p.outcomes()) > before+many/4 })
		}
		stop()
	}
}
