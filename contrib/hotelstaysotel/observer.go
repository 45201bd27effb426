// The observer and its options.

package hotelstaysotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// scope is the instrumentation scope.
const scope = "github.com/hotelstays/hotelstays-go/contrib/hotelstaysotel"

// Option is a setting of New.
type Option func(*config) error

type config struct {
	tracers  trace.TracerProvider
	meters   metric.MeterProvider
	callKind trace.SpanKind
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

// WithClientSpans makes client spans of calls, for service maps where nothing below the client makes
// a client span of each request. By default they are internal. Spans of helpers stay internal.
func WithClientSpans() Option {
	return func(c *config) error {
		c.callKind = trace.SpanKindClient
		return nil
	}
}

// New returns an observer for hotelstays.WithObserver. One observer serves any number of
// clients, and is safe for concurrent use. The error names every option that is nil, and every
// instrument that the meter provider refuses.
func New(opts ...Option) (hotelstays.Observer, error) {
	var none hotelstays.Observer
	cfg := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider(), callKind: trace.SpanKindInternal}
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
	o := &observer{cfg.tracers.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)), cfg.callKind, metrics}
	return hotelstays.Observer{CallStart: o.callStart, CallEnd: o.callEnd, HelperStart: o.helperStart, HelperEnd: o.helperEnd}, nil
}

type observer struct {
	tracer   trace.Tracer
	callKind trace.SpanKind
	metrics  *instruments
}

func (o *observer) callStart(ctx context.Context, start hotelstays.CallStart) context.Context {
	return o.start(ctx, o.callKind, keyOperation, start)
}

func (o *observer) callEnd(ctx context.Context, info hotelstays.CallInfo) {
	kind := errorType(info.Err, info.Attempts)
	o.end(ctx, kind, &info)
	o.metrics.record(ctx, &info, kind)
}

// helperStart starts the span around the calls of a helper. Metrics count those calls alone.
func (o *observer) helperStart(ctx context.Context, start hotelstays.CallStart) context.Context {
	return o.start(ctx, trace.SpanKindInternal, keyHelper, start)
}

func (o *observer) helperEnd(ctx context.Context, info hotelstays.CallInfo) {
	o.end(ctx, errorType(info.Err, nil), nil)
}

// start starts a span. It stores the span in ctx under its own key, because the current span at the
// end may belong to another observer.
func (o *observer) start(ctx context.Context, kind trace.SpanKind, name attribute.Key, start hotelstays.CallStart) context.Context {
	attrs := append(serverAttributes(start.BaseURL), name.String(string(start.Operation)))
	ctx, span := o.tracer.Start(ctx, "hotelstays."+string(start.Operation), trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
	return context.WithValue(ctx, o, span)
}

// end ends the span of ctx. kind is the kind of its error, or "". call is nil for a helper.
func (o *observer) end(ctx context.Context, kind string, call *hotelstays.CallInfo) {
	span, ok := ctx.Value(o).(trace.Span)
	if !ok {
		return
	}
	if span.IsRecording() {
		if call != nil {
			setSpan(span, call)
		}
		if kind != "" {
			span.SetAttributes(semconv.ErrorTypeKey.String(kind))
			span.SetStatus(codes.Error, "") // no description: an error text could quote the request
		}
	}
	span.End()
}
