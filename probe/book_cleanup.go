// Cleanup: cancelling what is in the journal.

package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// Cleanup cancels the bookings that a run has left in the journal of cfg.Booking, and returns what is
// known of all in it. Of cfg.Booking it needs the journal alone. It may be repeated, and goes on where
// one that was killed has stopped.
//
// If a Book was sent and nobody has its answer, its order is looked for as Client.RecoverBooking does:
// that there is none takes more than ten minutes to prove. The error names the bookings that may still
// be open, and says why.
func Cleanup(ctx context.Context, cfg Config) ([]JournalEntry, error) {
	if cfg.Booking == nil || cfg.Booking.Journal == "" {
		return nil, fmt.Errorf("%w: there is no journal to clean up", ErrConfig)
	}
	j, err := openJournal(cfg.Booking.Journal)
	if err != nil {
		return nil, err
	}
	defer j.close()
	s, _, err := start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	err = s.cleanup(ctx, j)
	var entries []JournalEntry
	for _, e := range j.entries {
		entries = append(entries, *e)
	}
	return entries, err
}

// cleanup ends all that is unfinished.
func (s *session) cleanup(ctx context.Context, j *journal) error {
	s.try(ctx, orderRules[0]) // the form of an empty list decides what proves that there is no order
	failed := []error{s.lookAgain(ctx, j)}
	for _, e := range j.unfinished() {
		err := s.end(ctx, j, e)
		if e.Reason = ""; err != nil {
			e.Reason = s.masker.short(err.Error())
			err = fmt.Errorf("booking %s: %w", e.reference(), err)
		}
		failed = append(failed, err, j.write(e))
	}
	return errors.Join(failed...)
}

// orders asks for the orders of references.
func (s *session) orders(ctx context.Context, references ...string) ([]types.Order, error) {
	resp, err := s.client.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: references},
		hotelstays.WithServiceFacts(s.facts))
	if err != nil {
		return nil, err
	}
	return resp.Orders, nil
}

// seek adds the orders that the service has under the reference of an entry.
func (s *session) seek(ctx context.Context, e *JournalEntry) error {
	orders, err := s.orders(ctx, e.reference())
	for i := range orders {
		if orders[i].CustomerReferenceNo == e.reference() {
			e.has(&orders[i])
		}
	}
	return err
}

// lookAgain reopens recent entries that have ended, if the service has an order of which they do not
// know: one that turned up late.
func (s *session) lookAgain(ctx context.Context, j *journal) error {
	ended := map[string]*JournalEntry{}
	var references []string
	for _, e := range j.entries {
		if !e.open() && time.Since(e.Made) < freeFor {
			ended[e.reference()] = e
			references = append(references, e.reference())
		}
	}
	for some := range slices.Chunk(references, 50) {
		orders, err := s.orders(ctx, some...)
		if err != nil {
			return fmt.Errorf("looking for orders that turned up late: %w", err)
		}
		for i := range orders {
			if e := ended[orders[i].CustomerReferenceNo]; e != nil && e.index(&orders[i]) < 0 {
				e.has(&orders[i])
			}
		}
	}
	return nil
}

// end finds the orders of an entry, and cancels each.
func (s *session) end(ctx context.Context, j *journal, e *JournalEntry) error {
	if own := s.client.NewBookingRecovery(nil).Fingerprint; e.Recovery.Fingerprint != own {
		return fmt.Errorf("%w: it is of another environment or account", ErrConfig)
	}
	if e.State == EntrySent {
		outcome, err := s.client.RecoverBooking(ctx, e.Recovery, hotelstays.WithServiceFacts(s.facts), hotelstays.WithSaveRecovery(
			func(context.Context, *hotelstays.BookingRecovery) error { return j.write(e) }))
		switch {
		case err != nil:
			return err
		case outcome.State == hotelstays.BookingUnverified:
			return fmt.Errorf("whether there is an order cannot be found out: %w", outcome.Err)
		case outcome.State == hotelstays.BookingAbsent && len(e.Orders) == 0:
			e.State = EntryAbsent
			return nil
		}
	}
	if err := s.seek(ctx, e); err != nil {
		return err
	}
	if len(e.Orders) == 0 {
		return errors.New("its order was there, and is no more")
	}
	for _, ref := range e.Orders {
		if err := s.cancel(ctx, e, ref); err != nil {
			return fmt.Errorf("order %s: %w", ref.PlatformReferenceNo, err)
		}
	}
	e.State = EntryCancelled
	return nil
}

// settling is how long an order may take to show that it is cancelled.
const settling = 2 * time.Minute

// cancel cancels an order, and returns nil when that is proven.
func (s *session) cancel(ctx context.Context, e *JournalEntry, ref OrderRef) error {
	was, proven := s.isCancelled(ctx, e, ref, nil, nil)
	if proven {
		return nil
	}
	resp, err := s.client.Cancel(ctx, &hotelstays.CancelRequest{SessionID: e.Recovery.SessionID, CustomerReferenceNo: e.reference(),
		SupplierReferenceNo: ref.SupplierReferenceNo, Reason: cancelReason})
	for began := time.Now(); time.Since(began) < settling; {
		if _, proven := s.isCancelled(ctx, e, ref, was, resp); proven {
			return nil
		}
		if ended := wait(ctx, 5*time.Second); ended != nil {
			return errors.Join(err, ended)
		}
	}
	return fmt.Errorf("nothing shows that it is cancelled (Cancel: %w): ask the supplier, then delete the journal",
		cmp.Or(err, errors.New("a success")))
}

const cancelReason = "a test of the interface"

// isCancelled returns the status of an order, and whether it is proven to be cancelled: by a status whose
// meaning is known, by its voucher, or by its having changed to the status that a successful Cancel announced.
func (s *session) isCancelled(ctx context.Context, e *JournalEntry, ref OrderRef, was *types.OrderStatus,
	done *hotelstays.CancelResponse) (status *types.OrderStatus, proven bool) {
	orders, err := s.orders(ctx, e.reference())
	if err != nil {
		return nil, false
	}
	for i := range orders {
		if orders[i].PlatformReferenceNo == ref.PlatformReferenceNo {
			status = &orders[i].Status
		}
	}
	if status != nil && s.facts.OrderStates.StateOf(*status) == hotelstays.OrderStateCancelled {
		return status, true
	}
	voucher, err := s.client.OrderVoucher(ctx, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: ref.PlatformReferenceNo})
	if err == nil && voucher.Status != types.VoucherNotGenerated && voucher.Status != types.VoucherFailed {
		return status, voucher.Status == types.VoucherCancelled
	}
	return status, was != nil && status != nil && *status != *was && *status > types.OrderConfirming &&
		done != nil && done.Status != nil && *done.Status == *status
}
