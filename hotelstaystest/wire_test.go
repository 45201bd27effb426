package hotelstaystest

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// addFields adds the paths of the JSON fields of a type, each with the JSON type of its values. A type with its own
// JSON methods has no fields, unless the type is a whole request or answer.
func addFields(found map[string]string, path string, t reflect.Type) {
	switch pointer := reflect.PointerTo(t); {
	case path == "" && t.Kind() == reflect.Struct && pointer.Implements(reflect.TypeFor[json.Marshaler]()):
		addStruct(found, path, t)
	case pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()), pointer.Implements(reflect.TypeFor[json.Unmarshaler]()),
		pointer.Implements(reflect.TypeFor[json.Marshaler]()), t == reflect.TypeFor[json.Number]():
		found[path] = ""
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Map, t.Kind() == reflect.Slice:
		addFields(found, path, t.Elem())
	case t.Kind() != reflect.Struct:
		found[path] = jsonName(t)
	default:
		addStruct(found, path, t)
	}
}

func addStruct(found map[string]string, path string, t reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			addFields(found, path, f.Type)
		case f.IsExported() && name != "-":
			addFields(found, path+"."+name, f.Type)
		}
	}
}

// differingFields are fields that only the client or only the sandbox has. A path without an operation is for all operations.
var differingFields = []string{
	"sessionId", "Book.expect", // sessionId is a header, and expect is not sent
	"OAuthToken.grant_type",                                              // the client adds it when it sends the request
	"OAuthToken.expires_in", "OAuthToken.scope", "OAuthToken.token_type", // undocumented; from OAuth 2.0
	"HotelsMetadata.hotelsMetadata.id", "HotelsMetadata.hotelsMetadata.isAvailable", "HotelsMetadata.hotelsMetadata.minPrice",
	"HotelsMetadata.hotelsMetadata.minPricesByCurrency", "HotelsMetadata.hotelsMetadata.rooms", // always empty
	"HotelStaticDetail.hotel.hotelId", "HotelList.list.hotelId", // always empty
	"CheckAvail.statusRemark",                                                                                  // undocumented place
	"hotelOrder.rooms.guests", "hotelOrder.rooms.refundInfo", "orders.rooms.guests", "orders.rooms.refundInfo", // raw JSON in the client
	"hotelOrder.rooms.rates", "orders.rooms.rates", // always empty
}

// The client sends exactly the fields that the sandbox accepts, and reads exactly the fields of the sandbox's answers.
func TestSandboxAndClientHaveTheSameFields(t *testing.T) {
	used := map[string]bool{}
	for _, op := range operations() {
		method, _ := reflect.TypeFor[*hotelstays.Client]().MethodByName(string(op.name))
		run := reflect.TypeOf(op.runner)
		for _, types := range [][2]reflect.Type{{method.Type.In(2), run.In(2)}, {method.Type.Out(0), run.Out(0)}} {
			client, sandbox := map[string]string{}, map[string]string{}
			addFields(client, "", types[0])
			addFields(sandbox, "", types[1])
			all := maps.Clone(client)
			maps.Copy(all, sandbox)
			for field := range all {
				is, here := client[field]
				want, there := sandbox[field]
				path := string(op.name) + field
				i := slices.IndexFunc(differingFields, func(own string) bool {
					return strings.HasPrefix(path+".", own+".") || strings.HasPrefix(field+".", "."+own+".")
				})
				switch both := here && there && (is == want || is == "" || want == ""); {
				case !both && i >= 0:
					used[differingFields[i]] = true
				case !both:
					t.Errorf("the client has %s: %v %s; the sandbox: %v %s", path, here, is, there, want)
				}
			}
		}
	}
	failIf(t, len(used) != len(differingFields), "of %q only these differ: %q", differingFields, slices.Sorted(maps.Keys(used)))
}

func TestInvalidRequestBodyIsRefused(t *testing.T) {
	u := login(t, start(t, Config{NoRateLimits: true}))
	for name, tc := range map[string]struct{ path, body, msg string }{
		"unknown field":             {destinationsPath, `{"countrycode":"AE"}`, "unknown field countrycode"},
		"unknown nested field":      {metadataPath, `{"destinationId":"x","page":{"pagesize":1}}`, "unknown field page.pagesize"},
		"unknown field in a list":   {listPath, `{"roomOccupancies":[{"adults":2}]}`, "unknown field roomOccupancies[0].adults"},
		"string for integer":        {destinationsPath, `{"minHotelCount":"1"}`, "minHotelCount must be integer, not string"},
		"fraction for integer":      {destinationsPath, `{"minHotelCount":1.5}`, "minHotelCount must be integer"},
		"number for string":         {detailPath, `{"hotelId":5}`, "hotelId must be string, not number"},
		"array for string":          {destinationsPath, `{"countryCode":["AE"]}`, "countryCode must be string, not array"},
		"scalar for object":         {metadataPath, `{"page":1}`, "page must be object"},
		"null value":                {destinationsPath, `{"countryCode":null}`, "countryCode is null"},
		"repeated field":            {destinationsPath, `{"countryCode":"AE","countryCode":"FR"}`, "countryCode appears twice"},
		"two JSON objects":          {destinationsPath, `{}{}`, "data after its JSON object"},
		"array as the body":         {destinationsPath, `[]`, "the body must be object"},
		"empty body":                {destinationsPath, ``, "empty"},
		"body cut off":              {destinationsPath, `{"countryCode":"A`, "not valid JSON"},
		"field of an older edition": {queryPath, `{"orderIds":["1"]}`, "unknown field orderIds"},
	} {
		t.Run(name, func(t *testing.T) {
			u.refused(tc.path, tc.body, 400, types.CodeParam, tc.msg)
		})
	}
}
