// The reads of Run that serve several rows in one request.

package durable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// workOrders reads the orders of each user in one request. Some requests may begin too late to end within the lease.
// workOrders releases their rows, so that a worker claims them again.
func (r *run[Tx]) workOrders(ctx context.Context, rows []Row) {
	readBy := rows[0].Due.Add(readTimeout - lease)
	requests, groups := map[shared]int{}, [][]Row{}
	for _, row := range rows {
		with, _ := sharing(&row, readBy)
		i, found := requests[with]
		if !found {
			i, groups = len(groups), append(groups, nil)
			requests[with] = i
		}
		groups[i] = append(groups[i], row)
	}
	for _, group := range groups {
		at := time.Now()
		if at.After(readBy) {
			r.postpone(ctx, group, func(Row) time.Time { return at })
			continue
		}
		readings, sights := r.readTogether(ctx, group), map[string]sight{}
		var quiet, others []Row
		for _, row := range group {
			s := r.compared(ctx, &row, at, readings[row.Reference])
			if sights[row.Reference] = s; s.quiet() {
				quiet = append(quiet, row)
			} else {
				others = append(others, row)
			}
		}
		r.postpone(ctx, quiet, func(row Row) time.Time { return sights[row.Reference].next.Due })
		r.each(ctx, KindOrder, others, func(ctx context.Context, row *Row) (time.Time, error) {
			return r.storeSight(ctx, row, sights[row.Reference])
		})
	}
}

// pollTogether polls for several bookings in one request. If a booking was not found, pollTogether stores when its next
// poll is due. It returns all other bookings: only a poll for a single booking shows whether the order is the expected
// one.
func (r *run[Tx]) pollTogether(ctx context.Context, rows []Row, at time.Time) (alone []Row) {
	readings := r.readTogether(ctx, rows)
	if ctx.Err() != nil {
		return rows // the caller ends the leases of these rows
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

// reading holds what a request has returned for one reference.
type reading struct {
	orders []types.Order
	err    error
}

// readTogether reads the orders of several rows in one request. If the request is refused, readTogether sends each half
// of the references separately, because the service may refuse only one reference. If an answer lacks some followed
// orders but has others, readTogether asks again for the missing orders. The answer may be an incomplete page, although
// it does not say so.
func (e *Engine[Tx]) readTogether(ctx context.Context, rows []Row) map[string]reading {
	var references []string
	for _, row := range rows {
		references = append(references, row.Reference)
	}
	found, err := e.ordersOf(ctx, references, readOptions(&rows[0]))
	if half := len(rows) / 2; half > 0 && isOfContent(err) {
		readings := e.readTogether(ctx, rows[:half])
		maps.Copy(readings, e.readTogether(ctx, rows[half:]))
		return readings
	}
	if err != nil && ctx.Err() == nil {
		e.log.WarnContext(ctx, "orders cannot be read", slog.String("kind", string(rows[0].Kind)), slog.Int("orders", len(rows)),
			slog.String("reference", references[0]), slog.String("error", err.Error()))
	}
	readings := map[string]reading{}
	var missing []Row
	for _, row := range rows {
		if readings[row.Reference] = (reading{found[row.Reference], err}); row.Kind == KindOrder && found[row.Reference] == nil {
			missing = append(missing, row)
		}
	}
	if 0 < len(missing) && len(missing) < len(rows) {
		maps.Copy(readings, e.readTogether(ctx, missing))
	}
	return readings
}

// readOptions returns the options of a request that reads the given row, and perhaps other rows with the same options.
// Reads of followed orders get a low priority, because nobody waits for them.
func readOptions(row *Row) []hotelstays.CallOption {
	with, _ := sharing(row, time.Time{})
	options := storedOptions{Market: with.market, UserRef: with.userRef, Priority: hotelstays.PriorityInteractive}
	if row.Kind == KindOrder {
		options.Priority = hotelstays.PriorityBackground
	}
	return options.append(nil)
}

func (e *Engine[Tx]) ordersOf(ctx context.Context, references []string, opts []hotelstays.CallOption) (map[string][]types.Order, error) {
	resp, err := e.client.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: references},
		append(opts, hotelstays.WithTimeout(readTimeout))...)
	if err != nil {
		return nil, err
	}
	if !resp.Complete() {
		return nil, errors.New("QueryOrders returned an empty list but announced further orders, so the order may exist")
	}
	under := map[string][]types.Order{}
	for _, o := range resp.Orders {
		if !slices.Contains(references, o.CustomerReferenceNo) {
			return nil, fmt.Errorf("QueryOrders returned an order under reference %q, which was not requested", o.CustomerReferenceNo)
		}
		under[o.CustomerReferenceNo] = append(under[o.CustomerReferenceNo], o)
	}
	return under, nil
}

// isOfContent reports whether an error is caused by the references in a request: a refusal, or an unreadable order. A
// request for fewer orders may then succeed.
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
