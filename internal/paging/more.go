// Signs that an answer without items may be incomplete.

package paging

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// namesOfMore are the names by which APIs announce more pages, in lower case without separators.
var (
	namesOfMore = []string{"more", "hasmore", "hasnext", "hasnextpage", "next", "nextpage", "nextpagenum", "nextpagetoken", "nexttoken",
		"cursor", "nextcursor", "count", "total", "totalcount", "totalitems", "totalelements", "totalpages"}
	wordSeparators = strings.NewReplacer("_", "", "-", "")
)

// SignOfMore returns the name of a member of a JSON answer that may announce more results, or "". The document names no such
// member for QueryOrders, so SignOfMore looks for names that other APIs use. It searches the answer, its data, and in data
// the members whose names contain "page".
func SignOfMore(answer []byte) string { return signOfMore(answer, "data", "page") }

// signOfMore searches an object, and the members whose names contain below[0]. Inside such a member it searches the members
// whose names contain below[1].
func signOfMore(object []byte, below ...string) string {
	members := json.NewDecoder(bytes.NewReader(object))
	if start, _ := members.Token(); start != json.Delim('{') {
		return ""
	}
	for members.More() {
		token, _ := members.Token()
		var value json.RawMessage
		if members.Decode(&value) != nil {
			return "an unreadable member"
		}
		name, _ := token.(string)
		has := func(word string) bool { return strings.Contains(strings.ToLower(name), word) }
		switch {
		case IsNothing(value):
		case slices.Contains(namesOfMore, wordSeparators.Replace(strings.ToLower(name))):
			return strconv.Quote(name)
		case len(below) > 0 && has(below[0]) && value[0] == '{':
			if sign := signOfMore(value, below[1:]...); sign != "" {
				return strconv.Quote(name) + "." + sign
			}
		case len(below) > 0 && has(below[0]) && value[0] == '[':
			return strconv.Quote(name)
		}
	}
	return ""
}

// IsNothing reports whether a JSON value is empty, zero, false or null.
func IsNothing(value json.RawMessage) bool {
	return slices.Contains([]string{"false", "0", "null", `""`, "[]", "{}"}, string(value))
}
