// The search form, the hotels, and the offers of one hotel.

package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

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

type searchForm struct {
	Destination, CheckIn, CheckOut, Rooms, Adults, Children string
	Cities                                                  []string
	Errors                                                  formErrors
}

// formErrors are the errors of a form, by field and in order.
type formErrors []formError

type formError struct{ Field, Text string }

// For returns the error of a field, or nil.
func (e formErrors) For(field string) *formError {
	for i := range e {
		if e[i].Field == field {
			return &e[i]
		}
	}
	return nil
}

func (e *formErrors) add(field, text string) { *e = append(*e, formError{field, text}) }

func (s *site) home(w http.ResponseWriter, _ *http.Request) error {
	form := searchForm{
		CheckIn:  string(types.DateOf(time.Now().AddDate(0, 2, 0))),
		CheckOut: string(types.DateOf(time.Now().AddDate(0, 2, 3))),
		Rooms:    "1", Adults: "2", Cities: s.engine.service.cities,
	}
	if len(form.Cities) > 0 {
		form.Destination = form.Cities[0]
	}
	return s.render(w, http.StatusOK, "home", form)
}

// readSearch reads and checks the form.
func readSearch(q url.Values) (searchForm, hotelstays.HotelListRequest) {
	field := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	f := searchForm{
		Destination: field("destination"), CheckIn: field("check_in"), CheckOut: field("check_out"),
		Rooms: field("rooms"), Adults: field("adults"), Children: field("children"),
	}
	if f.Destination == "" || len(f.Destination) > maxTextInput {
		f.Errors.add("destination", "Enter the name of a city.")
	}
	checkIn, err := types.Date(f.CheckIn).Time()
	switch {
	case err != nil:
		f.Errors.add("check_in", "Choose the day of arrival.")
	case checkIn.Before(time.Now().AddDate(0, 0, -2)): // in any time zone
		f.Errors.add("check_in", "Choose a day that is not past.")
	}
	checkOut, err := types.Date(f.CheckOut).Time()
	switch {
	case err != nil:
		f.Errors.add("check_out", "Choose the day of departure.")
	case !checkOut.After(checkIn):
		f.Errors.add("check_out", "Choose a day after the arrival.")
	case checkOut.After(checkIn.AddDate(0, 0, maxStay)):
		f.Errors.add("check_out", fmt.Sprintf("A stay has at most %d nights.", maxStay))
	}
	rooms := f.number("rooms", f.Rooms, maxRooms)
	room := types.GuestPerRoom{AdultCount: f.number("adults", f.Adults, maxAdults), ChildrenAges: f.ages()}
	req := hotelstays.HotelListRequest{DestinationName: f.Destination, CheckIn: types.Date(f.CheckIn), CheckOut: types.Date(f.CheckOut)}
	for range rooms {
		req.RoomOccupancies = append(req.RoomOccupancies, room)
	}
	return f, req
}

func (f *searchForm) number(field, value string, most int) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		f.Errors.add(field, fmt.Sprintf("Choose a number from 1 to %d.", most))
		return 0
	}
	return n
}

// ages parses a list such as "4, 9".
func (f *searchForm) ages() []int {
	var ages []int
	for _, word := range strings.FieldsFunc(f.Children, func(r rune) bool { return r == ',' || r == ' ' || r == ';' }) {
		age, err := strconv.Atoi(word)
		if err != nil || age < 0 || age > maxChildAge || len(ages) == maxChildren {
			f.Errors.add("children", fmt.Sprintf("Enter the age of each child, up to %d children from 0 to %d, such as: 4, 9.",
				maxChildren, maxChildAge))
			return nil
		}
		ages = append(ages, age)
	}
	return ages
}

// hotels searches. Its address contains the whole search, so it can be bookmarked.
func (s *site) hotels(w http.ResponseWriter, r *http.Request) error {
	form, req := readSearch(r.URL.Query())
	if len(form.Errors) > 0 {
		form.Cities = s.engine.service.cities
		return s.render(w, http.StatusUnprocessableEntity, "home", form)
	}
	found, err := s.engine.search(r.Context(), req)
	if err != nil {
		return err
	}
	defer found.close()
	found.shown = func() { _ = http.NewResponseController(w).Flush() } // the browser may be gone
	s.renderArriving(w, "hotels", found)
	if found.Err != nil {
		s.log.ErrorContext(r.Context(), "a search broke off", "hotels", len(found.Hotels), "error", found.Err)
	}
	return nil
}

type hotelPage struct {
	Search search
	Hotel  types.Hotel
	Rooms  []types.Room
}

func (s *site) hotel(w http.ResponseWriter, r *http.Request) error {
	found, ok := s.engine.searches.get(r.PathValue("search"))
	if !ok {
		return errExpired
	}
	hotel, ok := found.hotel(r.PathValue("hotel"))
	if !ok {
		return errExpired
	}
	rooms, err := s.engine.rates(r.Context(), found, hotel)
	if err != nil {
		return err
	}
	return s.render(w, http.StatusOK, "hotel", hotelPage{found, hotel, rooms})
}
