// A method of a zero value may return an error, but does not panic.

package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// zeroValues has a zero value of each exported type that has methods.
var zeroValues = []any{
	new(hotelstays.APIError), new(hotelstays.BatchError), new(hotelstays.CheckAvailResponse), new(hotelstays.Client),
	new(hotelstays.DecodeError), new(hotelstays.DoRequest), new(hotelstays.ErrorKind), new(hotelstays.HotelListStream),
	new(hotelstays.Mismatch), new(hotelstays.Priority), new(hotelstays.QueryOrdersResponse), new(hotelstays.OfferDiff),
	new(hotelstays.Operation), new(hotelstays.OrderNotFoundError), new(hotelstays.AmbiguousReferenceError),
	new(hotelstays.StatusMeanings), new(hotelstays.OutcomeUnknownError), new(hotelstays.PageError),
	new(hotelstays.ReferenceReusedError), new(hotelstays.ServiceFacts), new(hotelstays.TicketRequest),
	new(hotelstays.TransportError), new(hotelstays.ValidationError), new(hotelstays.VoucherDocument),
	new(hotelstays.VoucherError), new(hotelstays.WakeHub), new(hotelstays.WebhookError), new(hotelstays.WebhookEvent),
	new(hotelstays.WebhookHandler), new(types.Date), new(types.EmptyReason), new(types.I18N), new(types.Money), new(types.Order),
	new(types.OrderGuest), new(types.OrderRoom), new(types.RefundItem), new(types.RoomRatePkg), new(types.Secret),
	new(types.StatusFilter), new(types.Timestamp),
}

func TestMethodsOfZeroValuesDoNotPanic(t *testing.T) {
	listed := map[string]bool{}
	for _, zero := range zeroValues {
		v := reflect.ValueOf(zero)
		listed[v.Type().Elem().Name()] = true
		assert.NotContains(t, fmt.Sprintf("%v %+v %#v %s", zero, zero, v.Elem(), zero), "PANIC")
		for method := range v.Type().Methods() {
			if method.Name != "Format" { // fmt has called Format already
				assert.NotPanics(t, func() { callOnZero(t, v, method) }, "%s.%s", v.Type(), method.Name)
			}
		}
	}
	for _, dir := range []string{"../..", "../../types"} {
		for _, typ := range documented(t, dir).Types {
			assert.True(t, len(typ.Methods) == 0 || listed[typ.Name], "%s is not listed", typ.Name)
		}
	}
}

// callOnZero calls a method of v with the zero value of each parameter, and then each function that the method returns.
func callOnZero(t *testing.T, v reflect.Value, method reflect.Method) {
	given := map[reflect.Type]any{
		reflect.TypeFor[context.Context]():     t.Context(),
		reflect.TypeFor[http.ResponseWriter](): httptest.NewRecorder(),
		reflect.TypeFor[*http.Request]():       httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")),
	}
	args := []reflect.Value{v}
	for i := 1; i < method.Type.NumIn() && !(method.Type.IsVariadic() && i == method.Type.NumIn()-1); i++ {
		arg := reflect.Zero(method.Type.In(i))
		if value, ok := given[method.Type.In(i)]; ok {
			arg = reflect.ValueOf(value)
		}
		args = append(args, arg)
	}
	for _, result := range method.Func.Call(args) {
		switch typ := result.Type(); {
		case typ.CanSeq2():
			for range result.Seq2() {
			}
		case typ.Kind() == reflect.Func && !result.IsNil():
			result.Call(nil)
		}
	}
}
