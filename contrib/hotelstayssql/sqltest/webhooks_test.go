package sqltest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/types"
)

// deliver delivers an event with a reference, and returns the status of the answer.
func deliver(handler http.Handler, reference string) int {
	body := fmt.Appendf(nil, `{"customerReferenceNo":%q,"event":%q}`, reference, types.EventOrderCreated)
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("X-Platform-Signature", hotelstaystest.SignWebhook("secret", time.Now(), body))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

var signed = hotelstays.WebhookOptions{Secrets: []types.Secret{types.NewSecret("secret")}}

// The handlers of two processes receive the same event. Each delivery wakes the journal.
func TestEventIsHandledOnceAndWakesTheJournal(t *testing.T) {
	p := inProcess(t, nil)
	db := p.db
	failure, calls := errors.New("failed"), 0
	handle := func(ctx context.Context, tx *sql.Tx, event *hotelstays.WebhookEvent) error {
		if calls++; calls == 1 {
			return errors.Join(insert(1)(ctx, tx), failure)
		}
		assert.Equal(t, "ref-1", event.CustomerReferenceNo)
		return insert(1)(ctx, tx)
	}
	handler := func(fn func(context.Context, *sql.Tx, *hotelstays.WebhookEvent) error) http.Handler {
		h, err := hotelstayssql.NewWebhookHandler(p.another(nil).Journal, signed, fn)
		require.NoError(t, err)
		return h
	}
	one, other := handler(handle), handler(handle)
	woken := func(reference string) bool { return !p.Fleet.Stored(reference).Due.After(time.Now()) }
	p.SendUnknown("ref-1", bookingstest.BookMade)
	p.SendUnknown("ref-2", bookingstest.BookMade)
	p.Fleet.Pass(-time.Minute)
	assert.Equal(t, http.StatusInternalServerError, deliver(one, "ref-1"))
	assert.Equal(t, []any{int64(0), false}, []any{db.handled(t), woken("ref-1")})
	assert.Equal(t, http.StatusOK, deliver(one, "ref-1"))
	assert.Equal(t, []any{int64(1), true}, []any{db.handled(t), woken("ref-1")})
	assert.Equal(t, http.StatusOK, deliver(handler(nil), "ref-2"))
	assert.True(t, woken("ref-2"))

	p.Fleet.Pass(-time.Minute)
	assert.Equal(t, http.StatusOK, deliver(other, "ref-1"))
	assert.Equal(t, []any{int64(1), 2}, []any{db.handled(t), calls})
	assert.True(t, woken("ref-1"), "a process may have died before it woke the journal")

	p.Fleet.Pass(-time.Minute)
	var known durable.BookingClient
	var log bytes.Buffer
	many := p.another(func(o *hotelstayssql.JournalOptions) {
		o.Client, o.Clients = nil, func(string) durable.BookingClient { return known }
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	ofAccount := signed
	_, err := hotelstayssql.NewWebhookHandler(many.Journal, ofAccount, nil)
	assert.ErrorContains(t, err, "Account is empty")
	ofAccount.Account = p.Clients[0].Account()
	h, err := hotelstayssql.NewWebhookHandler(many.Journal, ofAccount, nil)
	require.NoError(t, err)
	known = p.Clients[0] // the account may be added after its handler was made
	assert.Equal(t, http.StatusOK, deliver(h, "ref-2"))
	assert.True(t, woken("ref-2"), "the booking of the handler's account")
	assert.Empty(t, log.String())
}

func TestErrorOfNewWebhookHandlerNamesEveryInvalidArgument(t *testing.T) {
	p := inProcess(t, nil)
	stored := signed
	stored.Store = newEvents(t, p.db.DB, p.db.dialect)
	_, err := hotelstayssql.NewWebhookHandler(nil, stored, nil)
	assert.ErrorContains(t, err, "hotelstayssql: NewWebhookHandler: the journal is nil")
	assert.ErrorContains(t, err, "Store is set")
	short := signed
	short.Retention = time.Millisecond
	_, err = hotelstayssql.NewWebhookHandler(p.Journal, short, nil)
	assert.ErrorContains(t, err, "Retention is 1ms")
	_, err = hotelstayssql.NewWebhookHandler(p.Journal, hotelstays.WebhookOptions{}, nil)
	var invalid *hotelstays.ValidationError
	assert.ErrorAs(t, err, &invalid)
}
