// What an answer without items proves.

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
		case isNothing(value):
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

func isNothing(value json.RawMessage) bool {
	return slices.Contains([]string{"false", "0", "null", `""`, "[]", "{}"}, string(value))
}

// IsNull reports whether a list in the data of an answer is null, and all other members of data are empty, because another
// member could hold the items. The decoder has already refused an answer that has a name twice, or data or the list not in
// lower case.
func IsNull(answer []byte, list string) bool {
	var env struct{ Data map[string]json.RawMessage }
	if json.Unmarshal(answer, &env) != nil || string(env.Data[list]) != "null" {
		return false
	}
	for _, value := range env.Data {
		if !isNothing(value) {
			return false
		}
	}
	return true
}
