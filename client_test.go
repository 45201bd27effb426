// What a Client refuses to work with, and which transport it sends through.

package hotelstays_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// Every method that takes a ctx refuses one that is nil, and a Client that New did not
// make. Neither panics.
func TestUnusableClientOrContext(t *testing.T) {
	tested := 0
	for _, tc := range []struct {
		path   string
		client *hotelstays.Client
		ctx    context.Context
	}{
		{"client", &hotelstays.Client{}, t.Context()},
		{"client", nil, t.Context()},
		{"ctx", validClient(t, validNoSend{t}, hotelstays.StaticToken("token")), nil},
	} {
		client := reflect.ValueOf(tc.client)
		for m := range client.Type().Methods() {
			if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() {
				continue
			}
			t.Run(tc.path+" of "+m.Name, func(t *testing.T) {
				ctx := reflect.New(m.Type.In(1)).Elem()
				if tc.ctx != nil {
					ctx.Set(reflect.ValueOf(tc.ctx))
				}
				args := []reflect.Value{client, ctx}
				for i := 2; i < m.Type.NumIn()-1; i++ { // the last are the options
					arg := reflect.New(m.Type.In(i)).Elem()
					if arg.Kind() == reflect.Pointer {
						arg.Set(reflect.New(arg.Type().Elem()))
					}
					args = append(args, arg)
				}
				results := m.Func.Call(args)
				last := results[len(results)-1]
				if last.Kind() == reflect.Func { // an iterator
					for _, err := range last.Seq2() {
						last = err
					}
				}
				err, _ := last.Interface().(error)
				assert.Equal(t, []string{tc.path}, validPaths(t, err))
			})
			tested++
		}
	}
	require.Greater(t, tested, 3*len(operationCalls))

	recovery := new(hotelstays.Client).NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
	assert.Equal(t, &hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1"}, recovery)
	assert.NotPanics(t, new(hotelstays.Client).CloseIdleConnections)
}
