// Values that rules share: a city with hotels, a search, an offer. A run looks for each value only once.

package probe

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// memo keeps a value that the run looks for only once, and the answer that contained it.
type memo[T any] struct {
	done bool
	v    T
	err  error
	seen *exchange
}

// get calls look once per run, and returns the value to every rule. If look failed, the rule is skipped.
func (m *memo[T]) get(r *run, what string, look func() T) T {
	before := len(r.log)
	if m.done && m.seen != nil {
		r.log = append(slices.DeleteFunc(r.log, func(ex *exchange) bool { return ex == m.seen }), m.seen)
	} else if !m.done {
		m.err = attempt(func() { m.v = look() })
		m.done = r.ctx.Err() == nil
		if len(r.log) > before {
			m.seen = r.log[len(r.log)-1]
		}
	}
	if m.err != nil {
		cause := m.err
		if errors.As(cause, new(untried)) {
			cause = nil // the step was not tried, which is no fault of the service
		}
		panic(stop{untried{fmt.Sprintf("needs %s: %v", what, m.err), cause}})
	}
	return m.v
}

type world struct {
	country memo[*country]
	city    memo[*city]
	search  memo[*search]
	rates   memo[*offer]
	cancels memo[bool]
	// order, voucher, cancel and ended are steps of one booking; spare is another booking.
	order, spare, voucher, cancel, ended memo[*booked]
	events                               memo[[]delivery]
}

type country struct {
	code   string
	places []types.Destination
}

// city is a city with hotels. The field asked is the body of the Destinations call that returned the city, or nil if
// Config names the city.
type city struct {
	types.Destination
	asked obj
}

// search is an answer of HotelList with at least one hotel.
type search struct {
	*answer
	hotelstays.HotelListResponse
	session string
}

type offer struct {
	*answer
	hotelstays.HotelRatesResponse
	session  string
	hotel    string // the hotel id in the request of HotelRates
	property string // the id of the same hotel in answers of searches
	types.RoomRatePkg
}

func (r *run) places(body obj) []types.Destination {
	return read[hotelstays.DestinationsResponse](r.get(opDestinations, body)).Destinations
}

func (r *run) country() *country {
	return r.world.country.get(r, "a country with places (-country)", func() *country {
		codes := []string{"AE", "GB", "FR", "ES", "US", "DE", "IT", "TH", "CN", "JP"}
		if r.cfg.CountryCode != "" {
			codes = []string{r.cfg.CountryCode}
		}
		for _, code := range codes {
			if places := r.places(obj{"countryCode": code}); len(places) > 0 && places[0].ID != "" {
				return &country{code, places}
			}
		}
		skip(true, "none of %v has places", codes)
		return nil
	})
}

// city returns a city with hotels: the city of the Config, or the first city found in the country.
func (r *run) city() *city {
	if r.cfg.DestinationID != "" {
		return &city{Destination: types.Destination{ID: r.cfg.DestinationID, Type: types.DestinationCity}}
	}
	return r.world.city.get(r, "a city with hotels (-destination)", func() *city {
		var next []*city
		below := func(places []types.Destination, asked obj) {
			first := make([]*city, len(places))
			for i, place := range places {
				first[i] = &city{place, asked}
			}
			next = append(first, next...)
		}
		from := r.country()
		below(from.places, obj{"countryCode": from.code})
		for range 50 {
			if len(next) == 0 {
				break
			}
			place := next[0]
			next = next[1:]
			asked := obj{"parentDestinationId": place.ID}
			if (place.Type == types.DestinationCity || place.Type == types.DestinationUnknown) &&
				len(read[hotelstays.HotelsMetadataResponse](r.get(opHotelsMetadata, obj{"destinationId": place.ID})).HotelsMetadata) > 0 {
				return place
			}
			if place.Type != types.DestinationCity {
				below(r.places(asked), asked)
			}
		}
		skip(true, "no such city was found")
		return nil
	})
}

// stay returns the body of a search: two adults for two nights, plus the given members. nil removes a member.
func (r *run) stay(more obj) obj {
	in, _ := r.cfg.CheckIn.Time()
	body := obj{"checkIn": r.cfg.CheckIn, "checkOut": types.DateOf(in.AddDate(0, 0, 2)),
		"roomOccupancies": []obj{{"adultCount": 2}}}
	maps.Copy(body, more)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })
	return body
}

func (r *run) list(more obj) *answer { return r.get(opHotelList, r.stayIn(more)) }

func (r *run) stayIn(more obj) obj {
	body := obj{"destinationId": r.city().ID}
	maps.Copy(body, more)
	return r.stay(body)
}

// anew makes this rule use a new search and a new offer, which no other rule has used.
func (r *run) anew() {
	s := *r.session
	s.world.search, s.world.rates = memo[*search]{}, memo[*offer]{}
	r.session = &s
}

func (r *run) search() *search {
	return r.world.search.get(r, "a search with offers", func() *search {
		a := r.list(obj{"pageSize": 10})
		resp := read[hotelstays.HotelListResponse](a)
		skip(len(resp.List) == 0, "HotelList found no hotels: %s", resp.Basic.StatusRemark)
		session := cmp.Or(resp.Basic.SessionID, a.Header.Get("Session-Id"))
		skip(session == "", "the answer to HotelList has no session")
		return &search{a, *resp, session}
	})
}

// hotelID returns the id that searches use for a hotel.
func hotelID(h types.Hotel) string { return cmp.Or(h.PlatformHotelID, h.ID) }

func (r *run) offer() *offer {
	return r.world.rates.get(r, "an offer", func() *offer {
		found := r.search()
		for _, h := range found.List[:min(len(found.List), 5)] {
			for _, id := range slices.Compact([]string{hotelID(h), cmp.Or(h.ID, hotelID(h))}) {
				a := r.do(call{op: opHotelRates, session: found.session, body: r.stay(obj{"hotelId": id})})
				resp := read[hotelstays.HotelRatesResponse](a)
				for _, rate := range ratesIn(resp.Rooms) {
					return &offer{a, *resp, found.session, id, hotelID(h), rate}
				}
			}
		}
		skip(true, "no hotel of the search has an offer")
		return nil
	})
}

// lawful returns a valid call of op. The comment of ofSpare says which orders the call names.
func (r *run) lawful(op operation) call {
	c := call{op: op, body: obj{"customerReferenceNo": unknownReference}}
	switch op {
	case opTicket:
		c.body = obj{"appKey": r.cfg.Credential.AppKey, "appSecret": r.cfg.Credential.AppSecret.Reveal()}
	case opOAuthToken:
		c.body = obj{"grant_type": "client_credentials", "client_id": r.cfg.OAuth.ClientID,
			"client_secret": r.cfg.OAuth.ClientSecret.Reveal(), "scope": types.ScopeSearchRead}
	case opHotelStaticDetail:
		c.body = obj{"hotelId": r.offer().hotel}
	case ofSpare:
		return r.cancelling(r.spare())
	case ofEnded:
		c.op, c.body = opQueryOrders, obj{"customerReferenceNos": []string{r.ended().entry.reference()}}
	case opCancel:
		c.session, c.body = r.offer().session, noSuchOrder
	case opDestinations:
		c.body = obj{"countryCode": r.country().code}
	case opHotelsMetadata:
		c.body = obj{"destinationId": r.city().ID}
	case opHotelList:
		c.body = r.stayIn(obj{"pageSize": 2})
	case opHotelRates:
		offered := r.offer()
		c.session, c.body = offered.session, r.stay(obj{"hotelId": offered.hotel})
	case opCheckAvail:
		offered := r.offer()
		c.session, c.body = offered.session, obj{"ratePkgId": offered.RatePkgID}
	case opQueryOrders:
		c.body = unknownOrder()
	}
	return c
}
