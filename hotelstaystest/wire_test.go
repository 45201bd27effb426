// The wire fields of the sandbox are those of the client: a field that one of them gains alone
// fails here.

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
)

// addFields adds the paths of the JSON fields of a type, with the word for their values. A type that
// reads or writes itself has none.
func addFields(found map[string]string, path string, t reflect.Type) {
	switch pointer := reflect.PointerTo(t); {
	case pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()), pointer.Implements(reflect.TypeFor[json.Unmarshaler]()),
		pointer.Implements(reflect.TypeFor[json.Marshaler]()), t == reflect.TypeFor[json.Number]():
		found[path] = ""
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Map, t.Kind() == reflect.Slice:
		addFields(found, path, t.Elem())
	case t.Kind() != reflect.Struct:
		found[path] = jsonName(t)
	default:
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
}

// onesOwn are the fields that the client or the sandbox has alone, of one operation or of any.
var onesOwn = []string{
	"OAuthToken.grant_type",                                              // which the client sets itself
	"OAuthToken.expires_in", "OAuthToken.scope", "OAuthToken.token_type", // undocumented, as OAuth has them
	"HotelsMetadata.hotelsMetadata.id", "HotelsMetadata.hotelsMetadata.isAvailable", "HotelsMetadata.hotelsMetadata.minPrice",
	"HotelsMetadata.hotelsMetadata.minPricesByCurrency", "HotelsMetadata.hotelsMetadata.rooms", // always empty
	"HotelStaticDetail.hotel.hotelId", "HotelList.list.hotelId", // always empty
	"CheckAvail.statusRemark",                                                                                  // whose place is undocumented
	"hotelOrder.rooms.guests", "hotelOrder.rooms.refundInfo", "orders.rooms.guests", "orders.rooms.refundInfo", // JSON for the client
	"hotelOrder.rooms.rates", "orders.rooms.rates", // always empty
}

// The client sends all fields that the sandbox takes, reads all that it answers with, and no others.
func TestFieldsAreThoseOfTheClient(t *testing.T) {
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
				i := slices.IndexFunc(onesOwn, func(own string) bool {
					return strings.HasPrefix(path+".", own+".") || strings.HasPrefix(field+".", "."+own+".")
				})
				switch both := here && there && (is == want || is == "" || want == ""); {
				case !both && i >= 0:
					used[onesOwn[i]] = true
				case !both:
					t.Errorf("the client has %s: %v %s; the sandbox: %v %s", path, here, is, there, want)
				}
			}
		}
	}
	failIf(t, len(used) != len(onesOwn), "some of %q are fields of both, or of none: %q", onesOwn, slices.Sorted(maps.Keys(used)))
}
