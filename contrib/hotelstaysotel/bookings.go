// The gauges of open bookings and cancellations.

package hotelstaysotel

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/hotelstays/hotelstays-go/durable"
)

// lookWithin is the maximum time that one collection of the gauges reads the database.
const lookWithin = 10 * time.Second

// ObserveBookings adds gauges of open bookings and cancellations, and of calls of your functions that do not return. It
// uses only the MeterProvider of opts. nil opts mean the defaults. The parameter bookings is a Journal of
// hotelstayssql, the Bookings of hotelstaysriver, or another durable.Engine. Each collection reads the open rows of the
// database, for at most ten seconds.
//
// Call Unregister of the result to remove the gauges. The error names every instrument that the meter provider refuses,
// with the reason.
func ObserveBookings[Tx any](bookings durable.Bookings[Tx], opts *Options) (metric.Registration, error) {
	if v := reflect.ValueOf(bookings); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("hotelstaysotel: ObserveBookings: bookings is nil; create the journal first") // a collection would panic
	}
	m := opts.meters().Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	var problems []error
	count := func(name, unit, description string) metric.Int64ObservableGauge {
		g, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		problems = append(problems, err)
		return g
	}
	seconds := func(name, description string) metric.Float64ObservableGauge {
		g, err := m.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(description))
		problems = append(problems, err)
		return g
	}
	var (
		waiting    = count("hotelstays.bookings.open", "{booking}", "Bookings without an outcome.")
		unverified = count("hotelstays.bookings.unverified", "{booking}", "Open bookings that polls could not verify.")
		overdue    = seconds("hotelstays.bookings.overdue", "How long the booking that is due longest has waited for a worker.")
		cancels    = count("hotelstays.cancellations.open", "{cancellation}", "Cancellations whose result OnCancel has not accepted.")
		oldest     = seconds("hotelstays.cancellations.oldest.age", "Time since the oldest open cancellation was stored.")
		failed     = count("hotelstays.bookings.errors", "{error}", "Unreadable rows and failures of the database.")
		hanging    = count("hotelstays.handlers.hanging", "{call}", "Calls of your functions that do not return.")
	)
	registration, err := m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		is := look(ctx, bookings)
		for _, phase := range []durable.Phase{durable.PhaseWaiting, durable.PhaseBooking, durable.PhasePolling} {
			o.ObserveInt64(waiting, is.phases[phase], metric.WithAttributes(attribute.String("hotelstays.booking.phase", string(phase))))
		}
		for name, n := range is.calls {
			o.ObserveInt64(hanging, n, metric.WithAttributes(attribute.String("hotelstays.handler.name", name)))
		}
		o.ObserveInt64(unverified, is.unverified)
		o.ObserveFloat64(overdue, is.overdue.Seconds())
		o.ObserveInt64(cancels, is.cancels)
		o.ObserveFloat64(oldest, is.oldest.Seconds())
		o.ObserveInt64(failed, is.failed)
		return nil // nil, because an error would also discard the metrics of other callbacks
	}, waiting, unverified, overdue, cancels, oldest, failed, hanging)
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, fmt.Errorf("hotelstaysotel: the meter provider refused an instrument: %w", err)
	}
	return registration, nil
}

// open holds the values of the gauges at one collection.
type open struct {
	phases                      map[durable.Phase]int64
	calls                       map[string]int64
	unverified, cancels, failed int64
	overdue, oldest             time.Duration
}

func look[Tx any](ctx context.Context, bookings durable.Bookings[Tx]) open {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	now := time.Now()
	is := open{phases: map[durable.Phase]int64{}, calls: map[string]int64{"OnOutcome": 0, "OnCancel": 0, "OnOrder": 0}}
	for b, err := range bookings.List(ctx) {
		if err != nil {
			is.failed++
			continue
		}
		is.phases[b.Phase(now)]++
		is.overdue = max(is.overdue, now.Sub(b.Due))
		if b.Unverified > 0 {
			is.unverified++
		}
	}
	for c, err := range bookings.Cancellations(ctx) {
		if err != nil {
			is.failed++
			continue
		}
		is.cancels++
		is.oldest = max(is.oldest, now.Sub(c.Begun))
	}
	for _, call := range bookings.Hanging() {
		name, _, _ := strings.Cut(call, " ")
		is.calls[name]++
	}
	return is
}
