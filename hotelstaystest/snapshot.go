// Snapshots: the state of a server as JSON, to save and to load.

package hotelstaystest

import (
	"fmt"
	"slices"
	"time"
)

const snapshotVersion = 1

// snapshot is the state of a server. The world is not in it, because seed and catalogue make it.
type snapshot struct {
	Version  int            `json:"version"`
	Seed     uint64         `json:"seed"`
	Catalog  Catalog        `json:"catalog"`
	Now      time.Time      `json:"now"`
	Orders   []savedOrder   `json:"orders"` // oldest first
	Offers   []savedOffer   `json:"offers"` // moved or closed
	Webhooks []savedWebhook `json:"webhooks"`
	Faults   []controlFault `json:"faults"`
}

type savedOrder struct {
	Account             string          `json:"account"`
	CustomerReferenceNo string          `json:"customerReferenceNo"`
	PlatformReferenceNo string          `json:"platformReferenceNo"`
	SupplierReferenceNo string          `json:"supplierReferenceNo"`
	HotelConfirmNo      string          `json:"hotelConfirmNo"`
	RatePkgID           string          `json:"ratePkgId"`
	Currency            string          `json:"currency"`
	Cents               int64           `json:"cents"` // the price of one room in US cents
	CallbackURL         string          `json:"callbackUrl"`
	Holder              holder          `json:"holder"`
	Guests              []orderGuest    `json:"guests"`
	CreatedAt           time.Time       `json:"createdAt"`
	VisibleAt           time.Time       `json:"visibleAt"`
	ConfirmAt           time.Time       `json:"confirmAt,omitzero"` // when it is due; absent: it is not
	ConfirmedAt         time.Time       `json:"confirmedAt,omitzero"`
	History             []controlStatus `json:"history"`
	Amended             int             `json:"amended"`
	VoucherVersion      int             `json:"voucherVersion"`
	VoucherIssuedAt     time.Time       `json:"voucherIssuedAt,omitzero"`
	VoucherFailed       bool            `json:"voucherFailed"`
	CancelRule          CancelRule      `json:"cancelRule"`
	CancelledAt         time.Time       `json:"cancelledAt,omitzero"`
	CancelReason        string          `json:"cancelReason"`
	CancelFee           int64           `json:"cancelFee"` // in the minor units of Currency
}

type savedOffer struct {
	RatePkgID string `json:"ratePkgId"`
	Percents  []int  `json:"percents"`
	Closed    bool   `json:"closed"`
}

type savedWebhook struct {
	EventID             string         `json:"eventId"`
	Event               string         `json:"event"`
	PlatformReferenceNo string         `json:"platformReferenceNo"`
	EventTime           time.Time      `json:"eventTime"`
	Body                string         `json:"body"`
	State               WebhookState   `json:"state"`
	Attempts            []savedAttempt `json:"attempts"`
	DueAt               time.Time      `json:"dueAt,omitzero"` // the next attempt; absent: at once
}

type savedAttempt struct {
	Started   time.Time `json:"started"`
	Done      time.Time `json:"done,omitzero"`
	Signature string    `json:"signature"`
	Status    int       `json:"status"`
	Error     string    `json:"error"`
	Fault     FaultKind `json:"fault"`
	Copy      bool      `json:"copy"`
}

func getSnapshot(c *controlCall) (any, error) { return c.s.save(), nil }

func putSnapshot(c *controlCall, req *snapshot) (any, error) { return nil, c.s.load(req) }

// save makes a snapshot between two changes.
func (s *Server) save() *snapshot {
	now := s.lock()
	defer s.unlock()
	for s.agenda.advancing {
		s.agenda.changed.Wait()
		now = s.clock.now()
	}
	out := &snapshot{Version: snapshotVersion, Seed: s.cfg.Seed, Catalog: s.cfg.Catalog, Now: now,
		Orders: []savedOrder{}, Offers: []savedOffer{}, Webhooks: []savedWebhook{}, Faults: []controlFault{}}
	due := map[string]time.Time{} // by the reference of an appointment
	for _, a := range s.agenda.ahead {
		due[a.Reference] = a.At
	}
	for _, o := range s.orders.list {
		out.Orders = append(out.Orders, o.saved(due[o.platformRef]))
	}
	for _, change := range s.market.all() {
		out.Offers = append(out.Offers, savedOffer{change.ratePkgID, append([]int{}, change.moves...), change.closed})
	}
	for _, w := range s.ledger.Webhooks() {
		saved := savedWebhook{w.EventID, w.Event, w.PlatformReferenceNo, w.EventTime, string(w.Body), w.State, []savedAttempt{}, due[w.EventID]}
		for _, a := range w.Attempts {
			saved.Attempts = append(saved.Attempts, savedAttempt(a))
		}
		out.Webhooks = append(out.Webhooks, saved)
	}
	for _, f := range s.faults.all() {
		out.Faults = append(out.Faults, newControlFault(f.Fault))
	}
	return out
}

func (o *order) saved(confirmAt time.Time) savedOrder {
	out := savedOrder{
		Account: o.account, CustomerReferenceNo: o.customerRef, PlatformReferenceNo: o.platformRef, SupplierReferenceNo: o.supplierRef,
		HotelConfirmNo: o.confirmNo, RatePkgID: o.ratePkgID, Currency: o.price.currency.code, Cents: o.cents, CallbackURL: o.callbackURL,
		Holder: o.holder, Guests: o.guests, CreatedAt: o.created, VisibleAt: o.visible, ConfirmAt: confirmAt, ConfirmedAt: o.confirmed,
		Amended: o.amended, VoucherVersion: o.voucher.version, VoucherIssuedAt: o.voucher.issued, VoucherFailed: o.voucher.failed,
		CancelRule: o.rule, CancelledAt: o.cancelled, CancelReason: o.cancelReason, CancelFee: o.fee,
	}
	for _, change := range o.history {
		out.History = append(out.History, controlStatus(change))
	}
	return out
}

// load replaces the state of the server with a snapshot. It checks all of it first.
func (s *Server) load(from *snapshot) error {
	if err := s.checkSnapshot(from); err != nil {
		return err
	}
	var orders []*order
	for i := range from.Orders {
		o, err := s.restored(&from.Orders[i], i)
		if err != nil {
			return err
		}
		orders = append(orders, o)
	}
	if err := s.checkSaved(from, orders); err != nil {
		return err
	}
	s.lock()
	defer s.unlock()
	s.reset()
	s.clock.offset.Store(int64(time.Until(from.Now)))
	for i, o := range orders {
		s.orders.insert(o)
		s.orders.log(o, o.history[len(o.history)-1].At)
		if at := from.Orders[i].ConfirmAt; !at.IsZero() {
			s.orders.confirmAt(o, at)
		}
	}
	for _, saved := range from.Offers {
		o, _, _ := s.parseOffer(saved.RatePkgID)
		s.market.set(o, rateChange{saved.RatePkgID, saved.Percents, saved.Closed})
	}
	for i := range from.Webhooks {
		s.webhooks.restore(&from.Webhooks[i])
	}
	for _, f := range from.Faults {
		s.inject(f.fault()) // checked
	}
	s.agenda.rouse()
	return nil
}

func (s *Server) checkSnapshot(from *snapshot) error {
	ahead := time.Until(from.Now)
	switch {
	case from.Version != snapshotVersion:
		return badField("version", "version must be %d, not %d", snapshotVersion, from.Version)
	case from.Seed != s.cfg.Seed:
		return conflict("seed", "the snapshot is of a server with seed %d, not %d", from.Seed, s.cfg.Seed)
	case from.Catalog != s.cfg.Catalog:
		return conflict("catalog", "the snapshot is of a server with another catalog")
	case ahead > maxAhead || ahead < -maxAhead:
		return badField("now", "now must be within %s of real time, not %s", maxAhead, from.Now)
	case len(from.Faults) > maxFaults:
		return badField("faults", "faults has more than %d items", maxFaults)
	}
	return nil
}

// restored makes order i of a snapshot.
func (s *Server) restored(saved *savedOrder, i int) (*order, error) {
	bad := func(field, format string, args ...any) error {
		field = fmt.Sprintf("orders[%d].%s", i, field)
		return badField(field, field+" "+format, args...)
	}
	off, _, known := s.parseOffer(saved.RatePkgID)
	in, sold := findCurrency(saved.Currency)
	switch {
	case !slices.ContainsFunc(s.cfg.Accounts, func(a Account) bool { return a.AppKey == saved.Account }):
		return nil, bad("account", "%q is not an account of this server", saved.Account)
	case saved.CustomerReferenceNo == "":
		return nil, bad("customerReferenceNo", "is required")
	case saved.PlatformReferenceNo != platformReference(i+1):
		return nil, bad("platformReferenceNo", "must be %s, not %q", platformReference(i+1), saved.PlatformReferenceNo)
	case saved.SupplierReferenceNo == "":
		return nil, bad("supplierReferenceNo", "is required")
	case !known:
		return nil, bad("ratePkgId", "%q is not a ratePkgId of this server", saved.RatePkgID)
	case !sold:
		return nil, bad("currency", "%q is not sold in", saved.Currency)
	case saved.Cents < 1 || saved.Cents > maxCents:
		return nil, bad("cents", "must be from 1 to %d, not %d", maxCents, saved.Cents)
	case saved.CallbackURL != "" && s.refusedCallback(saved.CallbackURL) != "":
		return nil, bad("callbackUrl", "%s", s.refusedCallback(saved.CallbackURL))
	case len(saved.History) == 0:
		return nil, bad("history", "is empty")
	case saved.Amended < 0 || saved.VoucherVersion < 0:
		return nil, bad("amended", "and voucherVersion cannot be negative")
	}
	o := &order{
		account: saved.Account, customerRef: saved.CustomerReferenceNo, platformRef: saved.PlatformReferenceNo,
		supplierRef: saved.SupplierReferenceNo, confirmNo: saved.HotelConfirmNo, content: contentKey(off, saved.Guests),
		ratePkgID: saved.RatePkgID, callbackURL: saved.CallbackURL, offer: off, price: s.world.price(off, in, saved.Cents),
		cents: saved.Cents, holder: saved.Holder, guests: saved.Guests, created: saved.CreatedAt, visible: saved.VisibleAt,
		confirmed: saved.ConfirmedAt, amended: saved.Amended, rule: saved.CancelRule,
		voucher:   voucherState{saved.VoucherVersion, saved.VoucherIssuedAt, saved.VoucherFailed},
		cancelled: saved.CancelledAt, cancelReason: saved.CancelReason, fee: saved.CancelFee,
	}
	for j, change := range saved.History {
		if change.Status < 0 || change.Status > 5 {
			return nil, bad(fmt.Sprintf("history[%d].status", j), "must be between 0 and 5, not %d", change.Status)
		}
		o.history = append(o.history, StatusChange(change))
	}
	return o, nil
}

// checkSaved checks what refers to something else in the snapshot.
func (s *Server) checkSaved(from *snapshot, orders []*order) error {
	urls, seen := map[string]string{}, map[[2]string]bool{}
	for i, o := range orders {
		key := [2]string{o.account, o.customerRef}
		if field := fmt.Sprintf("orders[%d].customerReferenceNo", i); seen[key] {
			return badField(field, "%s %q is of an earlier order, too", field, o.customerRef)
		}
		seen[key] = true
		urls[o.platformRef] = o.callbackURL
	}
	for i, saved := range from.Offers {
		if field := fmt.Sprintf("offers[%d].ratePkgId", i); !s.isOffer(saved.RatePkgID) {
			return badField(field, "%s %q is not a ratePkgId of this server", field, saved.RatePkgID)
		}
		for j, percent := range saved.Percents {
			if field := fmt.Sprintf("offers[%d].percents[%d]", i, j); percent <= -100 || percent > maxMove {
				return badField(field, "%s must be above -100 and at most %d, not %d", field, maxMove, percent)
			}
		}
	}
	for i, saved := range from.Webhooks {
		switch field := fmt.Sprintf("webhooks[%d].", i); {
		case saved.EventID == "":
			return badField(field+"eventId", "%seventId is required", field)
		case saved.Body == "":
			return badField(field+"body", "%sbody is required", field)
		case urls[saved.PlatformReferenceNo] == "":
			return badField(field+"platformReferenceNo", "%splatformReferenceNo %q is not of an order with a callbackUrl", field,
				saved.PlatformReferenceNo)
		case !slices.Contains([]WebhookState{WebhookPending, WebhookDelivered, WebhookGivenUp, WebhookDropped, WebhookRefused}, saved.State):
			return badField(field+"state", "%sstate %q is unknown", field, saved.State)
		}
	}
	for i, saved := range from.Faults {
		f := saved.fault()
		if bad, ok := f.validate().(*inputError); ok {
			field := fmt.Sprintf("faults[%d].%s", i, bad.field)
			return badField(field, "%s: %s", field, bad.msg)
		}
	}
	return nil
}

// restore makes an event of a snapshot, and goes on with its delivery if that is pending. The
// caller holds the lock.
func (w *webhooks) restore(saved *savedWebhook) {
	o := w.s.orders.byPlatform[saved.PlatformReferenceNo]
	made := Webhook{
		EventID: saved.EventID, Event: saved.Event, CustomerReferenceNo: o.customerRef, PlatformReferenceNo: o.platformRef,
		URL: o.callbackURL, EventTime: saved.EventTime, Body: []byte(saved.Body), State: saved.State,
	}
	tries := 0
	for _, a := range saved.Attempts {
		made.Attempts = append(made.Attempts, WebhookAttempt(a))
		if !a.Copy {
			tries++
		}
	}
	e := &event{Webhook: made, rec: w.s.ledger.addWebhook(made), order: o, n: w.numbers.next(), tries: tries, inTurn: tries == 0}
	switch {
	case saved.State != WebhookPending:
	case e.inTurn:
		o.events.waiting = append(o.events.waiting, e)
		w.next(o)
	default:
		w.schedule(e, max(0, saved.DueAt.Sub(w.s.clock.now())))
	}
}

func (s *Server) isOffer(ratePkgID string) bool {
	_, _, ok := s.parseOffer(ratePkgID)
	return ok
}
