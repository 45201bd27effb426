// The Cancel operation.

package hotelstaystest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// CancelRule decides whether Cancel is allowed.
type CancelRule int

// The cancellation rules.
const (
	CancelAllowed             CancelRule = iota // before check-in and cut-off
	CancelNeedsReason                           // like CancelAllowed, with a reason only
	CancelCutoffPassed                          // refused as too late, whatever the date
	CancelForbiddenByContract                   // refused, whatever the date
)

func (r CancelRule) validate() error {
	if r < CancelAllowed || r > CancelForbiddenByContract {
		return fmt.Errorf("unknown CancelRule %d", r)
	}
	return nil
}

func runCancel(s *Server, c *call, req *cancelRequest) (any, error) {
	if req.CustomerReferenceNo == "" || req.SupplierReferenceNo == "" {
		return nil, badRequest("customerReferenceNo and supplierReferenceNo are required")
	}
	now := s.lock()
	defer s.unlock()
	o := s.orders.byReference(c.account, req.CustomerReferenceNo)
	if o == nil || o.supplierRef != req.SupplierReferenceNo {
		return nil, notFound()
	}
	if why := s.refusedCancel(o, req, now); why != "" {
		return nil, &failure{status: http.StatusBadRequest, code: CodeCancelRefused, msg: why}
	}
	o.fee = o.offer.feeAt(o.price, now)
	o.cancelled, o.cancelReason = now, req.Reason
	s.orders.setStatus(o, s.cfg.statusNumbers.Cancelled, now)
	s.webhooks.happened(o, OnCancel, now)
	fee := o.price.currency.money(o.fee)
	if c.hasCurrency && c.currency.code != "" {
		in := s.world.price(o.offer, c.currency, o.cents)
		fee = c.currency.money(o.offer.feeAt(in, now))
	}
	s.ledger.cancelled(Cancellation{
		CustomerReferenceNo: o.customerRef, PlatformReferenceNo: o.platformRef, Reason: req.Reason, At: now, ServiceFee: moneyString(fee),
	})
	return cancelResponse{ServiceFee: fee, Status: o.status()}, nil
}

// refusedCancel returns why an order cannot be cancelled, or "".
func (s *Server) refusedCancel(o *order, req *cancelRequest, now time.Time) string {
	cancellable := []int{statusUnknown, statusConfirming, s.cfg.statusNumbers.Confirmed, s.cfg.statusNumbers.Pending}
	switch status := o.status(); {
	case o.isCancelled():
		return "the order is already cancelled"
	case !slices.Contains(cancellable, status):
		return fmt.Sprintf("an order in status %d cannot be cancelled", status)
	case o.rule == CancelForbiddenByContract:
		return "the contract takes no cancellations through the API"
	case !now.Before(o.offer.checkIn):
		return "check-in has passed"
	case o.rule == CancelCutoffPassed || !now.Before(o.offer.checkIn.Add(-s.cfg.cancelCutoff)):
		return "the cancellation cut-off has passed"
	case o.rule == CancelNeedsReason && req.Reason == "":
		return "a reason is required to cancel this order"
	}
	return ""
}

// SetCancelRule changes the cancellation rule of one order.
func (s *Server) SetCancelRule(reference string, rule CancelRule) {
	if err := rule.validate(); err != nil {
		panic("hotelstaystest: SetCancelRule: " + err.Error())
	}
	s.withOrder("SetCancelRule", reference, func(o *order, _ time.Time) { o.rule = rule })
}
