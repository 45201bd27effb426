package hotelstaysotel_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysotel"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/types"
)

const openRecords = `
hotelstays.bookings.errors : 1{error}
hotelstays.bookings.open phase=booking: 0{booking}
hotelstays.bookings.open phase=polling: 2{booking}
hotelstays.bookings.open phase=waiting: 1{booking}
hotelstays.bookings.overdue : 475s
hotelstays.bookings.unverified : 1{booking}
hotelstays.cancellations.oldest.age : 600s
hotelstays.cancellations.open : 2{cancellation}
hotelstays.handlers.hanging handler=OnCancel: 0{call}
hotelstays.handlers.hanging handler=OnOrder: 0{call}
hotelstays.handlers.hanging handler=OnOutcome: 1{call}
`

// The gauges also count bookings of a process that has ended. If nobody calls Send, a worker sends a booking two
// minutes and five seconds after BeginTx.
func TestGaugesCountTheStoredBookingsAndCancellations(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		store, hangs := memstore.New(), make(chan struct{})
		engine, err := durable.NewEngine(store, durable.Options[*memstore.Tx]{Client: r.client,
			Keys: []types.Secret{types.NewSecret("a key of thirty-two random bytes")},
			OnOutcome: func(context.Context, *memstore.Tx, *hotelstays.BookingOutcome) error {
				<-hangs
				return nil
			},
			OnCancel: func(context.Context, *memstore.Tx, *durable.Cancellation) error { return nil }})
		require.NoError(t, err)
		begin := func(reference string) {
			require.NoError(t, store.InTx(t.Context(), false, func(ctx context.Context, tx *memstore.Tx) error {
				return engine.BeginTx(ctx, tx, r.request(reference))
			}))
		}
		cancel := func(reference string) {
			require.NoError(t, store.InTx(t.Context(), false, func(ctx context.Context, tx *memstore.Tx) error {
				return engine.CancelTx(ctx, tx, durable.CancelOrder{CustomerReferenceNo: reference, SessionID: "session"})
			}))
		}
		change := func(reference, old, with string) {
			row, err := store.Read(t.Context(),
				durable.ID{Account: r.client.Account(), Kind: durable.KindBooking, Reference: reference})
			require.NoError(t, err)
			row.State = []byte(strings.Replace(string(row.State), old, with, 1))
			store.Put(*row)
		}
		for _, reference := range []string{"unreadable", "unverified", "waiting", "hangs"} {
			begin(reference)
		}
		change("unreadable", "{", "")
		change("unverified", "{", `{"unverified": 3, "bookBy": "2000-01-01T00:00:00Z", `)
		cancel("waiting")
		time.Sleep(time.Minute)
		cancel("hangs")
		sent := make(chan struct{})
		go func() { _, _ = engine.Send(t.Context(), "hangs"); close(sent) }()
		time.Sleep(9 * time.Minute)

		reader := sdkmetric.NewManualReader()
		options := &hotelstaysotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}
		gauges, err := hotelstaysotel.ObserveBookings(engine, options)
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSpace(openRecords), strings.Join(gaugesOf(t, reader), "\n"))
		require.NoError(t, gauges.Unregister())
		assert.Empty(t, gaugesOf(t, reader))
		close(hangs)
		<-sent
		_, err = hotelstaysotel.ObserveBookings(engine, &hotelstaysotel.Options{MeterProvider: refusing{}})
		assert.ErrorIs(t, err, assert.AnError)
		engine = nil
		_, err = hotelstaysotel.ObserveBookings(engine, options)
		assert.ErrorContains(t, err, "bookings is nil")
	})
}

// gaugesOf returns a line for each set of attributes of each gauge. The test fails if README.md does not list a gauge.
func gaugesOf(t *testing.T, reader sdkmetric.Reader) (lines []string) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var out metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &out))
	for _, scope := range out.ScopeMetrics {
		for _, m := range scope.Metrics {
			assert.Contains(t, string(page), "`"+m.Name+"`")
			add := func(attrs attribute.Set, value any) {
				of := strings.NewReplacer("hotelstays.booking.", "", "hotelstays.handler.name", "handler").Replace(attrs.Encoded(attribute.DefaultEncoder()))
				lines = append(lines, fmt.Sprint(m.Name, " ", of, ": ", value, m.Unit))
			}
			switch data := m.Data.(type) {
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Value)
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}
