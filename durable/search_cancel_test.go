package durable_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	model "github.com/hotelstays/hotelstays-go/hotelstaystest/bookingsmodel"
	"github.com/hotelstays/hotelstays-go/types"
)

var (
	cancelOneClock = model.World{Faults: 2, Wakes: 1, BookTimeout: 2 * time.Minute, ShowsWithin: 10 * time.Minute}
	cancelClocks   = model.World{Faults: 1, Wakes: 1, Skew: durable.ClockMargin, BookTimeout: 2 * time.Minute, ShowsWithin: 10 * time.Minute}
)

func searchCancel(t *testing.T, w model.World, change func(*model.CancelRules)) (r model.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rules := model.RealCancel()
		if change != nil {
			change(rules)
		}
		r = w.SearchCancel(rules, limit)
		printed(t, r)
	})
	return r
}

func TestEveryOrderOfEventsEndsACancellationOnce(t *testing.T) {
	for name, w := range map[string]model.World{"one clock": cancelOneClock, "two clocks": cancelClocks} {
		t.Run(name, func(t *testing.T) {
			assertHolds(t, searchCancel(t, sized(w), nil))
		})
	}
}

func TestSearchFindsEachPlantedFaultOfACancellation(t *testing.T) {
	type rules = model.CancelRules
	for name, planted := range map[string]struct {
		violates string
		breaks   model.Breaks
		change   func(r *rules)
	}{
		"a fence is not checked": {model.TwoCancels, model.Breaks{NoFence: true}, nil},
		"a lost answer sends again": {model.TwoCancels, model.Breaks{}, func(r *rules) {
			r.Answered = func(c durable.Cancellation, at time.Time, resp *hotelstays.CancelResponse, err error,
				states hotelstays.OrderStates) durable.Cancellation {
				if hotelstays.KindOf(err) == hotelstays.KindOutcomeUnknown {
					err = errors.New("not sent")
				}
				return c.Answered(at, resp, err, states)
			}
		}},
		"Cancel leaves after its time": {model.FalseEnding, model.Breaks{SendLate: true}, nil},
		"an order stands one poll early": {model.FalseEnding, model.Breaks{}, func(r *rules) {
			r.Read = func(c durable.Cancellation, at time.Time, order *types.Order, states hotelstays.OrderStates) durable.Cancellation {
				return c.Read(at.Add(3*time.Minute), order, states)
			}
		}},
		"a fence is not checked before OnCancel": {model.Twice, model.Breaks{NoFence: true}, nil},
		"OnCancel has a transaction of its own":  {model.Twice, model.Breaks{DeliverApart: true}, nil},
		"a lost answer is never due": {model.NeverEnds, model.Breaks{}, func(r *rules) {
			r.Answered = func(c durable.Cancellation, at time.Time, resp *hotelstays.CancelResponse, err error,
				states hotelstays.OrderStates) durable.Cancellation {
				c = c.Answered(at, resp, err, states)
				c.Due = c.Due.Add(8 * time.Hour)
				return c
			}
		}},
		"the mark is never due": {model.NeverEnds, model.Breaks{}, func(r *rules) {
			r.Start = func(c durable.Cancellation, at, sendBy time.Time, order *types.Order,
				states hotelstays.OrderStates) (durable.Cancellation, error) {
				c, err := c.Start(at, sendBy, order, states)
				if !c.SendBy.IsZero() {
					c.Due = at.Add(8 * time.Hour)
				}
				return c, err
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := cancelOneClock
			w.Wakes, w.Breaks, w.Only = 0, planted.breaks, planted.violates
			assert.Equal(t, planted.violates, searchCancel(t, w, planted.change).Violated)
		})
	}
}
