// The observer and its options.

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

// scope is the instrumentation scope.
const scope = "github.com/hotelstays/hotelstays-go/contrib/otel"

// Option is a setting of New.
type Option func(*config) error

type config struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
}

// WithTracerProvider creates spans with tp instead of the global provider.
func WithTracerProvider(tp trace.TracerProvider) Option {
	return func(c *config) error {
		if tp == nil {
			return errors.New("hotelstaysotel: WithTracerProvider is nil; omit it to use the global provider")
		}
		c.tracers = tp
		return nil
	}
}

// WithMeterProvider records metrics with mp instead of the global provider.
func WithMeterProvider(mp metric.MeterProvider) Option {
	return func(c *config) error {
		if mp == nil {
			return errors.New("hotelstaysotel: WithMeterProvider is nil; omit it to use the global provider")
		}
		c.meters = mp
		return nil
	}
}

// New returns an observer for hotelstays.WithObserver. One observer serves any number of
// clients, and is safe for concurrent use. The error names every option that is nil, and every
// instrument that the meter provider refuses.
func New(opts ...Option) (hotelstays.Observer, error) {
	var none hotelstays.Observer
	cfg := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	var problems []error
	for _, opt := range opts {
		if opt == nil {
			problems = append(problems, errors.New("hotelstaysotel: opts contains a nil option"))
			continue
		}
		problems = append(problems, opt(&cfg))
	}
	if err := errors.Join(problems...); err != nil {
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

// callStart starts the span of a call. It stores the span in ctx under its own key, because
// the current span at the end may belong to another observer.
func (o *observer) callStart(ctx context.Context, start hotelstays.CallStart) context.Context {
	target := trace.WithAttributes(targetAttributes(start.Operation, start.BaseURL)...)
	ctx, span := o.tracer.Start(ctx, "hotelstays."+string(start.Operation), target)
	return context.WithValue(ctx, o, span)
}

func (o *observer) callEnd(ctx context.Context, info hotelstays.CallInfo) {
	kind := errorType(info.Err, info.Attempts)
	if span, ok := ctx.Value(o).(trace.Span); ok {
		if span.IsRecording() {
			setSpan(span, &info, kind)
		}
		span.End()
	}
	o.metrics.record(ctx, &info, kind)
}
