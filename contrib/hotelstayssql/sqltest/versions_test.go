package sqltest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

// downgrade rewrites the rows in the form of an earlier version, which had no rounds and no order numbers.
func (p *process) downgrade() {
	p.Helper()
	ring, err := keyring.New([]types.Secret{bookingstest.Key})
	require.NoError(p, err)
	for table, column := range map[string]string{"hotelstays_journal": "booking", "hotelstays_cancels": "state", "hotelstays_orders": "state"} {
		rows, err := p.db.QueryContext(p.Context(), `SELECT reference, `+column+` FROM `+table)
		require.NoError(p, err)
		states := map[string]map[string]any{}
		for rows.Next() {
			var reference, text []byte
			require.NoError(p, rows.Scan(&reference, &text))
			state := map[string]any{}
			require.NoError(p, json.Unmarshal(text, &state))
			states[string(reference)] = state
		}
		require.NoError(p, rows.Err())
		for reference, state := range states {
			for _, name := range []string{"round", "orderNo", "platformReferenceNo", "checkOut", "missingSince", "other", "accepted", "nothing"} {
				if name != "checkOut" || table == "hotelstays_orders" {
					delete(state, name)
				}
			}
			if table == "hotelstays_orders" {
				order, err := p.Clients[0].FindOrder(p.Context(), reference)
				require.NoError(p, err)
				plain, err := json.Marshal(order)
				require.NoError(p, err)
				state["seen"], err = ring.Seal("followed order "+state["fingerprint"].(string)+" "+reference, plain)
				require.NoError(p, err)
			}
			text, err := json.Marshal(state)
			require.NoError(p, err)
			p.db.exec(p, `UPDATE `+table+` SET `+column+` = ? WHERE reference = ?`, text, []byte(reference))
		}
	}
}

// The earlier version has left bookings, cancellations and followed orders in several phases.
func TestWorkersContinueRowsOfAnEarlierVersion(t *testing.T) {
	p := inProcess(t, nil)
	p = p.another(p.db.followBookings)
	p.Booked("followed", "cancelled", "standing", "sent")
	p.Inject(hotelstaystest.Fault{Operation: hotelstays.OpCancel, Kind: hotelstaystest.FaultDelay, Delay: patience, Commit: true})
	require.NoError(t, p.CancelAlone("sent", nil))
	stop := p.Work()
	p.Eventually("Cancel is sent", func() bool { return p.Ledger().Count(hotelstays.OpCancel) > 0 })
	stop()
	p.Begin("waiting")
	p.SendUnknown("polled", bookingstest.BookMade)
	p.SendUnknown("lost", bookingstest.BookLost)
	p.Begin("begins again")
	p.Inject(bookingstest.BookRefused)
	p.MustSend("begins again")
	require.NoError(t, p.CancelAlone("cancelled", nil))
	require.NoError(t, p.CancelAlone("lost", nil))
	p.downgrade()
	assert.NotContains(t, string(p.db.state(t, "hotelstays_orders", "followed")), "platformReferenceNo")
	before := p.polls()
	p.Work()
	p.Eventually("orders are read", func() bool { return p.polls() > before })
	assert.Zero(t, p.changes("followed"), "only the version has changed")
	p.ConfirmOrder("followed")
	require.NoError(t, p.Wake(t.Context(), "followed"))
	p.Eventually("a change is delivered", func() bool { return p.changes("followed") == 1 })
	p.MustSend("waiting")
	p.HasState("polled", durable.EndingFound, time.Minute)
	p.HasState("lost", durable.EndingAbsent, time.Minute)
	p.CancelEnds("cancelled", durable.CancelDone, 1, time.Minute)
	p.CancelEnds("lost", durable.CancelRefused, 1, 10*time.Second)
	p.CancelEnds("sent", durable.CancelDone, 1, time.Minute)
	require.NoError(t, p.BeginAlone(p.Request("begins again")))
	assert.Equal(t, 2, p.Fleet.Stored("begins again").Round)
	assert.ErrorIs(t, p.BeginAlone(p.Request("polled")), durable.ErrAlreadyBooked)
	require.NoError(t, p.CancelAlone("standing", nil))
	p.CancelEnds("standing", durable.CancelDone, 1, time.Minute)
	assert.Equal(t, 3, p.Ledger().Count(hotelstays.OpCancel))
}

// A process of the earlier version works while a newer process migrates the tables and also works. Each row ends once.
func TestEarlierVersionWorksDuringAMigration(t *testing.T) {
	onEachAlone(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, db.followBookings)
		var polled, lost, booked []string
		for i := range 8 {
			polled, lost = append(polled, fmt.Sprint("polled-", i)), append(lost, fmt.Sprint("lost-", i))
			booked = append(booked, fmt.Sprint("booked-", i))
			p.SendUnknown(polled[i], bookingstest.BookMade)
			p.SendUnknown(lost[i], bookingstest.BookLost)
		}
		p.Booked(booked...)
		for _, reference := range booked {
			require.NoError(t, p.CancelAlone(reference, nil))
		}
		p.downgrade()
		p.Work()
		p.Eventually("the earlier version works", func() bool { return p.Ledger().Count(hotelstays.OpCancel) > 0 })
		for _, table := range []string{"hotelstays_journal", "hotelstays_cancels", "hotelstays_orders"} {
			drop := "DROP INDEX " + table + "_due_all"
			if db.dialect == hotelstayssql.MySQL {
				drop += " ON " + table
			}
			db.exec(t, drop)
		}
		db.exec(t, "DELETE FROM hotelstays_schema WHERE version = 3")
		require.NoError(t, hotelstayssql.Migrate(t.Context(), db.DB, db.dialect))
		p.another(db.followBookings).Work()
		for i := range booked {
			p.HasState(polled[i], durable.EndingFound, time.Minute)
			p.HasState(lost[i], durable.EndingAbsent, time.Minute)
			p.CancelEnds(booked[i], durable.CancelDone, 1, time.Minute)
		}
		assert.Equal(t, len(booked), p.Ledger().Count(hotelstays.OpCancel))
		assert.Len(t, p.Ledger().Orders(), len(polled)+len(booked))
		assert.Zero(t, p.count(`live = 1`))
		assert.Zero(t, db.number(t, `SELECT COUNT(*) FROM bookings WHERE ended <> 1`))
	})
}

func (d *database) state(t *testing.T, table, reference string) (text []byte) {
	require.NoError(t, d.QueryRowContext(t.Context(), `SELECT state FROM `+table+` WHERE reference = ?`, []byte(reference)).Scan(&text))
	return text
}
