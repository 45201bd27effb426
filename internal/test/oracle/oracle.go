// Package oracle decodes an answer with encoding/json, as a reference for package wire. It lists the mismatches, leaves
// their values out, and decodes all other values. It is slow, and does not limit memory.
package oracle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hotelstays/hotelstays-go/types"
)

// essential lists the JSON fields without which a struct is useless. The key is the name of the struct. A mismatch in such a
// field makes the whole struct a mismatch.
var essential = map[string]string{
	"Destination": "id", "DestinationsResponse": "destinations", "Hotel": "id platformHotelId", "HotelIDListItem": "hotelId",
	"HotelIDListResponse": "hotelIdList", "HotelListResponse": "list hasMore", "HotelMetadata": "hotelId platformHotelId",
	"HotelRatesResponse": "rooms", "HotelStaticDetailResponse": "hotel", "HotelsMetadataResponse": "hotelsMetadata page",
	"PageResp": "hasMore", "Room": "rates", "SearchBasic": "sessionId",
	"RoomRatePkg": "ratePkgId refundableMode refundableUntil cancelFees rate totalRate checkIn checkOut tax",
}

// whole is the name of a list. If one of its elements cannot be decoded, the whole answer is refused.
const whole = "QueryOrdersResponse.orders"

type Answer struct {
	// Invalid means that the text is not JSON. Unusable means that the text is ambiguous. Refused means that the text has
	// a mismatch that makes the whole answer useless. CodeMismatch means that the envelope's code is not an integer. If
	// several fields are true, the first counts.
	Invalid, Unusable, Refused, CodeMismatch bool

	HasCode, HasData bool
	Code             int
	Msg              string // value of the member "msg"; empty if the value is not a string
	// Mismatches lists all mismatches with their paths.
	Mismatches []string
}

// Read decodes an answer into a struct. If bare is true, the answer has no envelope, and its whole text is the data.
func Read(text []byte, into any, bare bool) (a Answer) {
	if !json.Valid(text) {
		return Answer{Invalid: true}
	}
	r := reader{answer: &a}
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	root := parse(tokens, string(text))
	if bare {
		r.decode(root, into, "")
		a.HasData = !a.Unusable && !a.Refused
		return a
	}
	if root.kind != '{' {
		return a
	}
	code, msg, data := r.envelopeMember(root, "code"), r.envelopeMember(root, "msg"), r.envelopeMember(root, "data")
	switch {
	case a.Unusable:
		return a
	case code != nil && code.kind != 'n':
		n, err := strconv.Atoi(code.text)
		if a.CodeMismatch = code.kind != '0' || err != nil; a.CodeMismatch {
			return a
		}
		a.Code, a.HasCode = n, true
	}
	if msg != nil && msg.kind == '"' {
		_ = json.Unmarshal([]byte(msg.text), &a.Msg)
	}
	if a.HasCode && a.Code == 0 && data != nil && data.kind != 'n' {
		r.decode(data, into, "data")
		a.HasData = !a.Unusable && !a.Refused
	}
	return a
}

// node is a JSON value. kind is the first byte of its text, or '0' for a number.
type node struct {
	kind    byte
	text    string
	names   []string
	members []*node // values in an object or an array
}

func parse(d *json.Decoder, text string) *node {
	begin := int(d.InputOffset())
	for strings.IndexByte(" \t\r\n,:", text[begin]) >= 0 {
		begin++
	}
	n := &node{kind: text[begin]}
	token, err := d.Token()
	switch {
	case err != nil && err != io.EOF:
		panic(err)
	case token == json.Delim('{'), token == json.Delim('['):
		for d.More() {
			if n.kind == '{' {
				name, _ := d.Token()
				n.names = append(n.names, name.(string))
			}
			n.members = append(n.members, parse(d, text))
		}
		_, _ = d.Token()
	case n.kind == '-' || '0' <= n.kind && n.kind <= '9':
		n.kind = '0'
	}
	n.text = text[begin:d.InputOffset()]
	return n
}

var jsonTypes = map[byte]string{'{': "object", '[': "array", '"': "string", 't': "boolean", 'f': "boolean", 'n': "null", '0': "number"}

func (n *node) jsonType() string {
	return jsonTypes[n.kind]
}

type reader struct {
	answer *Answer
	lost   bool // the last value has a mismatch inside
}

// envelopeMember returns the member with this name, or nil. Two such members make the answer unusable.
func (r *reader) envelopeMember(n *node, name string) (member *node) {
	for i, other := range n.names {
		switch {
		case other == name:
			r.answer.Unusable = r.answer.Unusable || member != nil
			member = n.members[i]
		case strings.EqualFold(other, name) && name != "msg":
			r.answer.Unusable = true
		}
	}
	return member
}

func (r *reader) decode(n *node, into any, path string) {
	text, fits := r.value(n, reflect.TypeOf(into).Elem(), path)
	r.answer.Refused = r.answer.Refused || !fits
	if r.answer.Unusable || r.answer.Refused {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		panic(fmt.Sprintf("%v: %s", err, text))
	}
}

func (r *reader) mismatch(path, want string, n *node) {
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		path = "the document"
	}
	r.answer.Mismatches = append(r.answer.Mismatches, fmt.Sprintf("%s: want %s, got %s", path, want, n.jsonType()))
}

// value returns the JSON text of n without mismatches, for encoding/json to decode into t. If n itself has the wrong
// type, fits is false.
func (r *reader) value(n *node, t reflect.Type, path string) (text string, fits bool) {
	r.lost = false
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := wanted(t)
	switch {
	case want == "" || n.kind == 'n':
		return n.text, true
	case want == "object" && n.kind == '{' && t.Kind() == reflect.Struct:
		return r.object(n, t, path)
	case want == "object" && n.kind == '{':
		return r.entries(n, t.Elem(), path), true
	case want == "array" && n.kind == '[':
		return r.elements(n, t.Elem(), path, false), true
	case want == "integer" && n.kind == '0':
		if whole, ok := wholeNumber(n.text, t.Bits()); ok {
			return whole, true
		}
	case want == "number" && n.kind == '0':
		_, err := strconv.ParseFloat(n.text, 64)
		if t == number || err == nil && len(n.text) <= 1024 {
			return n.text, true
		}
	case want == "number" && n.kind == '"' && t == number:
		if len(n.text) <= 1024 && n.text != `""` && json.Unmarshal([]byte(n.text), new(json.Number)) == nil {
			return n.text, true
		}
	case want == n.jsonType():
		return n.text, true
	case want == "string" && n.kind == '0':
		r.mismatch(path, want, n)
		return strconv.Quote(n.text), true
	}
	r.mismatch(path, want, n)
	return "", false
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	number      = reflect.TypeFor[json.Number]()
	secret      = reflect.TypeFor[types.Secret]()
	orderStatus = reflect.TypeFor[types.OrderStatus]()
)

// wanted returns the JSON type that the decoder expects for t, such as "integer". "" means that it accepts any JSON.
func wanted(t reflect.Type) string {
	switch kind := t.Kind(); {
	case t == number:
		return "number"
	case t == secret:
		return "string"
	case (kind == reflect.Struct || kind == reflect.Slice) && reflect.PointerTo(t).Implements(unmarshaler):
		return ""
	default:
		return wantedKinds[kind]
	}
}

var wantedKinds = map[reflect.Kind]string{reflect.Struct: "object", reflect.Map: "object", reflect.Slice: "array", reflect.String: "string",
	reflect.Bool: "boolean", reflect.Float64: "number", reflect.Int: "integer", reflect.Int64: "integer"}

// wholeNumber returns the digits of an integer, which may be written as 2.0 or 2e1. It returns false if the number is not
// an integer, or needs more bits than the parameter bits allows.
func wholeNumber(text string, bits int) (string, bool) {
	const longest = 20
	if len(text) > longest {
		return "", false
	}
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	_, fraction, _ := strings.Cut(digits, ".")
	power, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if power -= len(fraction); err != nil || power > longest || power < -longest {
		return "", false
	}
	number, _ := new(big.Rat).SetString(text)
	_, err = strconv.ParseInt(number.Num().String(), 10, bits)
	return number.Num().String(), err == nil && number.IsInt()
}

func (r *reader) object(n *node, t reflect.Type, path string) (text string, fits bool) {
	var members []string
	seen := map[string]bool{}
	own, lost := strings.Fields(essential[t.Name()]), false
	fits = true
	for i, name := range n.names {
		f, known := fieldOf(t, name)
		exact := strings.TrimPrefix(whole, t.Name()+".")
		switch {
		case !known:
			r.answer.Unusable = r.answer.Unusable || exact != whole && strings.EqualFold(name, exact)
			continue
		case seen[name]:
			r.answer.Unusable = true
		}
		seen[name] = true
		value, valueFits := "", true
		if name == exact && n.members[i].kind == '[' {
			value = r.elements(n.members[i], f.Elem(), path+"."+name, true)
		} else {
			value, valueFits = r.value(n.members[i], f, path+"."+name)
		}
		r.answer.Refused = r.answer.Refused || name == exact && !valueFits
		below := r.lost || !valueFits
		lost = lost || below
		fits = fits && !(below && slices.Contains(own, name))
		if !valueFits && f == orderStatus {
			value, valueFits = strconv.Itoa(int(types.OrderStatusUnreadable)), true
		}
		if valueFits {
			members = append(members, strconv.Quote(name)+":"+value)
		}
	}
	r.lost = lost && len(own) == 0
	return "{" + strings.Join(members, ",") + "}", fits
}

var fields sync.Map // the fields of each struct type, by their JSON names

func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	known, ok := fields.Load(t)
	if !ok {
		byName := map[string]reflect.Type{}
		for i := range t.NumField() {
			if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag != "-" && t.Field(i).IsExported() {
				byName[tag] = t.Field(i).Type
			}
		}
		known, _ = fields.LoadOrStore(t, byName)
	}
	f, ok := known.(map[string]reflect.Type)[name]
	return f, ok
}

func (r *reader) entries(n *node, t reflect.Type, path string) string {
	var members []string
	seen, lost := map[string]bool{}, false
	for i, name := range n.names {
		r.answer.Unusable = r.answer.Unusable || seen[name]
		seen[name] = true
		shown := "*"
		if len(name) == 3 && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz") == "" {
			shown = name
		}
		value, fits := r.value(n.members[i], t, path+"."+shown)
		if lost = lost || r.lost || !fits; !fits {
			value = "null"
		}
		key, _ := json.Marshal(name)
		members = append(members, string(key)+":"+value)
	}
	r.lost = lost
	return "{" + strings.Join(members, ",") + "}"
}

// elements returns the JSON text of a list. If t is a struct with essential fields, mismatched elements are left out.
// Otherwise a mismatched element becomes null.
func (r *reader) elements(n *node, t reflect.Type, path string, whole bool) string {
	var elements []string
	leavesOut, lost := essential[t.Name()] != "", false
	for i, element := range n.members {
		at := fmt.Sprintf("%s[%d]", path, i)
		null := element.kind == 'n' && (leavesOut || whole)
		if null {
			r.mismatch(at, "object", element)
		}
		value, fits := r.value(element, t, at)
		r.answer.Refused = r.answer.Refused || whole && (null || !fits)
		switch {
		case leavesOut && (null || !fits):
		case !fits:
			lost = true
			elements = append(elements, "null")
		default:
			lost = lost || r.lost
			elements = append(elements, value)
		}
	}
	r.lost = lost
	return "[" + strings.Join(elements, ",") + "]"
}
