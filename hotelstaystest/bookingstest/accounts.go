// The promises about many accounts in one database.

package bookingstest

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

var accounts = []hotelstaystest.Account{{AppKey: "key-a", AppSecret: "secret-a"}, {AppKey: "key-b", AppSecret: "secret-b"}}

// platform is a process for many accounts. The caller has a row for each account and reference.
type platform[Tx any] struct {
	*World[Tx]
	clients []*hotelstays.Client
	known   sync.Map // by account
}

func (w *World[Tx]) platform() *platform[Tx] {
	w.Helper()
	p := &platform[Tx]{}
	for _, account := range accounts {
		client, err := w.Options.Client.WithCredential(
			hotelstays.TicketCredential{AppKey: account.AppKey, AppSecret: types.NewSecret(account.AppSecret)})
		require.NoError(w, err)
		p.clients = append(p.clients, client)
		p.known.Store(client.Account(), client)
	}
	p.World = w.Another(func(o *Options[Tx]) {
		o.Client = nil
		o.Clients = func(account string) durable.BookingClient {
			client, known := p.known.Load(account)
			if !known {
				return nil
			}
			return client.(*hotelstays.Client)
		}
		o.OnOutcome = func(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
			recovery, stored := *outcome.Recovery, *outcome
			recovery.CustomerReferenceNo = rowOf(recovery.Fingerprint, recovery.CustomerReferenceNo)
			stored.Recovery = &recovery
			return w.Fleet.StoreRow(ctx, tx, &stored)
		}
	})
	return p
}

func rowOf(account, reference string) string { return account[:8] + " " + reference }

// begin commits a booking of an account together with the caller's row.
func (p *platform[Tx]) begin(client *hotelstays.Client, reference string) {
	p.Helper()
	offer := p.offer(client)
	require.NoError(p, p.Fleet.InTx(p.Context(), func(tx Tx) error {
		if err := p.ForAccount(client.Account()).BeginTx(p.Context(), tx, RequestOf(offer, reference)); err != nil {
			return err
		}
		return p.addRow(p.Context(), tx, rowOf(client.Account(), reference))
	}))
}

func (p *platform[Tx]) listed() (listed []string) {
	for b, err := range p.List(p.Context()) {
		require.NoError(p, err)
		listed = append(listed, rowOf(b.Account(), b.Recovery.CustomerReferenceNo))
	}
	return listed
}

func accountsShareReferences[Tx any](w *World[Tx]) {
	p := w.platform()
	var begun []string
	for _, client := range p.clients {
		p.begin(client, "ref-1")
		begun = append(begun, rowOf(client.Account(), "ref-1"))
	}
	assert.ElementsMatch(p, begun, p.listed())
	sent, err := p.ForAccount(p.clients[0].Account()).Send(p.Context(), "ref-1")
	require.NoError(p, err)
	assert.Equal(p, begun[1:], p.listed())
	p.Work()
	p.HasState(begun[1], durable.EndingFound, time.Minute)
	assert.Equal(p, Row{"found", sent.Order.PlatformReferenceNo, 1}, p.Row(begun[0]))
	assert.NotEqual(p, p.Row(begun[0]).Order, p.Row(begun[1]).Order)
	assert.Empty(p, p.listed())
}

func unknownAccountWaits[Tx any](w *World[Tx]) {
	p := w.platform()
	p.begin(p.clients[0], "ref-1")
	p.begin(p.clients[1], "ref-1")
	unknown := p.clients[0]
	p.known.Delete(unknown.Account())
	p.Work()
	p.HasState(rowOf(p.clients[1].Account(), "ref-1"), durable.EndingFound, time.Minute)
	assert.Equal(p, []string{rowOf(unknown.Account(), "ref-1")}, p.listed())
	require.ErrorIs(p, p.ForAccount(unknown.Account()).CancelTx(p.Context(), *new(Tx), durable.CancelOrder{}), durable.ErrUnknownAccount)
	p.known.Store(unknown.Account(), unknown)
	p.HasState(rowOf(unknown.Account(), "ref-1"), durable.EndingFound, time.Minute)
}
