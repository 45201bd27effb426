// Rules that compare orders, vouchers, cancellations and events with their request and with earlier answers.

package judge

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// parts requires that the parts of an order agree with each other and with the Book that made the order.
func (x *exam) parts(o value, now, was *order) {
	in, err := time.Parse(time.DateOnly, now.checkIn)
	out, failed := time.Parse(time.DateOnly, now.checkOut)
	if nights, ok := o.get("nightCount").int(); ok && err == nil && failed == nil {
		x.is("order/nights", nights == int(out.Sub(in).Hours()/24), o.get("nightCount"), "the nights between checkIn and checkOut")
	}
	rooms, count := o.get("rooms"), o.get("roomCount")
	n, counted := count.int()
	if shown := rooms.len(); shown > 0 {
		x.is("order/rooms", !counted || n == shown, count, "the number of rooms")
		n = shown
	}
	x.is("order/rooms", n == 0 || was.rooms == 0 || n == was.rooms, count, "the number of rooms of the search")
	shown := 0
	for room := range rooms.all() {
		x.is("order/room-dates", room.get("checkIn").str() == now.checkIn && room.get("checkOut").str() == now.checkOut, room,
			"the dates of the order")
		shown += x.guests(room.get("guests"), was)
	}
	x.is("value/guests", shown == 0 || shown == len(was.guests) || len(was.guests) == 0, rooms, "all guests of the Book")
	price := now.price
	for _, name := range []string{"refundedPrice", "grossRate", "commissionableRate"} {
		part := o.get(name).money()
		x.is("value/currency", !part.known() || part.currency == price.currency, o.get(name), "the currency of netRate")
	}
	gross, refund := o.get("grossRate").money().amount, o.get("refundedPrice").money()
	if refund.known() {
		paid := refund.amount + was.fee.amount
		ok := differAtMost(paid, price.amount, 0.02) || differAtMost(paid, gross, 0.02) || was.fee.currency != refund.currency
		x.is("value/refund", refund.currency != price.currency || ok && refund.amount <= max(price.amount, gross)+0.02, o.get("refundedPrice"),
			"the price minus serviceFee")
	}
	x.near(o.get("cancelTime"), was.cancelled)
	cancelled, err := time.Parse(time.RFC3339, o.get("cancelTime").str())
	created, failed := time.Parse(time.RFC3339, now.bookedAt)
	x.is("value/time", err != nil || failed != nil || !cancelled.Before(created), o.get("cancelTime"), "a time after bookingTime")
}

// near requires that a time is near the time of the request that caused it.
func (x *exam) near(v value, caused time.Time) {
	at, err := time.Parse(time.RFC3339, v.str())
	x.is("value/time", err != nil || caused.IsZero() || at.Sub(caused).Abs() < clockSkew, v, "about the time of the request")
}

// guests judges the guests of a room, and returns the number of guests with both names.
func (x *exam) guests(guests value, was *order) (shown int) {
	room := 0
	for g := range guests.all() {
		if g.get("firstName").str() != "" && g.get("lastName").str() != "" {
			booked := was.guests[x.named(g)]
			known := len(was.guests) == 0 || booked != 0
			x.is("value/guests", known && (room == 0 || room == booked), g, "a guest of the room, as booked")
			shown, room = shown+1, booked
		}
		if number := g.get("passportNumber").str(); len(was.passports) > 0 && number != "" && x.op != "Book" {
			last := func(booked string) bool { return len(booked) <= 4 || strings.HasSuffix(number, booked[1:]) }
			x.is("book/passport-shown", slices.ContainsFunc(was.passports, last), g, "the last four characters of a passport number")
		}
	}
	for _, passport := range was.passports {
		x.is("book/passport-shown", x.op == "Book" || len(passport) <= 4 || !strings.Contains(string(guests.raw()), passport), guests,
			"at most four characters of a passport number")
	}
	return shown
}

func anOrder(x *exam, o value) {
	now := &order{customer: o.get("customerReferenceNo").str(), platform: o.get("platformReferenceNo").str(),
		supplier: o.get("supplierReferenceNo").str(), checkIn: o.get("checkIn").str(), checkOut: o.get("checkOut").str(),
		bookedAt: o.get("bookingTime").str(), price: o.get("netRate").money(), read: x.op == "QueryOrders"}
	was := recall[order](x.memory, "order", cmp.Or(now.platform, now.customer))
	open := slices.Contains([]string{"0", "1"}, o.get("status").str())
	if x.op == "Book" {
		if now.customer = x.asked.get("customerReferenceNo").str(); x.again(o, now, open) {
			return
		}
		x.booked(o, now, open)
		was = now
	}
	if was == nil {
		x.parts(o, now, &order{})
		return
	}
	x.parts(o, now, was)
	if x.op != "Book" {
		x.read(o, now, was, open)
	}
	if holder := o.get("holder"); holder.there() && was.holder != 0 {
		x.is("book/holder", x.named(holder) == was.holder, holder, "the holder of its Book")
	}
	kept := *was
	kept.supplier, kept.read = cmp.Or(now.supplier, was.supplier), was.read || now.read
	x.keeps(&kept)
}

func (x *exam) keeps(o *order) {
	x.memory.put(x.memory.key("order", o.platform), o)
	x.memory.put(x.memory.key("reference", o.customer), o)
}

// again judges the answer to a repeated Book, which must be the order of the first Book. It returns false if no earlier
// Book with this reference is known.
func (x *exam) again(o value, now *order, open bool) bool {
	first := recall[order](x.memory, "reference", now.customer)
	if first != nil && x.is("book/again", first.platform == now.platform, o.get("platformReferenceNo"), "the order of the reference") {
		x.read(o, now, first, open)
	}
	return first != nil
}

// booked compares a new order with its request, and stores the values that later answers are compared with.
func (x *exam) booked(o value, now *order, open bool) {
	at, err := time.Parse(time.RFC3339, now.bookedAt)
	x.is("book/status", open || err != nil || x.Time.Sub(at).Abs() > time.Minute, o.get("status"), "0 or 1, because the order is new")
	x.near(o.get("bookingTime"), x.Time)
	if offered := x.offered(); offered != nil {
		now.rooms = offered.rooms
		x.property("book/stay", offered.hotel, o.get("hotel", "hotelId"))
		x.is("value/price", now.price.currency != offered.price.currency || now.price == offered.price, o.get("netRate"),
			"the price of the offer")
	}
	now.holder, now.guests = x.named(x.asked.get("holder")), map[uint64]int{}
	for guest := range x.asked.get("guests").all() {
		now.guests[x.named(guest)], _ = guest.get("roomIndex").int()
		if number := guest.get("passportNumber").str(); number != "" {
			now.passports = append(now.passports, number[max(0, len(number)-5):])
		}
	}
}

// read compares an order with an earlier answer about the same order.
func (x *exam) read(o value, now, was *order, open bool) {
	x.is("book/read", now.customer == "" || now.customer == was.customer, o.get("customerReferenceNo"), "the reference of its Book")
	x.is("order/created", now.bookedAt == "" || was.bookedAt == "" || sameTime(now.bookedAt, was.bookedAt), o.get("bookingTime"),
		"the same value as before")
	rule := "book/read"
	if !open {
		rule = "value/amended"
	}
	x.is(rule, now.checkIn == was.checkIn || now.checkIn == "", o.get("checkIn"), "the same value as before")
	x.is(rule, now.checkOut == was.checkOut || now.checkOut == "", o.get("checkOut"), "the same value as before")
	x.is(rule, !now.price.known() || now.price.currency != was.price.currency || now.price == was.price, o.get("netRate"),
		"the same value as before")
}

// named returns a hash of a person's first and last name, which does not depend on upper or lower case.
func (x *exam) named(o value) uint64 {
	fold := func(name string) string { return strings.ToLower(strings.TrimSpace(o.get(name).str())) }
	return x.memory.key(fold("firstName"), fold("lastName"))
}

// windows maps each time filter of QueryOrders to the member of an order that it filters.
var windows = map[string]string{"checkInTimeWindow": "checkIn", "checkOutTimeWindow": "checkOut", "bookingTimeWindow": "bookingTime",
	"cancelledTimeWindow": "cancelTime"}

func queryOrders(x *exam, answer value) {
	orders, came := answer.get("orders"), map[string]bool{}
	for o := range orders.all() {
		platform := o.get("platformReferenceNo").str()
		x.is("value/orders", platform == "" || !came[platform], o, "no order twice")
		came[platform] = true
		for window, member := range windows {
			x.within(o.get(member), x.asked.get(window))
		}
	}
	if x.asked.len() > 1 {
		return // the document does not say how several filters combine
	}
	for _, reference := range x.source("asked.customerReferenceNos") {
		was := recall[order](x.memory, "reference", reference)
		x.is("value/orders", was == nil || !was.read || came[was.platform], orders, "an order that was read before")
	}
}

// within requires that a time is in a window of the request. A day before or after the window is accepted, because the
// form of these times is undocumented.
func (x *exam) within(v, window value) {
	// An unreadable day becomes the zero time, which is not checked.
	day := func(v value) time.Time {
		day, _ := time.Parse(time.DateOnly, v.str()[:min(len(v.str()), len(time.DateOnly))])
		return day
	}
	at, start, end := day(v), day(window.get("start")), day(window.get("end"))
	if !at.IsZero() && window.there() {
		x.is("value/window", start.Sub(at) <= 24*time.Hour, v, "a time in the window of the request")
		x.is("value/window", end.IsZero() || at.Sub(end) <= 24*time.Hour, v, "a time in the window of the request")
	}
}

func voucher(x *exam, o value) {
	v, generated := o.get("voucher"), o.get("status").str() == string(types.VoucherGenerated)
	x.is("voucher/generated", generated || !v.there(), v, "no voucher, because the status is not GENERATED")
	x.is("value/voucher", v.there() || !generated, v, "a voucher, because the status is GENERATED")
	asked := x.asked.get("includeDocument").yes()
	x.is("voucher/content-unasked", asked || !v.get("content").there(), v.get("content"), "no content without includeDocument")
	x.is("voucher/inline", !asked || !v.there() || v.get("content").there(), v.get("content"), "content, because of includeDocument")
	if of := recall[order](x.memory, "order", o.get("platformReferenceNo").str()); of != nil && v.there() {
		x.is("voucher/signed", v.get("signature").there(), v.get("signature"), "a signature, because the order is new")
		now := *of
		now.version, _ = v.get("version").int()
		now.digest = v.get("signature", "digest").str()
		x.is("voucher/version", now.version >= of.version, v.get("version"), "no earlier version")
		x.is("value/version", now.version != of.version || now.digest == of.digest || of.digest == "", v.get("signature", "digest"),
			"the digest that this version had before")
		x.keeps(&now)
	}
}

func aVoucher(x *exam, v value) {
	digest, content := v.get("signature", "digest").str(), v.get("content")
	document, err := base64.StdEncoding.DecodeString(content.get("base64").str())
	if content.there() && err == nil {
		x.is("voucher/inline", digest == "" || hexed(document) == digest, content.get("base64"), "a document that matches the digest")
		for _, size := range []value{v.get("byteSize"), content.get("byteSize")} {
			n, _ := size.int()
			x.is("value/size", n == len(document), size, "the size of the document in bytes")
		}
	}
	if digest != "" {
		x.memory.put(x.memory.key("link", v.get("downloadUrl").str()), &link{digest})
	}
}

func hexed(document []byte) string {
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:])
}

func cancel(x *exam, o value) {
	customer, supplier := x.asked.get("customerReferenceNo").str(), x.asked.get("supplierReferenceNo").str()
	of := recall[order](x.memory, "reference", customer)
	if of == nil || of.supplier == "" {
		return
	}
	fee := o.get("serviceFee").money()
	x.is("cancel/foreign", of.supplier == supplier, o, "a refusal, because supplierReferenceNo belongs to another order")
	x.is("value/fee", !fee.known() || fee.currency != of.price.currency || fee.amount <= of.price.amount, o.get("serviceFee"),
		"at most the price of the order")
	if now := *of; of.cancelled.IsZero() {
		now.cancelled, now.fee = x.Time, fee
		x.keeps(&now)
	}
}

func event(x *exam, o value) {
	if ms, ok := o.get("eventTime").int(); ok {
		x.is("webhook/form", x.Time.Sub(time.UnixMilli(int64(ms))).Abs() < 24*time.Hour, o.get("eventTime"), "the current time in milliseconds")
	}
	x.is("value/event", o.get("eventTime").there(), o.get("eventTime"), "the time of the event")
	if id := x.Request.Get("X-Platform-Event-Id"); id != "" {
		key, is := x.memory.key("event", id), o.get("customerReferenceNo").str()+" "+o.get("event").str()
		was, known := x.memory.get(key).(string)
		x.has("webhook/id", !known || was == is, "X-Platform-Event-Id", "another id for another event")
		x.memory.put(key, is)
	}
}
