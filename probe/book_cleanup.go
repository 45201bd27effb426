// Cleanup: cancelling the bookings in the journal.

package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// Cleanup cancels the bookings that a run has left in the journal of cfg.Booking, and returns all entries of the journal.
// cfg.Booking needs only the journal. Cleanup may be repeated: it continues where a killed Cleanup has stopped.
//
// If the answer to a Book was lost, Cleanup looks for the order as Client.RecoverBooking does. The proof that no order exists
// takes more than ten minutes. The error names the bookings that may still be open, and says why.
func Cleanup(ctx context.Context, cfg Config) ([]JournalEntry, error) {
	if cfg.Booking == nil || cfg.Booking.Journal == "" {
		return nil, fmt.Errorf("%w: -cleanup needs -journal, the file that names the bookings", ErrConfig)
	}
	j, err := openJournal(cfg.Booking.Journal)
	if err != nil {
		return nil, err
	}
	defer j.close()
	s, err := start(ctx, cfg)
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

// cleanup cancels all unfinished bookings, and then the orders that appeared late.
func (s *session) cleanup(ctx context.Context, j *journal) error {
	own := s.client.Account()
	for _, e := range j.entries {
		if e.Recovery.Fingerprint != own {
			return fmt.Errorf("%w: booking %s in the journal belongs to another environment or account; use one journal for each",
				ErrConfig, e.reference())
		}
	}
	s.try(ctx, emptyOrders) // finds out whether the service writes an empty list as null
	s.renewed = sync.OnceValue(func() (id string) {
		r := &run{session: s, ctx: ctx}
		_ = attempt(func() { id = read[hotelstays.HotelListResponse](r.list(obj{"pageSize": 1})).Basic.SessionID })
		return id
	})
	failed := s.endAll(ctx, j, j.unfinished())
	late, err := s.late(ctx, j)
	// If an order exists although its Book was refused, the refusal codes that this run found prove nothing.
	if len(late) > 0 {
		s.facts.RefusalCodes = nil
		if s.cfg.Facts != nil {
			s.facts.RefusalCodes = s.cfg.Facts.RefusalCodes
		}
	}
	return errors.Join(failed, err, s.endAll(ctx, j, late))
}

// endAll cancels the orders of all entries at the same time, because one cancellation may take minutes.
func (s *session) endAll(ctx context.Context, j *journal, entries []*JournalEntry) error {
	if n := len(entries); n > 0 {
		s.waits(fmt.Sprintf("the cancellation of %d bookings, or the proof that they do not exist", n), visible+confirming)
	}
	failed := make([]error, len(entries))
	var all sync.WaitGroup
	for i, e := range entries {
		all.Go(func() {
			err := s.end(ctx, j, e)
			if e.Reason = ""; err != nil {
				e.Reason = s.masker.short(err.Error())
				err = fmt.Errorf("booking %s: %w", e.reference(), err)
			}
			failed[i] = errors.Join(err, j.write(e))
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func (s *session) orders(ctx context.Context, references ...string) ([]types.Order, error) {
	resp, err := s.client.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: references},
		hotelstays.WithServiceFacts(s.facts))
	if err != nil {
		return nil, err
	}
	return resp.Orders, nil
}

// seek adds to an entry the orders that QueryOrders returns for its reference.
func (s *session) seek(ctx context.Context, e *JournalEntry) error {
	orders, err := s.orders(ctx, e.reference())
	for i := range orders {
		if orders[i].CustomerReferenceNo == e.reference() {
			e.addOrder(&orders[i])
		}
	}
	return err
}

// visible is the maximum time until an order appears in QueryOrders.
const visible = 10 * time.Minute

// keeping is the time after a cancellation in which the service may still roll the cancellation back.
const keeping = 5 * time.Minute

// late returns the ended entries of the last day that need another cancellation. For each of these entries, QueryOrders
// returns an order that the entry does not have, or an order without the status that Cancel announced.
//
// Before late calls QueryOrders, it waits until each Book without an order is ten minutes old. In a run of all rules, late
// also waits until each cancellation is five minutes old.
func (s *session) late(ctx context.Context, j *journal) (late []*JournalEntry, err error) {
	ended := map[string]*JournalEntry{}
	var references []string
	pause := time.Duration(0)
	for _, e := range j.entries {
		if e.open() || time.Since(e.Made) > freeFor {
			continue
		}
		ended[e.reference()] = e
		references = append(references, e.reference())
		if len(s.cfg.Only) == 0 {
			pause = max(pause, time.Until(e.Time.Add(keeping)))
		}
		if e.State == EntryAbsent {
			pause = max(pause, time.Until(e.Recovery.EndedAt.Add(visible)))
		}
	}
	if pause = min(pause, visible); pause > 0 {
		s.waits("orders that appear late or are no longer cancelled", pause)
	}
	err = wait(ctx, pause)
	for some := range slices.Chunk(references, 50) {
		var orders []types.Order
		if err == nil {
			orders, err = s.orders(ctx, some...)
		}
		if err != nil {
			return late, fmt.Errorf("looking for orders that appeared late: %w", err)
		}
		for i := range orders {
			o := &orders[i]
			if e := ended[o.CustomerReferenceNo]; e != nil && !e.explains(o) {
				e.addOrder(o)
				late = append(late, e)
				delete(ended, o.CustomerReferenceNo) // one entry is enough, because end looks for all orders of the reference
			} else if o.CustomerReferenceNo == "" && !slices.ContainsFunc(j.entries, func(e *JournalEntry) bool { return e.index(o) >= 0 }) {
				err = fmt.Errorf("order %s has no customerReferenceNo, so it was not cancelled; if the probe made it, cancel it yourself",
					o.PlatformReferenceNo)
			}
		}
	}
	return late, err
}

// end finds the orders of an entry, and cancels each order.
func (s *session) end(ctx context.Context, j *journal, e *JournalEntry) error {
	if len(e.Orders) == 0 {
		outcome, err := s.client.RecoverBooking(ctx, e.Recovery, hotelstays.WithServiceFacts(s.facts), hotelstays.WithSaveRecovery(
			func(context.Context, *hotelstays.BookingRecovery) error {
				_ = j.write(e) // the order must be cancelled even if this write fails; endAll writes again, and reports the error
				return nil
			}))
		switch {
		case err != nil:
			return err
		case errors.Is(outcome.Err, hotelstays.ErrAmbiguousReference): // each of these orders is cancelled below
		case outcome.State == hotelstays.BookingUnverified:
			return fmt.Errorf("it could not be found out whether an order exists: %w", outcome.Err)
		case outcome.State == hotelstays.BookingAbsent:
			e.State = EntryAbsent
			return nil
		}
	}
	err := s.seek(ctx, e)
	if err == nil && len(e.Orders) == 0 {
		err = errors.New("QueryOrders no longer returns the order, or the order has no platformReferenceNo")
	}
	for i := range e.Orders { // the known orders are cancelled even if seek failed
		if failed := s.cancel(ctx, j, e, &e.Orders[i]); failed != nil {
			err = errors.Join(err, fmt.Errorf("order %s: %w", e.Orders[i].PlatformReferenceNo, failed))
		}
	}
	if err == nil {
		e.State = EntryCancelled
	}
	return err
}

// settling is the time that an order must keep the status that Cancel announced, because a cancellation may be rolled back.
const settling = 2 * time.Minute

// cancel cancels an order, and returns nil when its voucher or the status that Cancel announced proves the cancellation. It
// sends Cancel again each minute, because the order may have to be confirmed first. Every second Cancel is in a new session,
// because the booking's session may have ended.
func (s *session) cancel(ctx context.Context, j *journal, e *JournalEntry, ref *OrderRef) error {
	var since time.Time // when the order first showed the announced status
	var refused, unseen error
	const pause = 5 * time.Second
	for n := range int(confirming / pause) {
		status, proven, err := s.look(ctx, e, ref)
		shown := status != nil && ref.Announced != nil && *status == *ref.Announced
		switch unseen = err; {
		case proven, shown && !since.IsZero() && time.Since(since) >= settling:
			ref.Reached = true
			return nil
		case shown && since.IsZero():
			since, ref.Reached = time.Now(), true
		case !shown && err == nil:
			since = time.Time{}
		}
		if since.IsZero() && n%12 == 0 {
			req := &hotelstays.CancelRequest{SessionID: e.Recovery.SessionID, CustomerReferenceNo: e.reference(),
				SupplierReferenceNo: ref.SupplierReferenceNo, Reason: cancelReason}
			if n%24 != 0 {
				req.SessionID = cmp.Or(s.renewed(), req.SessionID)
			}
			var resp *hotelstays.CancelResponse
			if resp, refused = s.client.Cancel(ctx, req); refused == nil {
				e.rolledBack = e.rolledBack || ref.Reached && status != nil && (resp.Status == nil || *resp.Status != *status)
				s.announced(ref, status, resp.Status)
				_ = j.write(e) // if this write fails, Cleanup cancels the order again
			}
		}
		if err := wait(ctx, pause); err != nil {
			return errors.Join(refused, err)
		}
	}
	success := errors.New("no error")
	return fmt.Errorf("neither its voucher nor its status proves the cancellation (Cancel: %w; QueryOrders: %w); "+
		"try again with -cleanup, then ask the supplier", cmp.Or(refused, success), cmp.Or(unseen, success))
}

const cancelReason = "a test of the interface"

// look returns the status of an order, and whether its voucher proves that it is cancelled.
func (s *session) look(ctx context.Context, e *JournalEntry, ref *OrderRef) (status *types.OrderStatus, cancelled bool, err error) {
	voucher, err := s.client.OrderVoucher(ctx, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: ref.PlatformReferenceNo})
	if err == nil && voucher.Status == types.VoucherCancelled {
		return nil, true, nil
	}
	orders, err := s.orders(ctx, e.reference())
	for i := range orders {
		if o := &orders[i]; o.PlatformReferenceNo == ref.PlatformReferenceNo {
			e.addOrder(o) // stores a supplierReferenceNo that was unknown before
			status = &o.Status
		}
	}
	return status, false, err
}

// settled returns the check of a rule about the bookings of the last day. The function concerns selects the bookings, the
// function wrong reports whether a booking breaks the rule, and the function text describes the breach.
func settled(concerns, wrong func(*JournalEntry) bool, text func(*JournalEntry) string) func(*run) {
	return func(r *run) {
		var references, texts []string
		for _, e := range r.allowance.journal.entries {
			if !concerns(e) || time.Since(e.Made) > freeFor {
				continue
			}
			if references = append(references, e.reference()); wrong(e) {
				texts = append(texts, text(e))
			}
		}
		skip(references == nil, "there was no such booking in the last day")
		r.get(opQueryOrders, obj{"customerReferenceNos": references[max(0, len(references)-50):]})
		breaks(len(texts) > 0, "%s", strings.Join(texts, "; "))
	}
}

// settlingRules are rules that a service may break minutes after a refusal or a cancellation. So Run tries these rules last.
// If the service breaks such a rule, the report contains the rule even if the user did not select it.
var settlingRules = append(rules("-book", []line{
	{"book/refused", "a refused Book leaves no order, even ten minutes later", settled(
		func(e *JournalEntry) bool { return e.Refused != "" }, func(e *JournalEntry) bool { return e.turnedUp }, func(e *JournalEntry) string {
			return fmt.Sprintf("Book of %s was refused with %s, and made order %s", e.reference(), e.Refused, e.Orders[0].PlatformReferenceNo)
		})},
	{"cancel/kept", "a cancelled order stays cancelled", settled(
		func(e *JournalEntry) bool { return len(e.Orders) > 0 }, func(e *JournalEntry) bool { return e.rolledBack },
		func(e *JournalEntry) string {
			return "the order of " + e.reference() + " had the status that Cancel announced, lost it, and had to be cancelled again"
		})},
}), unasked)

// announced stores the status that Cancel returned, if this status proves the cancellation. A status whose meaning is unknown
// is a proof only if the order had another status before Cancel.
func (s *session) announced(ref *OrderRef, was, now *types.OrderStatus) {
	if was == nil || now == nil {
		return
	}
	state := s.facts.StatusMeanings.StateOf(*now)
	if state == hotelstays.OrderStateCancelled || state == hotelstays.OrderStateUnknown && *now != *was {
		ref.Announced = now
	}
}
