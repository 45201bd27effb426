// What a Client refuses to work with, and which transport it sends through.

package hotelstays_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/h2non/gock.v1"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
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
		{"ctx", validClient(t, validNoSend{t}, hotelstays.TokenCredential{Token: types.NewSecret("token")}), nil},
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
				err, _ := reflect.TypeAssert[error](last)
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

// A caller's http.Client without a Transport sends through http.DefaultTransport, also
// through one that a mock has put there since. Without WithHTTPClient nothing does.
func TestMockedDefaultTransport(t *testing.T) {
	client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(http.DefaultClient), hotelstays.WithMaxAttempts(1))
	require.NoError(t, err)
	own, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithMaxAttempts(1))
	require.NoError(t, err)
	gock.New("http://127.0.0.1:1").Post("/api/search/destinations").Times(2).Reply(200).BodyString(`{"code":0,"data":{"destinations":[]}}`)
	defer gock.OffAll()

	resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
	require.NoError(t, err)
	assert.Equal(t, 200, resp.Meta.HTTPStatus)
	_, err = own.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
	assert.ErrorContains(t, err, "no connection")
	assert.Nil(t, http.DefaultClient.Transport, "what the caller gave is not changed")
	gock.OffAll()
	client.CloseIdleConnections()
}

// The voucher's document comes the same way.
func TestMockedVoucherDocument(t *testing.T) {
	client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(http.DefaultClient))
	require.NoError(t, err)
	gock.New("http://127.0.0.1:1").Get("/voucher").Reply(200).BodyString("document")
	defer gock.OffAll()
	var got strings.Builder
	err = client.DownloadVoucher(t.Context(), &types.Voucher{DownloadURL: "http://127.0.0.1:1/voucher", ByteSize: 8}, &got, hotelstays.WithUnsignedVouchers())
	require.NoError(t, err)
	assert.Equal(t, "document", got.String())
}
