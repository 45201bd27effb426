//go:build !hotelstays_stdjson

// Proves that ordinary answers take the fast path, all of them: what the sandbox
// answers to each operation, and its webhooks.

package hotelstays_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// bodyRecorder keeps the answers of each path, and the webhooks that come.
type bodyRecorder struct {
	next   http.RoundTripper
	mu     sync.Mutex
	bodies map[string][][]byte
}

const recordedWebhooks = "webhooks"

func (r *bodyRecorder) keep(path string, from io.Reader) []byte {
	body, err := io.ReadAll(from)
	if err != nil {
		panic(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies[path] = append(r.bodies[path], body)
	return body
}

func (r *bodyRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err == nil {
		body := r.keep(req.URL.Path, resp.Body)
		resp.Body = struct {
			io.Reader
			io.Closer
		}{bytes.NewReader(body), resp.Body}
	}
	return resp, err
}

func (r *bodyRecorder) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	r.keep(recordedWebhooks, req.Body)
}

// recordBooking makes every call that a booking takes, and some more.
func recordBooking(t *testing.T) map[string][][]byte {
	t.Helper()
	recorder := &bodyRecorder{bodies: map[string][][]byte{}}
	srv, _ := newSandbox(t, hotelstaystest.WithCallbackHandler(recorder), hotelstaystest.WithConfirmAfter(time.Minute),
		hotelstaystest.WithOAuthClient("client", "secret"), hotelstaystest.WithNotices("a supplier was slow"))
	recorder.next = srv.Client().Transport
	client := newClient(t, srv, ticketOf(srv), hotelstays.WithHTTPClient(&http.Client{Transport: recorder}))
	ctx := t.Context()

	_, err := client.OAuthToken(ctx, &hotelstays.OAuthTokenRequest{ClientID: "client", ClientSecret: types.NewSecret("secret")})
	require.NoError(t, err)
	_, err = client.Destinations(ctx, &hotelstays.DestinationsRequest{Include: hotelstays.DestinationsIncludeDetails})
	require.NoError(t, err)
	_, err = client.HotelsMetadata(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0)})
	require.NoError(t, err)
	_, err = client.HotelIDList(ctx, &hotelstays.HotelIDListRequest{RegionCode: 1})
	require.NoError(t, err)

	offer := findOffer(t, srv, client, 0, types.RefundableFull)
	_, err = client.HotelList(ctx, searchCity(srv))
	require.NoError(t, err)
	for _, id := range []string{"PH10000000", "nowhere"} {
		one := searchCity(srv)
		one.DestinationID, one.HotelIDs, one.MaxRatesPerHotel = "", []string{id}, 1
		_, err = client.HotelList(ctx, one)
		require.NoError(t, err)
	}
	_, err = client.HotelStaticDetail(ctx, &hotelstays.HotelStaticDetailRequest{HotelID: "PH10000000"})
	require.NoError(t, err)
	_, err = client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: offer.session, RatePkgID: offer.RatePkgID})
	require.NoError(t, err)

	book := offer.request("ref-1")
	book.CallbackURL = "https://hooks.example.test/orders"
	_, err = client.Book(ctx, book)
	require.NoError(t, err)
	voucher := &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"}
	_, err = client.OrderVoucher(ctx, voucher)
	require.NoError(t, err)
	time.Sleep(time.Hour)
	synctest.Wait()
	voucher.IncludeDocument = true
	_, err = client.OrderVoucher(ctx, voucher)
	require.NoError(t, err)
	found, err := client.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}})
	require.NoError(t, err)
	_, err = client.Cancel(ctx, &hotelstays.CancelRequest{SessionID: offer.session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: found.Orders[0].SupplierReferenceNo})
	require.NoError(t, err)
	_, err = client.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{})
	require.NoError(t, err)
	time.Sleep(time.Minute)
	synctest.Wait()
	return recorder.bodies
}

func TestDecodeNeverGivesUpOnOrdinaryAnswers(t *testing.T) {
	var bodies map[string][][]byte
	synctest.Test(t, func(t *testing.T) { bodies = recordBooking(t) })

	successes := map[string]int{}
	read := func(path string, into reflect.Type, fast func(body []byte, target wire.Target) (bool, any)) {
		for _, body := range bodies[path] {
			got := reflect.New(into).Interface()
			taken, want := fast(body, hotelstays.DecodeTarget(got, true))
			if want == nil { // a refusal
				continue
			}
			successes[path]++
			assert.True(t, taken, "%s: %.300s", path, body)
			assert.Equal(t, want, got, path)
		}
		assert.NotZero(t, successes[path], path)
	}
	for _, op := range wireOperations() {
		into := reflect.TypeOf(op.want).Elem()
		read(op.path, into, func(body []byte, target wire.Target) (bool, any) {
			want := reflect.New(into).Interface()
			env, err := wire.Decode(t.Context(), body, wire.Target{Into: want}, false)
			require.NoError(t, err)
			if env.Code != 0 {
				return false, nil
			}
			_, taken := wire.Fast(t.Context(), body, target)
			return taken, want
		})
	}
	read(recordedWebhooks, reflect.TypeFor[hotelstays.WebhookEvent](), func(body []byte, target wire.Target) (bool, any) {
		want := &hotelstays.WebhookEvent{}
		_, err := wire.DecodeBare(t.Context(), body, wire.Target{Into: want}, true)
		require.NoError(t, err)
		return wire.FastBare(t.Context(), body, target), want
	})
	assert.GreaterOrEqual(t, successes[recordedWebhooks], 3)
}

// textsIn counts the texts of a value, and adds where they lie in memory.
func textsIn(v reflect.Value, at map[*byte]string) (count int) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 1 { // the runtime has the texts of a single byte ready
			at[unsafe.StringData(v.String())] = v.String()
			count++
		}
	case reflect.Pointer:
		if !v.IsNil() {
			count += textsIn(v.Elem(), at)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				count += textsIn(v.Field(i), at)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			count += textsIn(v.Index(i), at)
		}
	}
	return count
}

// Texts of tokens, orders and vouchers are never kept for another answer. Those of
// searches are, at least within an answer: the memory in between may be freed.
func TestWhichAnswersShareTexts(t *testing.T) {
	impersonal := []string{"Destinations", "HotelsMetadata", "HotelStaticDetail", "HotelIDList", "HotelList", "HotelRates", "CheckAvail"}
	for _, op := range wireOperations() {
		first, second := map[*byte]string{}, map[*byte]string{}
		_, resp := wireExchange(t, op.minimal, op.data, nil)
		count := textsIn(reflect.ValueOf(resp), first)
		_, resp = wireExchange(t, op.minimal, op.data, nil)
		textsIn(reflect.ValueOf(resp), second)
		if slices.Contains(impersonal, op.name) {
			distinct := len(slices.Compact(slices.Sorted(maps.Values(first))))
			assert.True(t, len(first) < count || distinct == count, "%s: %d texts, %d distinct, none shared", op.name, count, distinct)
			continue
		}
		assert.Len(t, first, count, op.name)
		for text := range first {
			_, again := second[text]
			assert.False(t, again, op.name)
		}
	}
	first, err := hookVerify(hookPaid)
	require.NoError(t, err)
	second, err := hookVerify(hookPaid)
	require.NoError(t, err)
	assert.NotSame(t, unsafe.StringData(first.HotelConfirmNo), unsafe.StringData(second.HotelConfirmNo))
}
