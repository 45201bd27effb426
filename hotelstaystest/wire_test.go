// The wire fields of the sandbox are those of the client: a field that one of them gains alone
// fails here.

package hotelstaystest

import (
	"bytes"
	"encoding"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// Every operation takes a request of the client with all fields set, and takes no other fields.
func TestFullRequestsAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{ConfirmAfter: AtOnce, VoucherDelay: AtOnce, Webhooks: WebhookConfig{CallbackHandler: &receiver{}}})
		sent := &recorder{to: s.Client().Transport}
		client, err := hotelstays.New(s.URL, hotelstays.TicketCredential{AppKey: s.AppKey, AppSecret: types.NewSecret(s.AppSecret)},
			hotelstays.WithHTTPClient(&http.Client{Transport: sent}))
		stopIf(t, err != nil, "%v", err)
		in, offers := login(t, s).find(nil)
		values := map[string]any{ // of fields, by their names; the others have one for their type
			"AppKey": s.AppKey, "AppSecret": types.NewSecret(s.AppSecret), "TTL": time.Hour,
			"ClientID": s.ClientID, "ClientSecret": types.NewSecret(s.ClientSecret), "Scopes": []types.Scope{types.ScopeSearchRead},
			"Include": types.DestinationsIncludeDetails, "CountryCode": "AE", "ResidencyCode": "AE", "NationalityCode": "AE",
			"SessionID": in.headers["Session-Id"], "RatePkgID": offers[0], "CallbackURL": hook, "Gender": types.GenderFemale,
			"CheckIn": "2030-12-24", "CheckOut": "2030-12-26", "DateOfBirth": "2029-12-24", "Start": "2030-01-01", "End": "2030-12-31",
			"SortBy": types.SortPriceAsc, "StatusList": []types.StatusFilter{{Raw: json.RawMessage("2")}},
		}
		for _, op := range operations() {
			call := reflect.ValueOf(client).MethodByName(string(op.name))
			req := reflect.New(call.Type().In(1).Elem())
			fill(req.Elem(), values)
			got := call.Call([]reflect.Value{reflect.ValueOf(t.Context()), req})
			if err, _ := reflect.TypeAssert[error](got[1]); err != nil {
				t.Errorf("%s: %v", op.name, err)
				continue
			}
			want := fieldsOf(reflect.TypeOf(op.runner).In(2))
			failIf(t, !slices.Equal(sent.fields, want), "%s: the client sent\n%q, the sandbox takes\n%q", op.name, sent.fields, want)
			if booked, ok := reflect.TypeAssert[*hotelstays.BookResponse](got[0]); ok && booked != nil {
				values["SupplierReferenceNo"] = booked.HotelOrder.SupplierReferenceNo
				values["PlatformReferenceNo"] = booked.HotelOrder.PlatformReferenceNo
			}
		}
	})
}

// fill sets all fields of a request.
func fill(v reflect.Value, values map[string]any) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), values)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), values)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			value, ok := values[f.Name]
			switch {
			case ok:
				v.Field(i).Set(reflect.ValueOf(value).Convert(f.Type))
			case f.Type == reflect.TypeFor[types.Secret]():
				v.Field(i).Set(reflect.ValueOf(types.NewSecret("x")))
			case f.Tag.Get("json") != "-":
				fill(v.Field(i), values)
			}
		}
	default:
		panic("no value for a " + v.Type().String())
	}
}

// recorder keeps the fields of the last body.
type recorder struct {
	to     http.RoundTripper
	fields []string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var sent any
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	addSent(found, "", sent)
	r.fields = slices.Sorted(maps.Keys(found))
	return r.to.RoundTrip(req)
}

func addSent(found map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			addSent(found, path+"."+name, value)
		}
	case []any:
		for _, value := range v {
			addSent(found, path, value)
		}
	default:
		found[path] = true
	}
}

// fieldsOf returns the paths of the JSON fields of a type.
func fieldsOf(t reflect.Type) []string {
	found := map[string]bool{}
	addFields(found, "", t)
	return slices.Sorted(maps.Keys(found))
}

func addFields(found map[string]bool, path string, t reflect.Type) {
	switch pointer := reflect.PointerTo(t); {
	case pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()), pointer.Implements(reflect.TypeFor[json.Unmarshaler]()):
		found[path] = true
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Map, t.Kind() == reflect.Slice:
		addFields(found, path, t.Elem())
	case t.Kind() != reflect.Struct:
		found[path] = true
	default:
		for i := range t.NumField() {
			f := t.Field(i)
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

// onesOwn are the fields of answers that the client or the sandbox has alone, of one operation or of any.
var onesOwn = []string{
	"OAuthToken.expires_in", "OAuthToken.scope", "OAuthToken.token_type", // undocumented, as OAuth has them
	"HotelsMetadata.hotelsMetadata.id", "HotelsMetadata.hotelsMetadata.isAvailable", "HotelsMetadata.hotelsMetadata.minPrice",
	"HotelsMetadata.hotelsMetadata.minPricesByCurrency", "HotelsMetadata.hotelsMetadata.rooms", // always empty
	"HotelStaticDetail.hotel.hotelId", "HotelList.list.hotelId", // always empty
	"CheckAvail.statusRemark",                                                                                  // whose place is undocumented
	"hotelOrder.rooms.guests", "hotelOrder.rooms.refundInfo", "orders.rooms.guests", "orders.rooms.refundInfo", // JSON for the client
	"hotelOrder.rooms.rates", "orders.rooms.rates", // always empty
}

// The client reads all fields that the sandbox answers with, and no others.
func TestAnswersHaveTheFieldsOfTheClient(t *testing.T) {
	used := map[string]bool{}
	for _, op := range operations() {
		method, _ := reflect.TypeFor[*hotelstays.Client]().MethodByName(string(op.name))
		client, sandbox := fieldsOf(method.Type.Out(0)), fieldsOf(reflect.TypeOf(op.runner).Out(0))
		for _, field := range slices.Concat(client, sandbox) {
			path := string(op.name) + field
			i := slices.IndexFunc(onesOwn, func(own string) bool {
				return strings.HasPrefix(path+".", own+".") || strings.HasPrefix(field+".", "."+own+".")
			})
			switch both := slices.Contains(client, field) && slices.Contains(sandbox, field); {
			case !both && i >= 0:
				used[onesOwn[i]] = true
			case !both:
				t.Errorf("the client has %s: %v; the sandbox: %v", path, slices.Contains(client, field), slices.Contains(sandbox, field))
			}
		}
	}
	failIf(t, len(used) != len(onesOwn), "some of %q are fields of both, or of none: %q", onesOwn, slices.Sorted(maps.Keys(used)))
}
