// The Cancel operation.

package hotelstaystest

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// CancelRule decides whether Cancel is allowed.
type CancelRule string

// The cancellation rules.
const (
	CancelAllowed             CancelRule = "allowed"               // Cancel is accepted before cut-off and check-in
	CancelNeedsReason         CancelRule = "needs-reason"          // like CancelAllowed, but Cancel needs a reason
	CancelCutoffPassed        CancelRule = "cutoff-passed"         // Cancel is refused as too late, on any date
	CancelForbiddenByContract CancelRule = "forbidden-by-contract" // Cancel is refused because of the contract, on any date
)

func (r CancelRule) validate() error {
	rules := []CancelRule{CancelAllowed, CancelNeedsReason, CancelCutoffPassed, CancelForbiddenByContract}
	if !slices.Contains(rules, r) {
		return fmt.Errorf("%q is not a cancellation rule; use one of %q", r, rules)
	}
	return nil
}

type cancelRequest struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	SupplierReferenceNo string `json:"supplierReferenceNo"`
	Reason              string `json:"reason"`
}

type cancelResponse struct {
	ServiceFee money             `json:"serviceFee"`
	Status     types.OrderStatus `json:"status"`
}

func runCancel(s *Server, c *call, req *cancelRequest) (*cancelResponse, error) {
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
		return nil, fail(http.StatusBadRequest, codeCancelRefused, "%s", why)
	}
	o.fee = o.offer.feeAt(o.price, now)
	o.cancelled, o.cancelReason = now, req.Reason
	s.orders.setStatus(o, s.cfg.Variants.OrderStatusNumbers.Cancelled, now)
	s.webhooks.trigger(o, OnCancel, now)
	fee := o.price.currency.money(o.fee)
	if c.hasCurrency && c.currency.code != "" {
		in := s.world.price(o.offer, c.currency, o.cents)
		fee = c.currency.money(o.offer.feeAt(in, now))
	}
	s.ledger.cancelled(LedgerCancellation{
		CustomerReferenceNo: o.customerRef, PlatformReferenceNo: o.platformRef, Reason: req.Reason, At: now, ServiceFee: moneyString(fee),
	})
	return &cancelResponse{ServiceFee: fee, Status: o.status()}, nil
}

// refusedCancel returns why an order cannot be cancelled, or "".
func (s *Server) refusedCancel(o *order, req *cancelRequest, now time.Time) string {
	numbers := s.cfg.Variants.OrderStatusNumbers
	cancellable := []types.OrderStatus{types.OrderUnknown, types.OrderConfirming, numbers.Confirmed, numbers.Pending}
	switch status := o.status(); {
	case o.isCancelled():
		return "the order is already cancelled"
	case !slices.Contains(cancellable, status):
		return fmt.Sprintf("an order in status %d cannot be cancelled", status)
	case o.rule == CancelForbiddenByContract:
		return "the contract does not allow cancellation through the API"
	case !now.Before(o.offer.checkIn):
		return "check-in has passed"
	case o.rule == CancelCutoffPassed || !now.Before(o.offer.checkIn.Add(-length(s.cfg.CancelCutoff))):
		return "the cancellation cut-off has passed"
	case o.rule == CancelNeedsReason && req.Reason == "":
		return "a reason is required to cancel this order"
	}
	return ""
}

// SetCancelRule changes the cancellation rule of one order.
func (s *Server) SetCancelRule(reference string, rule CancelRule) {
	panicOn("SetCancelRule", s.setCancelRule(reference, rule))
}

func (s *Server) setCancelRule(reference string, rule CancelRule) error {
	if err := rule.validate(); err != nil {
		return badField("rule", "rule: %v", err)
	}
	return s.withOrder(reference, func(o *order, _ time.Time) error { o.rule = rule; return nil })
}
