// The search form, the hotels, and the offers of one hotel.

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// form is what a guest has entered, and what is wrong with it, in the order of the fields.
type form struct {
	url.Values
	Errors []formError
}

type formError struct{ Field, Text string }

// Error returns the error of a field, or nil.
func (f form) Error(field string) *formError {
	i := slices.IndexFunc(f.Errors, func(e formError) bool { return e.Field == field })
	if i < 0 {
		return nil
	}
	return &f.Errors[i]
}

// check adds the problem of a field that is not right.
func (f *form) check(right bool, field, problem string, args ...any) {
	if !right {
		f.Errors = append(f.Errors, formError{field, fmt.Sprintf(problem, args...)})
	}
}

// text returns a field without the space around it.
func (f *form) text(field string) string { return strings.TrimSpace(f.Get(field)) }

// required returns a field that must have a text.
func (f *form) required(field, problem string, args ...any) string {
	value := f.text(field)
	f.check(value != "" && utf8.RuneCountInString(value) <= maxTextInput, field, problem, args...)
	return value
}

// number returns a field that is a number from 1.
func (f *form) number(field string, most int) int {
	n, err := strconv.Atoi(f.text(field))
	f.check(err == nil && n >= 1 && n <= most, field, "Choose a number from 1 to %d.", most)
	return n
}

// ages returns a field such as "4, 9".
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
	if cities := s.engine.service.Cities; len(cities) > 0 {
		start.Set("destination", cities[0])
	}
	return s.render(w, http.StatusOK, "home", form{Values: start})
}

// readSearch reads and checks the form.
func readSearch(q url.Values) (form, hotelstays.HotelListRequest) {
	f := form{Values: q}
	req := hotelstays.HotelListRequest{
		DestinationName: f.required("destination", "Enter the name of a city."),
		CheckIn:         types.Date(f.text("check_in")),
		CheckOut:        types.Date(f.text("check_out")),
	}
	in, err := req.CheckIn.Time()
	f.check(err == nil && in.After(time.Now().AddDate(0, 0, -2)), // in any time zone
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

// hotels searches, and shows the hotels while they arrive. Its address contains the whole search,
// so it can be bookmarked.
func (s *site) hotels(w http.ResponseWriter, r *http.Request) error {
	form, req := readSearch(r.URL.Query())
	if len(form.Errors) > 0 {
		return s.render(w, http.StatusUnprocessableEntity, "home", form)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var page bytes.Buffer
	found := s.engine.search(r.Context(), req, func() {
		page.WriteTo(w) // the browser may be gone
		http.NewResponseController(w).Flush()
	})
	err := s.pages["hotels"].ExecuteTemplate(&page, "layout", found)
	switch {
	case len(found.Hotels) == 0 && found.Err != nil:
		return found.Err // nothing is written
	case err != nil:
		s.log.ErrorContext(r.Context(), "a page was not sent to its end", "error", err)
	case found.Err != nil:
		s.log.ErrorContext(r.Context(), "a search broke off", "hotels", len(found.Hotels), "error", found.Err)
	}
	page.WriteTo(w)
	return nil
}

type hotelPage struct {
	Search search
	Hotel  types.Hotel
	Rooms  []types.Room
}

func (s *site) hotel(w http.ResponseWriter, r *http.Request) error {
	found, _ := s.engine.searches.Get(r.PathValue("search"))
	at := slices.IndexFunc(found.Hotels, func(h types.Hotel) bool { return h.ID == r.PathValue("hotel") })
	if at < 0 {
		return errExpired
	}
	rooms, err := s.engine.rates(r.Context(), found, found.Hotels[at])
	if err != nil {
		return err
	}
	return s.render(w, http.StatusOK, "hotel", hotelPage{found, found.Hotels[at], rooms})
}
