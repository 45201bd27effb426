// Validation: the documented rules that can be checked before sending.

package hotelstays

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotelstays/hotelstays-go/internal/hosts"
	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/types"
)

// ValidationError reports invalid input, with all faults. Nothing was sent.
type ValidationError struct {
	Operation Operation // the operation that was called; empty if Func is set
	Func      string    // the function that was called, such as "New", if it is not an operation
	Fields    []FieldError
}

// FieldError is one fault of a request or of its options.
type FieldError struct {
	// Path is a JSON path in the request, such as guests[0].roomIndex, or the name of a header, an option or a parameter.
	Path    string
	Problem string // what is wrong, and which value is right
}

// Error lists all faults.
func (e *ValidationError) Error() string {
	texts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = f.Path + ": " + f.Problem
	}
	all := strings.Join(texts, "; ")
	if e.Func != "" {
		return fmt.Sprintf("hotelstays: %s: %s", e.Func, all)
	}
	return fmt.Sprintf("hotelstays: %s: nothing was sent: %s", e.Operation, all)
}

func (*ValidationError) kind() ErrorKind { return KindValidation }

func (e *ValidationError) details() details {
	return details{operation: cmp.Or(e.Operation, Operation(e.Func))}
}

// LogValue returns attributes for slog, like APIError.LogValue. For an error without an Operation, the attribute operation
// is Func.
func (e *ValidationError) LogValue() slog.Value { return logValue(e) }

type validation struct {
	faults
	loopback  bool // the base URL is a loopback address, so the callback URL may be a loopback address, too
	callbacks bool // whether the credential may register callback URLs
}

type faults []FieldError

func (f *faults) add(path, problem string, args ...any) {
	*f = append(*f, FieldError{Path: path, Problem: fmt.Sprintf(problem, args...)})
}

func (f *faults) err(name Operation) error {
	switch {
	case len(*f) == 0:
		return nil
	case operations[name] != nil:
		return &ValidationError{Operation: name, Fields: *f}
	}
	return &ValidationError{Func: string(name), Fields: *f}
}

func (f *faults) required(path, value string) {
	if strings.TrimSpace(value) == "" {
		f.add(path, "is required")
		return
	}
	f.text(path, value)
}

// text refuses invalid UTF-8, because JSON would change it.
func (f *faults) text(path, value string) {
	if !utf8.ValidString(value) {
		f.add(path, "is not valid UTF-8")
	}
}

func (f *faults) texts(path string, values []string) {
	for i, value := range values {
		f.text(fmt.Sprintf("%s[%d]", path, i), value)
	}
}

func (f *faults) date(path string, d types.Date) {
	if d == "" {
		f.add(path, "is required, as YYYY-MM-DD")
	} else if _, err := d.Time(); err != nil {
		f.add(path, "%v", err)
	}
}

const countryForm = "an ISO 3166-1 alpha-2 code such as AE"

func (f *faults) country(path, code string) {
	if code != "" && !isCountry(code) {
		f.add(path, "%q is not %s", code, countryForm)
	}
}

func (f *faults) pageSize(path string, size, limit int) {
	if size < 0 || size > limit {
		f.add(path, "is %d; it must lie between 1 and %d, or be 0 for the service's default", size, limit)
	}
}

// secret refuses the text "[redacted]", which JSON and logs contain instead of a secret.
func (f *faults) secret(path, value string) {
	if value == redact.Marker {
		f.add(path, "is the text %q, because JSON and logs redact secrets; set the secret again", redact.Marker)
	}
}

func (f *faults) session(id string, required bool) {
	switch {
	case required && strings.TrimSpace(id) == "":
		f.add("Session-Id", "is required; set SessionID to Basic.SessionID of the search, and store it with the booking, for Cancel")
	case !isHeaderValue(id):
		f.add("Session-Id", "contains characters that a header cannot carry")
	}
}

func (f *faults) hotelIDs(ids []string) {
	for i, id := range ids {
		f.required(fmt.Sprintf("hotelIds[%d]", i), id)
	}
}

func (f *faults) stay(checkIn, checkOut types.Date, rooms []types.GuestPerRoom) {
	f.date("checkIn", checkIn)
	f.date("checkOut", checkOut)
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

func (f *faults) serviceFacts(facts *ServiceFacts) {
	const option = "WithServiceFacts"
	states := slices.Concat(facts.StatusMeanings.Confirmed, facts.StatusMeanings.Pending, facts.StatusMeanings.Cancelled)
	for i, status := range states {
		if status == types.OrderStatusUnreadable {
			f.add(option, "statusMeanings has the status %d, which the client uses for a status that is not a number; leave it out", status)
		}
		if slices.Contains(states[:i], status) {
			f.add(option, "statusMeanings names the status %d twice", status)
		}
	}
	for _, status := range slices.Concat(facts.StatusMeanings.Confirmed, facts.StatusMeanings.Cancelled) {
		if isOpen(status) {
			f.add(option, "statusMeanings has the status %d, which the client treats as open; it may be only in pending", status)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(facts.RefusalCodes)) {
		if !oneOf(op, OpBook, OpCancel) {
			f.add(option, "refusalCodes names %q; only %s and %s have refusal codes", op, OpBook, OpCancel)
		}
		for _, code := range facts.RefusalCodes[op] {
			if code <= 0 {
				f.add(option, "refusalCodes of %s has the code %d; the code of a refusal is positive", op, code)
			}
		}
	}
}

func isCountry(code string) bool { return isCode(code, 2) }

func isCode(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func oneOf[T comparable](v T, known ...T) bool {
	return slices.Contains(known, v)
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Chan:
		return rv.IsNil()
	}
	return false
}

func headerProblem(value string) string {
	switch {
	case strings.TrimSpace(value) == "":
		return "is empty; leave out the option instead"
	case !isHeaderValue(value):
		return "contains characters that a header cannot carry"
	}
	return ""
}

// isHeaderValue reports whether net/http sends s unchanged as a header: s has no control characters, and no spaces at its
// ends.
func isHeaderValue(s string) bool {
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return false
		}
	}
	return strings.TrimSpace(s) == s
}

// noCursor refuses a cursor, because no answer is documented to return a cursor.
func noCursor(op Operation, cursor *int64) error {
	var f faults
	if cursor != nil {
		f.add("cursor", "must not be set, because iterators advance by page number")
	}
	return f.err(op)
}

// ValidateCallbackURL checks a URL as Book checks its CallbackURL: it must be https, with a public host. Like the
// service, the client refuses loopback, private and shared addresses, localhost, single-label names, *.internal and
// *.local. The client also refuses *.localhost, names that are not ASCII, multicast and link-local addresses, and
// addresses that IANA reserves. It refuses IPv6 addresses that contain an IPv4 address, and unusual notations of an
// address. The error is a *ValidationError.
//
// ValidateCallbackURL does not resolve names. The service resolves a name before each delivery, and delivers only to
// public addresses.
func ValidateCallbackURL(raw string) error {
	var f faults
	if problem := hosts.CallbackProblem(raw); problem != "" {
		f.add("callbackUrl", "%s", problem)
	}
	return f.err("ValidateCallbackURL")
}
