// The reads of Run that serve several rows in one request.

package durable

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// postponeQuiet stores when followed orders that have not changed are read next, and returns the others.
func (r *run[Tx]) postponeQuiet(ctx context.Context, rows []Row, at time.Time, readings map[string]reading) (others []Row) {
	if ctx.Err() != nil {
		return rows // the caller ends their leases
	}
	due := map[string]time.Time{}
	var quiet []Row
	for _, row := range rows {
		if next, is := r.quiet(&row, at, readings[row.Reference]); is {
			due[row.Reference], quiet = next, append(quiet, row)
		} else {
			others = append(others, row)
		}
	}
	r.postpone(ctx, quiet, func(row Row) time.Time { return due[row.Reference] })
	return others
}

// pollTogether polls for several bookings at once. It stores the next poll of the bookings that were not
// found, and returns the others: only a poll for a single booking shows whether the order is the
// expected one.
func (r *run[Tx]) pollTogether(ctx context.Context, rows []Row, at time.Time) (alone []Row) {
	readings := r.readTogether(ctx, rows)
	if ctx.Err() != nil {
		return rows // the caller ends their leases
	}
	var missed []Row
	for _, row := range rows {
		if of := readings[row.Reference]; len(of.orders) > 0 || isOfContent(of.err) {
			alone = append(alone, row)
		} else {
			missed = append(missed, row)
		}
	}
	r.postpone(ctx, missed, func(row Row) time.Time {
		b, _ := read[booking](&row)
		return b.missed(at).Due
	})
	return alone
}

// reading is the result of a request for one reference.
type reading struct {
	orders []types.Order
	err    error
}

// readTogether reads the orders of rows by reference. If a request is refused, readTogether divides
// it, because one reference may spoil the answer.
func (r *run[Tx]) readTogether(ctx context.Context, rows []Row) map[string]reading {
	var references []string
	for _, row := range rows {
		references = append(references, row.Reference)
	}
	found, err := r.ordersOf(ctx, references, r.readOptions(&rows[0]))
	if half := len(rows) / 2; half > 0 && isOfContent(err) {
		readings := r.readTogether(ctx, rows[:half])
		maps.Copy(readings, r.readTogether(ctx, rows[half:]))
		return readings
	}
	if err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "orders cannot be read", slog.String("kind", string(rows[0].Kind)),
			slog.Int("orders", len(rows)), slog.String("error", err.Error()))
	}
	readings := map[string]reading{}
	for _, reference := range references {
		readings[reference] = reading{found[reference], err}
	}
	return readings
}

func (r *run[Tx]) readOptions(row *Row) []hotelstays.CallOption {
	if row.Kind == KindOrder {
		f, _ := read[followed](row)
		return f.options()
	}
	b, _ := read[booking](row)
	return append(b.options(), hotelstays.WithPriority(hotelstays.PriorityInteractive)) // as in a recovery
}

// isOfContent reports whether an error is caused by what a request asks for: a refusal, or an
// unreadable order. A request for fewer orders may then succeed.
func isOfContent(err error) bool {
	if _, ok := errors.AsType[*hotelstays.DecodeError](err); ok {
		return true
	}
	answer, ok := errors.AsType[*hotelstays.APIError](err)
	if !ok || answer.HTTPStatus/100 != 4 {
		return errors.Is(err, hotelstays.ErrParam)
	}
	switch answer.HTTPStatus {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return true
}
