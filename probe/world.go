// What rules have in common: a city with hotels, a search, an offer. Each is looked for once.

package probe

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// memo is what was looked for once, and the evidence of it.
type memo[T any] struct {
	done bool
	v    T
	err  error
	seen []*Exchange
}

func (m *memo[T]) get(r *run, what string, look func() (T, error)) (T, error) {
	if m.done {
		r.log = append(r.log, m.seen...)
		return m.v, m.err
	}
	before := len(r.log)
	m.v, m.err = look()
	m.err = needed(what, m.err)
	m.done, m.seen = r.ctx.Err() == nil, slices.Clone(r.log[before:])
	return m.v, m.err
}

type world struct {
	code    string                    // of the country that has places
	country memo[[]types.Destination] // its top-level places
	city    memo[types.Destination]
	search  memo[*search]
	other   memo[*search]
	rates   memo[*offer]
}

// search is a HotelList that found hotels.
type search struct {
	*answer
	hotelstays.HotelListResponse
}

// offer is one that HotelRates returned.
type offer struct {
	*answer
	hotelstays.HotelRatesResponse
	session string
	types.RoomRatePkg
}

// country returns the places of a country that has some.
func (r *run) country() ([]types.Destination, error) {
	return r.world.country.get(r, "a country with places (Config.CountryCode)", func() ([]types.Destination, error) {
		codes := []string{"AE", "GB", "FR", "ES", "US", "DE", "IT", "TH", "CN", "JP"}
		if r.cfg.CountryCode != "" {
			codes = []string{r.cfg.CountryCode}
		}
		for _, code := range codes {
			resp, err := read[hotelstays.DestinationsResponse](r.get(opDestinations, obj{"countryCode": code}))
			if err != nil {
				return nil, err
			}
			if len(resp.Destinations) > 0 && resp.Destinations[0].ID != "" {
				r.world.code = code
				return resp.Destinations, nil
			}
		}
		return nil, fmt.Errorf("none of %v has any", codes)
	})
}

// city returns a city with hotels: the given one, or the first below the country.
func (r *run) city() (types.Destination, error) {
	if r.cfg.DestinationID != "" {
		return types.Destination{ID: r.cfg.DestinationID, Type: types.DestinationCity}, nil
	}
	return r.world.city.get(r, "a city with hotels (Config.DestinationID)", func() (types.Destination, error) {
		places, err := r.country()
		for range 50 {
			if err != nil || len(places) == 0 {
				break
			}
			place := places[0]
			places = places[1:]
			if place.Type == types.DestinationCity {
				hotels, err := read[hotelstays.HotelsMetadataResponse](r.get(opHotelsMetadata, obj{"destinationId": place.ID}))
				if err != nil || len(hotels.HotelsMetadata) > 0 {
					return place, err
				}
				continue
			}
			below, err := read[hotelstays.DestinationsResponse](r.get(opDestinations, obj{"parentDestinationId": place.ID}))
			if err != nil {
				return place, err
			}
			places = append(below.Destinations, places...)
		}
		if err == nil {
			err = fmt.Errorf("none was found")
		}
		return types.Destination{}, err
	})
}

// stay is the body of a search: two adults for two nights, and more.
func (r *run) stay(more obj) obj {
	in, _ := r.cfg.CheckIn.Time()
	body := obj{"checkIn": r.cfg.CheckIn, "checkOut": types.DateOf(in.AddDate(0, 0, 2)),
		"roomOccupancies": []obj{{"adultCount": 2}}}
	maps.Copy(body, more)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })
	return body
}

// list searches the city.
func (r *run) list(more obj) *answer {
	city, err := r.city()
	if err != nil {
		return &answer{op: opHotelList, err: err}
	}
	body := r.stay(obj{"destinationId": city.ID})
	maps.Copy(body, more)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })
	return r.get(opHotelList, body)
}

// search returns the first search of the run.
func (r *run) search() (*search, error) { return r.searchInto(&r.world.search) }

func (r *run) searchInto(m *memo[*search]) (*search, error) {
	return m.get(r, "a search with offers", func() (*search, error) {
		a := r.list(obj{"pageSize": 10})
		resp, err := read[hotelstays.HotelListResponse](a)
		switch {
		case err != nil:
			return nil, err
		case resp.Basic.SessionID == "":
			return nil, fmt.Errorf("basic has no sessionId")
		case len(resp.List) == 0:
			return nil, fmt.Errorf("the list is empty: %s", resp.Basic.StatusRemark)
		}
		return &search{a, *resp}, nil
	})
}

// hotelID is how searches name a hotel.
func hotelID(h types.Hotel) string {
	if h.PlatformHotelID != "" {
		return h.PlatformHotelID
	}
	return h.ID
}

// offer returns the first offer of HotelRates.
func (r *run) offer() (*offer, error) {
	return r.world.rates.get(r, "an offer", func() (*offer, error) {
		found, err := r.search()
		if err != nil {
			return nil, err
		}
		var a *answer
		for _, h := range found.List[:min(len(found.List), 5)] {
			a = r.do(call{op: opHotelRates, session: found.Basic.SessionID, body: r.stay(obj{"hotelId": hotelID(h)})})
			resp, err := read[hotelstays.HotelRatesResponse](a)
			if err != nil {
				return nil, err
			}
			for _, room := range resp.Rooms {
				for _, rate := range room.Rates {
					return &offer{a, *resp, found.Basic.SessionID, rate}, nil
				}
			}
		}
		return nil, fmt.Errorf("no hotel of the search has one")
	})
}

// check calls CheckAvail for an offer.
func (r *run) check(session, ratePkgID string) *answer {
	return r.do(call{op: opCheckAvail, session: session, body: obj{"ratePkgId": ratePkgID}})
}
