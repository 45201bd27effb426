// The steps of the service, of persons and of webhooks, and the answers of the service to a worker.

package bookingsmodel

import (
	"context"
	"errors"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// read yields the steps in which worker w reads the orders under the reference: one step for each possible reply. In
// each step, a function (then) gives the reply to the call of the worker.
func (v *visit) read(w int, do string, then func(s *state, r reply)) {
	r := reply{view: v.from.view()}
	if r.view == (view{}) {
		do += ": there is no order"
	}
	v.to(w, Request, do, func(s *state) { then(s, r) })
	if r.view != (view{}) && v.Follows && v.facts[v.from.rows[booking]].booking.Ending != "" {
		v.fault(w, Request, do+", and the answer lacks the order", func(s *state) { then(s, reply{}) })
	}
	v.fault(w, Request, do+ButFails, func(s *state) { then(s, reply{code: fails}) })
	if v.Many {
		v.fault(w, Request, do+", which is refused because of a reference in it", func(s *state) { then(s, reply{code: spoils}) })
	}
}

// book yields the possible next steps of worker w while it sends Book or waits for the answer.
func (v *visit) book(w int) {
	me, limit := v.from.workers[w], v.limit(v.from.workers[w])
	ends := func(r reply) func(s *state) { return func(s *state) { v.answer(s, w, r) } }
	if me.activity == asking {
		if limit < 0 && !v.Breaks.LateClient {
			v.to(w, Request, "sends nothing, because it is too late", ends(reply{code: unsent}))
			return
		}
		v.to(w, Request, "sends Book", func(s *state) {
			i := 0
			if s.books[0].progress != noRequest {
				i = 1
			}
			s.books[i] = book{progress: inFlight, by: max(limit, 0) + v.within(), round: s.round}
			s.workers[w].activity, s.workers[w].slot = awaiting, int8(i)
		})
		return
	}
	var order view
	switch {
	case me.slot == foreign:
		order[foreign] = v.from.foreign
	default:
		order[me.slot] = v.from.books[me.slot].revision
	}
	switch {
	case order != view{}:
		v.to(w, Request, "receives the order", ends(reply{code: made, view: order}))
	case !v.Idempotent || v.from.view() == view{}: // an idempotent service does not refuse while it shows an order
		v.to(w, Request, "is refused", func(s *state) {
			s.books[me.slot] = book{}
			ends(reply{code: refused})(s)
		})
	}
	v.fault(w, Request, "loses the answer", func(s *state) {
		v.loseAnswer(s, me)
		if v.InProcess {
			s.workers[w].activity, s.workers[w].slot, s.workers[w].recovery = recovering, 0, v.lostBook()
			return
		}
		ends(reply{code: lost})(s)
	})
}

// lostBook returns the row number of the recovery that begins if the answer to Book is lost now.
func (v *visit) lostBook() int32 {
	if v.lost == 0 {
		v.atEpoch(func() {
			outcome, _ := v.client.booked(context.Background(), reply{code: lost}, request(v.Foreign), nil)
			v.lost = v.numberOfRecovery(outcome.Recovery)
		})
	}
	return v.lost
}

// recover yields the possible next steps of worker w while BookAndRecover polls because the answer to Book was lost.
func (v *visit) recover(w int) {
	me := v.from.workers[w]
	known := v.move(me.recovery, me.age)
	v.to(w, Request, "stops polling for its Book", func(s *state) { v.answer(s, w, reply{code: gaveUp, recovery: known}) })
	if v.facts[me.recovery].booking.Recovery.NextPoll.After(epoch) {
		return
	}
	v.read(w, "polls for its Book", func(s *state, r reply) {
		var outcome *hotelstays.BookingOutcome
		var err error
		v.atEpoch(func() {
			ctx, cancel := v.client.answer(context.Background(), r)
			defer cancel()
			outcome, err = v.client.Client.StepRecovery(ctx, v.recovery(me.recovery))
		})
		if err == nil && outcome.State == hotelstays.BookingOpen {
			s.workers[w].recovery = v.numberOfRecovery(outcome.Recovery)
			return
		}
		r.recovery, r.code = known, max(r.code, polled)
		v.answer(s, w, r)
	})
}

// cancel yields the possible next steps of worker w while it sends Cancel for the order in slot, or waits for the
// answer.
func (v *visit) cancel(w, slot int) {
	me, limit := v.from.workers[w], v.limit(v.from.workers[w])
	ends := func(c code) func(s *state) { return func(s *state) { v.answer(s, w, reply{code: c}) } }
	switch {
	case me.activity == asking && limit < 0 && !v.Breaks.LateClient:
		v.to(w, Request, "sends nothing, because it is too late", ends(unsent))
		return
	case me.activity == asking:
		v.to(w, Request, "sends Cancel", func(s *state) {
			s.cancelsSent++
			if !v.requested(s, slot) {
				s.broken = WrongCancel
			}
			s.cancelProgress, s.cancelSlot, s.cancelBy = inFlight, int8(slot), max(limit, 0)+v.within()
			s.workers[w].activity = awaiting
		})
		v.fault(w, Request, "cannot send Cancel", ends(unsent))
		return
	case v.from.cancelProgress == inFlight:
		v.to(w, Request, "is refused", func(s *state) { s.cancelProgress = noRequest; ends(refused)(s) })
		v.fault(w, Request, "receives the answer that Cancel is accepted", func(s *state) {
			v.loseAnswer(s, me)
			s.cancelProgress = exists // the Cancel can no longer be refused
			ends(accepted)(s)
		})
	case v.from.cancelProgress == visible:
		v.to(w, Request, "receives the answer", ends(made))
	}
	v.fault(w, Request, "loses the answer", func(s *state) {
		v.loseAnswer(s, me)
		ends(lost)(s)
	})
}

// requested reports whether the stored cancellation is for the order in slot. A cancellation without a round names
// its order. A cancellation with a round is for the order that Book made in that round.
func (v *visit) requested(s *state, slot int) bool {
	c := v.facts[s.rows[cancel]].cancel
	if c.Round == 0 {
		return c.PlatformReferenceNo == orderOf(slot, 1).PlatformReferenceNo
	}
	return slot != foreign && c.Round == int(s.round) && int(s.books[slot].round) <= c.Round
}

// serve yields the possible steps of the service for Book number i (0 or 1) and its order.
func (v *visit) serve(i int) {
	s, b := v.from, v.from.books[i]
	ending := v.facts[s.rows[booking]].booking.Ending
	ended := ending == durable.EndingFound || ending == durable.EndingReused
	what := [...]string{"the first Book", "the second Book"}[i]
	switch {
	case ended && !s.awaited(i) && !v.hasOpenRow(s):
	case b.progress == inFlight && v.Idempotent && (s.orders() > 0 || s.foreign > 0):
		v.to(-1, "", what+" arrives, and makes no second order", func(s *state) {
			for j, w := range s.workers {
				if w.activity == awaiting && int(w.slot) == i {
					if s.workers[j].slot = foreign; s.foreign == 0 {
						s.workers[j].slot = int8(1 - i)
					}
				}
			}
			s.books[i] = book{}
		})
	case b.progress == inFlight:
		v.to(-1, "", what+" makes an order", func(s *state) { s.books[i].progress, s.books[i].revision = exists, 1 })
		if !s.awaited(i) {
			v.to(-1, "", what+" never arrives", func(s *state) { s.books[i] = book{} })
		}
	case b.progress == exists:
		v.to(-1, "", "the order of "+what+" shows", func(s *state) { s.books[i].progress = visible; v.until(&s.books[i]) })
	case b.progress == visible && v.changes(b):
		v.to(-1, "", "the order of "+what+" changes", func(s *state) {
			if b := &s.books[i]; int(b.revision/2) < v.Changes {
				b.revision += 2
			} else {
				b.revision++ // the new revision is the cancelled order
			}
			v.until(&s.books[i])
		})
	}
}

// until sets b.by to the latest time of the next change of the order, or to 0 if the order will not change again.
func (v *visit) until(b *book) {
	if b.by = 0; v.changes(*b) {
		b.by = v.within()
	}
}

// changes reports whether an order that QueryOrders shows will change.
func (v *visit) changes(b book) bool { return v.Follows && !b.revision.cancelled() }

// outside yields the possible steps of a person, of a webhook and of another client, and the effect of a Cancel in
// flight.
func (v *visit) outside() {
	s := v.from
	if s.cancelProgress == inFlight || s.cancelProgress == exists {
		v.to(-1, "", "the order is cancelled", func(s *state) {
			if s.cancelSlot == foreign {
				s.foreign++
			} else if b := &s.books[s.cancelSlot]; b.revision > 0 && !b.revision.cancelled() {
				b.revision++
			}
			s.cancelProgress, s.cancelBy = visible, 0
		})
		if awaited := s.workers[0].activity == awaiting || s.workers[1].activity == awaiting; s.cancelProgress == inFlight && !awaited {
			v.to(-1, "", "Cancel never arrives", func(s *state) { s.cancelProgress, s.cancelBy = noRequest, 0 })
		}
	}
	if v.Foreign && s.foreign == 0 && (v.Follows && s.ending == durable.EndingFound || !v.Follows && s.orders() == 0) {
		v.to(-1, "", "somebody else makes an order under the reference", func(s *state) { s.foreign = 1 })
	}
	for w := range s.workers {
		if s.wakes > 0 && (w == 0 || s.skew != 0) { // with equal clocks, both workers would yield the same step
			v.act(wakes, w, "a webhook wakes the rows", func(s *state) { s.wakes-- })
		}
	}
	if s.acts > 0 {
		act := func(s *state) { s.acts-- }
		v.act(abandons, -1, "a person abandons the booking", act)
		v.act(retries, -1, "a person retries the booking", act)
		if v.Follows {
			v.act(unfollow, -1, "a person ends the reads of the order", func(s *state) { s.acts--; s.unfollowed = true })
		}
	}
	if int(s.round) < v.Rounds {
		v.act(begins, -1, "the booking begins again", func(s *state) {
			s.round++
			s.called, s.delivered, s.ending = false, 0, ""
		})
	}
	if s.cancels > 0 {
		again := func(s *state) {
			s.cancels--
			s.cancelsSent, s.cancelDeliveries, s.cancelDone, s.cancelProgress = 0, 0, false, noRequest
		}
		v.act(cancels, -1, "a person cancels", again)
		if v.Foreign && s.foreign > 0 {
			v.act(names, -1, "a person cancels the order of somebody else, and names it", again)
		}
	}
}

// act yields one step in which a person or a webhook makes call c with all its operations. It yields no step if the
// call changes no row. The parameter worker is -1 for a person. For a webhook it is the worker whose clock the call
// uses.
func (v *visit) act(c call, worker int, do string, then func(s *state)) {
	s := v.from
	err := v.runToEnd(&s, c, max(worker, 0))
	switch {
	case err != nil && c == cancels && errors.Is(err, durable.ErrNothingToCancel) && s.orders() > 0:
		v.to(-1, "", do+", which is refused", func(s *state) { s.broken = FalseEnding })
	case s.rows != v.from.rows:
		v.to(worker, "", do, func(to *state) {
			*to = s
			then(to)
		})
	}
}
