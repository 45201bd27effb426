// Validation: every documented rule that can be checked before sending.

package hotelstays

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/types"
)

// ValidationError reports bad input. Nothing was sent. It names every fault of
// the request and its options at once.
type ValidationError struct {
	// Operation is what was called: an operation, or another function such as "New".
	Operation Operation
	Faults    []Fault
}

// Fault is one thing that is wrong with a request.
type Fault struct {
	// Path is where: a JSON path of the request's body such as
	// guests[0].roomIndex, the name of a header, or the name of an option.
	Path string
	// Problem is what is wrong and what would be right.
	Problem string
}

// Error lists all faults.
func (e *ValidationError) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.Path + ": " + f.Problem
	}
	sent := ""
	if _, ok := operations[e.Operation]; ok {
		sent = "nothing was sent: "
	}
	return fmt.Sprintf("hotelstays: %s: %s%s", e.Operation, sent, strings.Join(texts, "; "))
}

// faults collects what is wrong. Its methods take the JSON path first.
type faults []Fault

func (f *faults) add(path, problem string, args ...any) {
	*f = append(*f, Fault{Path: path, Problem: fmt.Sprintf(problem, args...)})
}

func (f *faults) err(op Operation) error {
	if len(*f) == 0 {
		return nil
	}
	return &ValidationError{Operation: op, Faults: *f}
}

func (f *faults) required(path, value string) {
	if strings.TrimSpace(value) == "" {
		f.add(path, "is required")
		return
	}
	f.text(path, value)
}

// text refuses what JSON cannot carry.
func (f *faults) text(path, value string) {
	if !utf8.ValidString(value) {
		f.add(path, "is not UTF-8: it would be sent as another text")
	}
}

// texts refuses what JSON cannot carry in a list.
func (f *faults) texts(path string, values []string) {
	for i, value := range values {
		f.text(fmt.Sprintf("%s[%d]", path, i), value)
	}
}

func (f *faults) date(path string, d types.Date, required bool) {
	if d == "" {
		if required {
			f.add(path, "is required, as YYYY-MM-DD")
		}
		return
	}
	if _, err := d.Time(); err != nil {
		f.add(path, "%v", err)
	}
}

// country checks the form of an ISO 3166-1 alpha-2 code, where one is given.
func (f *faults) country(path, code string) {
	if code != "" && !isCode(code, 2) {
		f.add(path, "%q is not an ISO 3166-1 alpha-2 code such as AE", code)
	}
}

// pageSize checks a page size against its limit, which the service does not clamp.
func (f *faults) pageSize(path string, size, limit int) {
	if size < 0 || size > limit {
		f.add(path, "is %d; it must lie between 1 and %d, or be 0 for the service's default", size, limit)
	}
}

// secret refuses the marker that stands in for a secret in stored JSON.
func (f *faults) secret(path string, s types.Secret) {
	if s.Reveal() == redact.Marker {
		f.add(path, "holds the text %q: the request was copied through JSON or a log, which do not keep secrets", redact.Marker)
	}
}

// session checks a session's id; only a search can do without one.
func (f *faults) session(id string, required bool) {
	switch {
	case required && strings.TrimSpace(id) == "":
		f.add("Session-Id", "is required: set SessionID to the session of the search that returned the offer (Basic.SessionID of HotelList), kept with the booking for Cancel")
	case !isHeaderValue(id):
		f.add("Session-Id", "holds characters that a header cannot carry")
	}
}

// hotelIDs refuses ids that are empty, or would be sent as others.
func (f *faults) hotelIDs(ids []string) {
	for i, id := range ids {
		if strings.TrimSpace(id) == "" {
			f.add(fmt.Sprintf("hotelIds[%d]", i), "is empty")
		}
	}
	f.texts("hotelIds", ids)
}

// stay checks the dates and rooms of a search.
func (f *faults) stay(checkIn, checkOut types.Date, rooms []types.GuestPerRoom) {
	f.date("checkIn", checkIn, true)
	f.date("checkOut", checkOut, true)
	in, inErr := checkIn.Time()
	out, outErr := checkOut.Time()
	if inErr == nil && outErr == nil && !out.After(in) {
		f.add("checkOut", "is %s; it must be after the check-in, %s", checkOut, checkIn)
	}
	if len(rooms) == 0 {
		f.add("roomOccupancies", "is required, with one entry for each room")
	}
	for i, room := range rooms {
		if room.AdultCount < 1 {
			f.add(fmt.Sprintf("roomOccupancies[%d].adultCount", i), "is required, and at least 1")
		}
		for j, age := range room.ChildrenAges {
			if age < 0 {
				f.add(fmt.Sprintf("roomOccupancies[%d].childrenAges[%d]", i, j), "is negative")
			}
		}
	}
}

// isCode tells a code of n capital letters, as ISO writes them.
func isCode(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// oneOf tells whether v is one of those that are known.
func oneOf[T comparable](v T, known ...T) bool {
	return slices.Contains(known, v)
}
