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

// A process of the earlier version works while a newer process migrates the tables and also works. Each row ends once.
func TestEarlierVersionWorksDuringAMigration(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, db.followBookings)
		var polled, lost, booked []string
		for i := range 4 {
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
