// The observer and its options.

package hotelstaysotel

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

const scope = "github.com/hotelstays/hotelstays-go/contrib/hotelstaysotel"

// Options are the settings of New.
type Options struct {
	// TracerProvider creates the spans. Default: the global provider.
	TracerProvider trace.TracerProvider
	// MeterProvider records the metrics. Default: the global provider.
	MeterProvider metric.MeterProvider
	// ClientSpans gives the spans of calls the kind client instead of internal. Set ClientSpans if you use a service map
	// and the client's transport makes no client spans. Spans of helpers are always internal.
	ClientSpans bool
}

// New returns an observer for hotelstays.WithObserver. nil opts mean the defaults. One observer serves any number of
// clients, and is safe for concurrent use. The error names every instrument that the meter provider refuses, with the
// reason.
func New(opts *Options) (hotelstays.Observer, error) {
	var none hotelstays.Observer
	if opts == nil {
		opts = new(Options)
	}
	tracers, callKind := opts.TracerProvider, trace.SpanKindInternal
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	if opts.ClientSpans {
		callKind = trace.SpanKindClient
	}
	metrics, err := newInstruments(opts.meters().Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	if err != nil {
		return none, err
	}
	o := &observer{tracers.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)), callKind, metrics}
	return hotelstays.Observer{CallStart: o.callStart, CallEnd: o.callEnd, HelperStart: o.helperStart, HelperEnd: o.helperEnd}, nil
}

func (o *Options) meters() metric.MeterProvider {
	if o == nil || o.MeterProvider == nil {
		return otel.GetMeterProvider()
	}
	return o.MeterProvider
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

// helperStart starts the span of a helper, such as BookAndRecover. The spans of the helper's calls are its children.
// Helpers have no metrics.
func (o *observer) helperStart(ctx context.Context, start hotelstays.CallStart) context.Context {
	return o.start(ctx, trace.SpanKindInternal, keyHelper, start)
}

func (o *observer) helperEnd(ctx context.Context, info hotelstays.CallInfo) {
	o.end(ctx, errorType(info.Err, nil), nil)
}

// start starts a span, and stores it in ctx under the key o. The function end cannot use the current span of ctx,
// because that span may belong to another observer.
func (o *observer) start(ctx context.Context, kind trace.SpanKind, name attribute.Key, start hotelstays.CallStart) context.Context {
	attrs := append(serverAttributes(start.BaseURL), name.String(string(start.Operation)))
	ctx, span := o.tracer.Start(ctx, "hotelstays."+string(start.Operation), trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
	return context.WithValue(ctx, o, span)
}

// end ends the span that the function start stored in ctx. The parameter kind is the result of errorType. The parameter
// call is nil for a helper.
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
			span.SetStatus(codes.Error, "") // the description is empty, because the text of an error could quote the request
		}
	}
	span.End()
}
