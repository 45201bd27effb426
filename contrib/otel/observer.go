// The observer: what becomes of a call that starts and ends.

package hotelstaysotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// scope names this package to the providers.
const scope = "github.com/hotelstays/hotelstays-go/contrib/otel"

// Option is a setting of New.
type Option interface{ apply(*config) error }

type config struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

// WithTracerProvider makes spans with tp, and not with OpenTelemetry's global
// provider.
func WithTracerProvider(tp trace.TracerProvider) Option {
	return option(func(c *config) error {
		if tp == nil {
			return errors.New("hotelstaysotel: WithTracerProvider is nil; leave it out to use the global provider")
		}
		c.tracers = tp
		return nil
	})
}

// WithMeterProvider records metrics with mp, and not with OpenTelemetry's global
// provider.
func WithMeterProvider(mp metric.MeterProvider) Option {
	return option(func(c *config) error {
		if mp == nil {
			return errors.New("hotelstaysotel: WithMeterProvider is nil; leave it out to use the global provider")
		}
		c.meters = mp
		return nil
	})
}

// New returns an observer for hotelstays.WithObserver. One serves any number of
// clients, and is safe for concurrent use. Its error names every option that is
// nil, and every instrument that the meter provider refuses.
func New(opts ...Option) (hotelstays.Observer, error) {
	var none hotelstays.Observer
	cfg := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	var faults []error
	for _, opt := range opts {
		if opt == nil {
			faults = append(faults, errors.New("hotelstaysotel: opts holds a nil option"))
			continue
		}
		faults = append(faults, opt.apply(&cfg))
	}
	if err := errors.Join(faults...); err != nil {
		return none, err
	}
	metrics, err := newInstruments(cfg.meters.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	if err != nil {
		return none, err
	}
	o := &observer{tracer: cfg.tracers.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)), metrics: metrics}
	return hotelstays.Observer{CallStart: o.callStart, CallEnd: o.callEnd}, nil
}

type observer struct {
	tracer  trace.Tracer
	metrics *instruments
}

// callStart starts the span that the call's attempts run under, and keeps it in ctx under
// the observer's own key: the latest span there may be another observer's at the end.
func (o *observer) callStart(ctx context.Context, start hotelstays.CallStart) context.Context {
	ctx, span := o.tracer.Start(ctx, "hotelstays."+string(start.Operation), trace.WithAttributes(calledOf(start.Operation, start.BaseURL)...))
	return context.WithValue(ctx, o, span)
}

// callEnd ends the span and records the metrics.
func (o *observer) callEnd(ctx context.Context, info hotelstays.CallInfo) {
	kind := errorType(&info)
	if span, ok := ctx.Value(o).(trace.Span); ok {
		if span.IsRecording() {
			describe(span, &info, kind)
		}
		span.End()
	}
	o.metrics.record(ctx, &info, kind)
}
