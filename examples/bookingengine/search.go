// The search form, the hotels, and the offers of one hotel.

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// Limits of the form.
const (
	maxRooms     = 4
	maxAdults    = 6
	maxChildren  = 4
	maxChildAge  = 17
	maxStay      = 30 // nights
	maxTextInput = 100
)

// form holds what a guest has entered, and the problems, in the order of the fields.
type form struct {
	url.Values
	Errors []formError
}

// formError is a problem of a field. Place names the part of the form, for the list of problems at the top of the page.
type formError struct{ Field, Place, Text string }

func (f form) Error(field string) *formError {
	i := slices.IndexFunc(f.Errors, func(e formError) bool { return e.Field == field })
	if i < 0 {
		return nil
	}
	return &f.Errors[i]
}

// check adds a problem to the field if right is false.
func (f *form) check(right bool, field, problem string, args ...any) {
	if !right {
		f.Errors = append(f.Errors, formError{Field: field, Text: fmt.Sprintf(problem, args...)})
	}
}

// text returns the value of a field without spaces around it.
func (f *form) text(field string) string { return strings.TrimSpace(f.Get(field)) }

// required returns the value of a field, and adds the problem if the value is empty or too long.
func (f *form) required(field, problem string, args ...any) string {
	value := f.text(field)
	f.check(value != "" && utf8.RuneCountInString(value) <= maxTextInput, field, problem, args...)
	return value
}

// checkCity adds a problem if the city is unknown. The problem suggests the most similar known names.
func (f *form) checkCity(field string, cities []string) {
	name := f.text(field)
	if f.Error(field) != nil || len(cities) == 0 || slices.ContainsFunc(cities, func(city string) bool { return strings.EqualFold(city, name) }) {
		return
	}
	near := slices.Clone(cities)
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	problem := formError{Field: field, Text: fmt.Sprintf("We know no city %q. The nearest names: %s.", name, strings.Join(near[:min(3, len(near))], ", "))}
	f.Errors = slices.Insert(f.Errors, 0, problem) // first in the list, because the city is the first field of the form
}

// distance returns how many letters must be changed, added or removed to turn one name into another.
func distance(a, b string) int {
	from, to := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, letter := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j := range to {
			changed := diagonal
			if letter != to[j] {
				changed++
			}
			diagonal, row[j+1] = row[j+1], min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

// number returns the number in a field. It adds a problem if the number is not between 1 and most.
func (f *form) number(field string, most int) int {
	n, err := strconv.Atoi(f.text(field))
	f.check(err == nil && n >= 1 && n <= most, field, "Choose a number from 1 to %d.", most)
	return n
}

// ages returns the ages in a field such as "4, 9".
func (f *form) ages(field string) (ages []int) {
	right := true
	for _, word := range strings.FieldsFunc(f.Get(field), func(r rune) bool { return strings.ContainsRune(",; ", r) }) {
		age, err := strconv.Atoi(word)
		right = right && err == nil && age >= 0 && age <= maxChildAge
		ages = append(ages, age)
	}
	f.check(right && len(ages) <= maxChildren, field,
		"Enter the age of each child, up to %d children from 0 to %d, such as: 4, 9.", maxChildren, maxChildAge)
	return ages
}

func (s *site) home(w http.ResponseWriter, _ *http.Request) error {
	day := func(days int) string { return string(types.DateOf(time.Now().AddDate(0, 2, days))) }
	start := url.Values{"check_in": {day(0)}, "check_out": {day(3)}, "rooms": {"1"}, "adults": {"2"}}
	if cities := s.service.Cities; len(cities) > 0 {
		start.Set("destination", cities[0])
	}
	return s.render(w, http.StatusOK, "home", form{Values: start})
}

func readSearch(q url.Values) (form, hotelstays.HotelListRequest) {
	f := form{Values: q}
	req := hotelstays.HotelListRequest{
		DestinationName: f.required("destination", "Enter the name of a city."),
		CheckIn:         types.Date(f.text("check_in")),
		CheckOut:        types.Date(f.text("check_out")),
	}
	in, err := req.CheckIn.Time()
	f.check(err == nil && in.After(time.Now().AddDate(0, 0, -2)), // a margin of two days, because the guest's time zone is unknown
		"check_in", "Choose a day of arrival that is not past.")
	out, err := req.CheckOut.Time()
	f.check(err == nil && out.After(in) && !out.After(in.AddDate(0, 0, maxStay)),
		"check_out", "Choose a day of departure after the arrival, %d nights later at most.", maxStay)
	rooms := f.number("rooms", maxRooms)
	room := types.GuestPerRoom{AdultCount: f.number("adults", maxAdults), ChildrenAges: f.ages("children")}
	for range min(rooms, maxRooms) {
		req.RoomOccupancies = append(req.RoomOccupancies, room)
	}
	return f, req
}

// search holds the request of a guest's search, and the hotels that have arrived.
type search struct {
	ID      string
	Request hotelstays.HotelListRequest // its SessionID is the session of the offers
	Hotels  []types.Hotel
	Basic   types.SearchBasic // complete when all hotels have arrived
	Err     error             // why the list of hotels was interrupted, or nil
}

// hotels searches, and shows the hotels while they arrive. The address of the page contains the whole search, so the
// page can be bookmarked.
func (s *site) hotels(w http.ResponseWriter, r *http.Request) error {
	form, req := readSearch(r.URL.Query())
	form.checkCity("destination", s.service.Cities)
	if len(form.Errors) > 0 {
		return s.render(w, http.StatusUnprocessableEntity, "home", form)
	}
	req.MaxRatesPerHotel, req.SortBy = 1, types.SortPriceAsc
	stream := s.client.HotelListStream(r.Context(), &req) // only the first page of results; HotelListPages returns all
	found := &search{ID: uuid.NewString(), Request: req}
	store := func() {
		resp, _ := stream.Response()
		found.Basic, found.Request.SessionID = resp.Basic, resp.Basic.SessionID // SessionID may come from a header, before the answer ends
		s.searches.Add(found.ID, *found)
	}
	var page bytes.Buffer
	arriving := func(yield func(*types.Hotel) bool) {
		for hotel, err := range stream.Hotels() {
			if found.Err = err; err != nil {
				return
			}
			found.Hotels = append(found.Hotels, *hotel)
			store() // stored first, so that the guest can choose a hotel as soon as the browser shows it
			if !yield(hotel) {
				return
			}
			page.WriteTo(w) // an error does not matter: the browser may have disconnected
			http.NewResponseController(w).Flush()
		}
		store()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	err := s.pages.ExecuteTemplate(&page, "hotels.html", map[string]any{"Search": found, "Arriving": arriving})
	if err = errors.Join(err, found.Err); err != nil && len(found.Hotels) == 0 {
		return err // the browser has received nothing, so an error page is still possible
	}
	if err != nil || len(found.Hotels) == 0 || len(found.Basic.Notices) > 0 {
		s.log.WarnContext(r.Context(), "the search is not complete", "hotels", len(found.Hotels), "error", err,
			"remark", found.Basic.StatusRemark, "notices", found.Basic.Notices, "reason", found.Basic.EmptyReason)
	}
	page.WriteTo(w)
	return nil
}

// room is a type of room with its offers. Each offer is a checkout, which begins when a guest chooses it.
type room struct {
	Name   string
	Offers []checkout
}

// hotel shows the rooms of a hotel with their offers, the cheapest first.
func (s *site) hotel(w http.ResponseWriter, r *http.Request) error {
	found, _ := s.searches.Get(r.PathValue("search"))
	at := slices.IndexFunc(found.Hotels, func(h types.Hotel) bool { return h.ID == r.PathValue("hotel") })
	if at < 0 {
		return errExpired
	}
	hotel, req := found.Hotels[at], found.Request
	resp, err := s.client.HotelRates(r.Context(), &hotelstays.HotelRatesRequest{
		SessionID: req.SessionID, HotelID: cmp.Or(hotel.PlatformHotelID, hotel.ID),
		CheckIn: req.CheckIn, CheckOut: req.CheckOut, RoomOccupancies: req.RoomOccupancies,
	})
	if err != nil {
		return forgotten(err)
	}
	var rooms []room
	for _, of := range resp.Rooms {
		slices.SortStableFunc(of.Rates, func(a, b types.RoomRatePkg) int {
			order, _ := selling(a.TotalRate).Cmp(selling(b.TotalRate)) // if the prices cannot be compared, order is 0
			return order
		})
		shown := room{Name: of.RoomTypeName.In("en")}
		for _, rate := range of.Rates {
			if rate.IncludesPackaging {
				continue // this offer may only be sold together with a flight
			}
			co := checkout{Reference: uuid.NewString(), SearchID: found.ID, SessionID: req.SessionID,
				Hotel: hotel, Room: shown.Name, Occupancies: req.RoomOccupancies, Offer: rate}
			s.offers.Add(co.Reference, co)
			shown.Offers = append(shown.Offers, co)
		}
		if len(shown.Offers) > 0 {
			rooms = append(rooms, shown)
		}
	}
	return s.render(w, http.StatusOK, "hotel", map[string]any{"Request": req, "Hotel": hotel, "Rooms": rooms})
}

// forgotten returns errExpired if the service no longer knows a session or an offer. Otherwise it returns err. A wrong
// input of the guest cannot be the reason, because the request contains only values from the search.
func forgotten(err error) error {
	if errors.Is(err, hotelstays.ErrParam) {
		return fmt.Errorf("%w: %w", errExpired, err)
	}
	return err
}
