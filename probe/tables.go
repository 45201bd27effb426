// The checks of most rules: changed requests with expected answers, and requests that must get the same answer.

package probe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// expectation is a function that judges an answer. If the answer settles an open point of the document, the function
// returns the finding, otherwise "".
type expectation func(*run, *answer) string

// ofSpare and ofEnded are used like operations in rules whose valid request names a booking of the run. The valid
// requests of real operations name orders that do not exist.
const (
	ofSpare operation = "Cancel of the second booking"
	ofEnded operation = "QueryOrders of the cancelled booking"
)

// ask returns the check of a rule that sends a valid request once for each of the changes, each time with only that change. It
// stops at the first answer that breaks the rule. If a change cannot be tried, it sends the other changes, and then skips the rule.
func ask(op operation, want expectation, changes []obj) func(*run) {
	return func(r *run) {
		var texts []string
		var missing error
		by := map[string][]string{}
		for _, change := range changes {
			text := ""
			err := attempt(func() { text = cut(r.asked(op, want, change), maxText/len(changes)) })
			if missing = cmp.Or(missing, err); err != nil && !errors.As(err, new(untried)) {
				panic(stop{err})
			}
			if by[text] == nil {
				texts = append(texts, text)
			}
			by[text] = append(by[text], named(change))
		}
		if missing != nil {
			panic(stop{missing})
		}
		for i, text := range texts {
			if len(texts) > 1 {
				texts[i] = text + ": " + strings.Join(by[text], ", ")
			}
		}
		r.find("%s", strings.Join(texts, "; "))
	}
}

func (r *run) asked(op operation, want expectation, change obj) string {
	if op == opBook {
		return r.turnedDown(sending{change: change}, want)
	}
	if other, ok := change["op"].(operation); ok {
		op = other
	}
	return want(r, r.changed(op, change))
}

// named describes a change in a few words, such as "no holder.firstName".
func named(change obj) string {
	if name, given := change[""].(string); given {
		return name
	}
	var values []string
	for _, name := range slices.Sorted(maps.Keys(change)) {
		value, _ := json.Marshal(change[name])
		switch _, computed := change[name].(func(*run) any); {
		case computed:
			value = []byte(name)
		case change[name] == nil:
			value = []byte("no " + name)
		}
		values = append(values, string(value))
	}
	return strings.Join(values, " ")
}

// accepted requires a success. It does not check the form of the answer, because the judge does.
func accepted(_ *run, a *answer) string { a.ok(); return "" }

// gets accepts any answer. The finding is the HTTP status and the code of the answer.
func gets(_ *run, a *answer) string { a.came(); return a.String() }

// sampled accepts any answer. After a success the finding is a sample of the data, otherwise the status and the code.
func sampled(r *run, a *answer) string {
	if a.allowed(); !a.succeeded() {
		return a.String()
	}
	return r.masker.body([]byte(encoded(sample(decoded(a.Data)))), false)
}

// sample shortens a JSON value: of a list it keeps only the last element, and of a text in several languages only the
// English text.
func sample(v any) any {
	switch v := v.(type) {
	case obj:
		if english, ok := v["en"].(string); ok {
			return english
		}
		for name, member := range v {
			v[name] = sample(member)
		}
	case []any:
		if len(v) > 0 {
			return []any{sample(v[len(v)-1])}
		}
	}
	return v
}

func members(o obj) string { return strings.Join(slices.Sorted(maps.Keys(o)), " ") }

// refuses returns an expectation that requires a refusal with this status and this code. 0 allows every value. If code is
// 0, the finding is the status and the code.
func refuses(status, code int) expectation {
	return func(_ *run, a *answer) string {
		if a.refused(status, code); code != 0 {
			return ""
		}
		return a.String()
	}
}

var (
	refusal  = refuses(0, 0)
	badParam = refuses(0, types.CodeParam)
)

// naming returns an expectation that requires a refusal whose msg contains the name of the wrong parameter.
func naming(parameter string) expectation {
	return func(_ *run, a *answer) string {
		a.refused(0, types.CodeParam)
		breaks(!strings.Contains(a.msg(), parameter), "msg does not name %s", parameter)
		return ""
	}
}

// noOffer requires that CheckAvail refuses the request, or answers that no offer is available.
func noOffer(_ *run, a *answer) string {
	a.allowed()
	breaks(a.succeeded() && read[hotelstays.CheckAvailResponse](a).Available(), "the offer is available")
	return fmt.Sprintf("%s, status %s", a, a.member("status"))
}

// noOrder requires that Cancel refuses the request with HTTP 404 or 400.
func noOrder(_ *run, a *answer) string {
	a.refused(0, 0)
	breaks(a.Status != http.StatusNotFound && a.Status != http.StatusBadRequest, "expected HTTP 404 or 400, got %s", a)
	return a.String()
}

// doubted accepts any answer. A success makes the rule weak.
func doubted(r *run, a *answer) string {
	a.allowed()
	r.suffers(a.succeeded(), "%s accepts the request", a.op)
	return a.String()
}

// fills returns an expectation that makes the rule weak if a page is not full although another page follows. The document
// does not forbid this.
func fills(size int) expectation {
	return func(r *run, a *answer) string {
		a.ok()
		n := len(hotelIDs(a))
		r.suffers(n < size && a.more(), "the page has %d hotels instead of %d, although another page follows", n, size)
		return ""
	}
}

func (r *run) changed(op operation, change obj) *answer {
	c := r.lawful(op)
	r.apply(&c, change)
	return r.do(c)
}

// apply changes a call. Most names in change are members of the body. Some names are special:
//   - a name that begins with an upper-case letter is a header, and "token" is the token of the call;
//   - a name with a dot is a member of an object, or of each element of a list;
//   - "" has a value that describes the change, and changes nothing;
//   - "op" has the operation as its value; the caller of apply has set it already.
//
// The value nil removes the member. If the value is a function, its result is the value.
func (r *run) apply(c *call, change obj) {
	body, _ := decoded([]byte(encoded(c.body))).(obj)
	for name, value := range change {
		if computed, ok := value.(func(*run) any); ok {
			value = computed(r)
		}
		text, _ := value.(string)
		switch {
		case name == "", name == "op":
		case name == "Session-Id":
			c.session = text
		case name == "Currency":
			c.currency = text
		case name == "token":
			c.token = text
		case name[0] <= 'Z':
			if name == "Authorization" {
				c.token = unknownTicket // so do uses another client; after a refusal, the client of the run would renew its token
			}
			c.edit = func(h http.Header) {
				if h.Set(name, text); value == nil {
					h.Del(name)
				}
			}
		default:
			set(body, name, value)
		}
	}
	c.body = body
}

// set changes a member of an object, or of each object in a list. The value nil removes the member. If the value is a
// function, set calls it with the object and stores the result.
func set(at any, path string, value any) {
	name, below, deeper := strings.Cut(path, ".")
	list, _ := at.([]any)
	for _, element := range list {
		set(element, path, value)
	}
	switch o, _ := at.(obj); {
	case o == nil:
	case deeper:
		set(o[name], below, value)
	case value == nil:
		delete(o, name)
	default:
		if of, computed := value.(func(obj) any); computed {
			value = of(o)
		}
		o[name] = value
	}
}

func changes(name string, values ...any) (all []obj) {
	for _, value := range values {
		all = append(all, obj{name: value})
	}
	return all
}

// everyOp returns one change per operation in readOps, and one for Cancel. Each change sets name to value.
func everyOp(name string, value any) (all []obj) {
	for _, op := range append(readOps, opCancel) {
		all = append(all, obj{"op": op, name: value})
	}
	return all
}

// same returns the check of a rule: valid requests with these changes must get the same answer. A function (of) selects
// the part of each answer that is compared.
func same(op operation, of func(*answer) []string, changes []obj) func(*run) {
	return func(r *run) {
		all := func() (lists [][]string) {
			for _, change := range changes {
				a := r.changed(op, change)
				a.ok()
				lists = append(lists, of(a))
			}
			return lists
		}
		lists := all()
		differs := slices.IndexFunc(lists, func(other []string) bool { return !slices.Equal(lists[0], other) })
		if strings.HasPrefix(r.rule.Promise, "whether") {
			r.find("it is: %t", differs < 0)
		} else if differs > 0 {
			skip(!slices.EqualFunc(lists, all(), slices.Equal), "the service answers the same request differently")
			first, other := lists[0], lists[differs]
			breaks(true, "expected the same answer for %q and %q, got %d elements and %d: %v and %v", named(changes[differs]), named(changes[0]),
				len(other), len(first), other, first)
		}
	}
}

// texts selects the values at a path, as sorted JSON texts: the document promises no order of lists.
func texts(path string) func(*answer) []string {
	return func(a *answer) []string { return ids(a.at(path), encoded) }
}

// hotelIDs returns the ids of the hotels on a page of HotelList or HotelsMetadata.
func hotelIDs(a *answer) []string {
	return ids(append(a.at("list"), a.at("hotelsMetadata")...), func(v any) string {
		h, _ := v.(obj)
		name := func(member string) string { text, _ := h[member].(string); return text }
		return cmp.Or(strings.TrimSpace(name("hotelId")+" "+name("platformHotelId")), name("id"))
	})
}
