// The instruments of the metrics.

package hotelstaysotel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// The bucket boundaries of the histograms. The last boundaries are so high because a Book may take two minutes, and an
// answer may have 64 MiB.
var (
	callSeconds   = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	waitSeconds   = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	decodeSeconds = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}
	answerBytes   = []float64{256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}
)

type instruments struct {
	callDuration    metric.Float64Histogram
	rateLimitWait   metric.Float64Histogram
	decodeDuration  metric.Float64Histogram
	firstHotel      metric.Float64Histogram
	responseSize    metric.Int64Histogram
	attempts        metric.Int64Counter
	tokenFetches    metric.Int64Counter
	unknownOutcomes metric.Int64Counter
}

func newInstruments(m metric.Meter) (*instruments, error) {
	var problems []error
	seconds := func(name, description string, bounds []float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(bounds...))
		problems = append(problems, err)
		return h
	}
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		problems = append(problems, err)
		return c
	}
	size, err := m.Int64Histogram("hotelstays.client.response.size", metric.WithUnit("By"),
		metric.WithDescription("Size of the last answer's body after decompression."), metric.WithExplicitBucketBoundaries(answerBytes...))
	problems = append(problems, err)
	i := &instruments{
		callDuration:    seconds("hotelstays.client.call.duration", "Duration of calls, including waits, attempts and decoding.", callSeconds),
		rateLimitWait:   seconds("hotelstays.client.rate_limit.wait.duration", "Time that calls waited for the rate limit.", waitSeconds),
		decodeDuration:  seconds("hotelstays.client.decode.duration", "Time to decode the last answer.", decodeSeconds),
		firstHotel:      seconds("hotelstays.client.first_hotel.duration", "Time until HotelListStream yielded its first hotel.", callSeconds),
		responseSize:    size,
		attempts:        counter("hotelstays.client.attempts", "{attempt}", "Attempts: one HTTP request each."),
		tokenFetches:    counter("hotelstays.client.token.fetches", "{fetch}", "Calls to fetch a token, successful or not."),
		unknownOutcomes: counter("hotelstays.client.unknown_outcomes", "{outcome}", "Calls of Book and Cancel with an unknown outcome."),
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("hotelstaysotel: the meter provider refused an instrument: %w", err)
	}
	return i, nil
}

// record records the metrics of a call that has ended. The parameter kind is the result of errorType.
func (i *instruments) record(ctx context.Context, info *hotelstays.CallInfo, kind string) {
	target := append(serverAttributes(info.BaseURL), keyOperation.String(string(info.Operation)))
	with := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(slices.Concat(target, more)...)) // a copy, because NewSet sorts its argument
	}
	all := with()
	byKind := all
	if kind != "" {
		byKind = with(semconv.ErrorTypeKey.String(kind))
	}
	i.callDuration.Record(ctx, info.Duration.Seconds(), byKind)
	i.rateLimitWait.Record(ctx, info.RateLimitWait.Seconds(),
		with(keyAccount.String(info.Account), keyPriority.String(info.Priority.String())))
	if info.HTTPStatus != 0 {
		i.decodeDuration.Record(ctx, info.DecodeTime.Seconds(), all)
		i.responseSize.Record(ctx, int64(info.Bytes), all)
	}
	if info.FirstHotel > 0 {
		i.firstHotel.Record(ctx, info.FirstHotel.Seconds(), all)
	}
	for n := range info.Attempts {
		i.attempts.Add(ctx, 1, with(attemptOutcome(&info.Attempts[n])))
	}
	if info.Operation == hotelstays.OpTicket || info.Operation == hotelstays.OpOAuthToken {
		i.tokenFetches.Add(ctx, 1, byKind)
	}
	if kind == string(hotelstays.KindOutcomeUnknown) {
		i.unknownOutcomes.Add(ctx, 1, all)
	}
}

// attemptOutcome returns the attribute error.type of an attempt, or its HTTP status if it has no error.
func attemptOutcome(a *hotelstays.AttemptInfo) attribute.KeyValue {
	if kind := attemptErrorType(a); kind != "" {
		return semconv.ErrorTypeKey.String(kind)
	}
	return semconv.HTTPResponseStatusCode(a.HTTPStatus)
}
