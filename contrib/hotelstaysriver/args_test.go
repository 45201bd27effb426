package hotelstaysriver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
)

// In plain text, a job contains only the values that QueryOrders needs.
func TestJobShowsNoSecretAndNoGuest(t *testing.T) {
	b := unconnected(t)
	engine, err := durable.NewEngine(memstore.New(), durable.Options[*memstore.Tx]{Client: b.cfg.Client, Keys: testKeys,
		OnOutcome: func(context.Context, *memstore.Tx, *hotelstays.BookingOutcome) error { return nil }})
	require.NoError(t, err)
	rows := map[durable.ID]durable.Row{}
	require.NoError(t, engine.BeginTx(t.Context(), memstore.Begin(rows), request("ref-1")))
	row := rows[durable.ID{Account: b.cfg.Client.Account(), Kind: durable.KindBooking, Reference: "ref-1"}]
	text, err := json.Marshal(b.store.args(&row))
	require.NoError(t, err)
	var began struct{ Begun string }
	require.NoError(t, json.Unmarshal(text, &began))
	assert.JSONEq(t, fmt.Sprintf(`{"reference":"ref-1","account":%[1]q,"request":%[2]q,"begun":%[3]q,"round":1,
		"recovery":{"customerReferenceNo":"ref-1","fingerprint":%[1]q,"sessionId":"session","polls":0}}`,
		b.cfg.Client.Account(), base64.StdEncoding.EncodeToString(row.Sealed), began.Begun), string(text))
	for _, private := range []string{"P1234567", "Family", "token"} {
		assert.NotContains(t, string(text)+string(row.Sealed), private)
	}
}

func TestRowOfAJobWithInvalidArgumentsIsUnreadable(t *testing.T) {
	row := rowOf(durable.KindBooking, &rivertype.JobRow{EncodedArgs: []byte(`{"reference":1}`)})
	assert.ErrorContains(t, row.Unreadable, "reference")
}

func TestArgsKeepTheFieldsThatANewerVersionHasStored(t *testing.T) {
	const stored = `{"reference":"ref-1","account":"a","round":1,"recovery":{"polls":2},"newer":{"field":"value"}}`
	var a args
	require.NoError(t, json.Unmarshal([]byte(stored), &a))
	text, err := json.Marshal(a)
	require.NoError(t, err)
	assert.JSONEq(t, stored, string(text))
}
