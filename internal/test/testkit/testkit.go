// Package testkit has helpers for the tests of several packages: sandboxes with a client, transports
// with fixed answers, offers to book, and the selection of cases in long tests.
package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The clock of a synctest bubble starts at 2000-01-01, two months before this stay.
const (
	CheckIn  types.Date = "2000-03-10"
	CheckOut types.Date = "2000-03-13"
)

func TwoAdults() []types.GuestPerRoom { return []types.GuestPerRoom{{AdultCount: 2}} }

// Within returns a ctx that ends after d, or earlier with the test.
func Within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Main runs the tests of a package, and fails if they leave a goroutine behind. The heap may grow more
// than by default: the tests allocate much and keep little, so fewer garbage collections save time.
func Main(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

// NewSandbox starts a sandbox over in-memory connections, and returns a client of its first account. The
// sandbox ends with the test.
func NewSandbox(t testing.TB, config ...hotelstaystest.Config) (*hotelstaystest.Server, *hotelstays.Client) {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.InMemory = true
	srv := hotelstaystest.NewServer(&c)
	t.Cleanup(srv.Close)
	return srv, NewClient(t, srv, TicketOf(srv))
}

func NewClient(t testing.TB, srv *hotelstaystest.Server, cred hotelstays.Credential, opts ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	return newClient(t, srv.URL, srv.Client(), cred, opts)
}

func newClient(t testing.TB, url string, through *http.Client, cred hotelstays.Credential, opts []hotelstays.Option) *hotelstays.Client {
	t.Helper()
	client, err := hotelstays.New(url, cred, append([]hotelstays.Option{hotelstays.WithHTTPClient(through)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// TicketOf returns the credential of a sandbox's first account.
func TicketOf(srv *hotelstaystest.Server) hotelstays.TicketCredential {
	return hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}
}

func BearerToken(token string) hotelstays.TokenCredential {
	return hotelstays.TokenCredential{Token: types.NewSecret(token)}
}

// ClientThrough returns a client with a fixed token. The client sends through rt, and makes only one attempt per call.
func ClientThrough(t testing.TB, rt http.RoundTripper, opts ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	return newClient(t, "http://127.0.0.1:1", &http.Client{Transport: rt}, BearerToken("token-0001"),
		append([]hotelstays.Option{hotelstays.WithMaxAttempts(1)}, opts...))
}

// ClientWith is like ClientThrough, but with this credential and a base URL that is not loopback.
func ClientWith(t testing.TB, rt http.RoundTripper, cred hotelstays.Credential, opts ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	return newClient(t, "https://api.example.test", &http.Client{Transport: rt}, cred,
		append([]hotelstays.Option{hotelstays.WithMaxAttempts(1)}, opts...))
}

// Transport is a function that serves as an http.RoundTripper.
type Transport func(*http.Request) (*http.Response, error)

func (f Transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Reply returns an answer without a Content-Length.
func Reply(status int, body string) *http.Response { return ReplyOf(status, strings.NewReader(body)) }

// ReplyOf is like Reply, but reads the body from a reader.
func ReplyOf(status int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: -1}
}

// Reader is a function that serves as an io.Reader.
type Reader func([]byte) (int, error)

func (f Reader) Read(p []byte) (int, error) { return f(p) }

// Saying returns a transport that answers every request with HTTP 200 and body.
func Saying(body string) Transport {
	return func(*http.Request) (*http.Response, error) { return Reply(200, body), nil }
}

// Answer is a RoundTripper that gives every request the same answer. It echoes the Request-Id, as the
// service does.
type Answer struct {
	Status    int
	Body      string
	Header    map[string]string
	Announced bool  // whether the answer has a Content-Length
	Cut       error // the error that ends the body instead of EOF

	Sent []*http.Request
}

func (a *Answer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.Sent = append(a.Sent, r)
	resp := Reply(a.Status, a.Body)
	resp.Request = r
	resp.Header.Set("Request-Id", r.Header.Get("Request-Id"))
	for name, value := range a.Header {
		resp.Header.Set(name, value)
	}
	if a.Cut != nil {
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, iotest.ErrReader(a.Cut)))
	}
	if a.Announced {
		resp.ContentLength = int64(len(a.Body))
	}
	return resp, nil
}

// RequestID returns the id of the only request that was sent.
func (a *Answer) RequestID(t testing.TB) string {
	t.Helper()
	require.Len(t, a.Sent, 1, "requests that were sent")
	return a.Sent[0].Header.Get("Request-Id")
}

// NoRateLimits is a rate limiter that never waits.
type NoRateLimits struct{}

func (NoRateLimits) Acquire(context.Context, hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	return nil, nil
}

func (NoRateLimits) Pause(hotelstays.RateLimitKey, time.Time) {}

// Status returns a fault that answers with this status and body. If body is empty, the sandbox writes an envelope.
func Status(status int, body string) hotelstaystest.Fault {
	fault := hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: status, Header: http.Header{"Location": {"/elsewhere"}}}
	if body != "" {
		fault.Body = []byte(body)
	}
	return fault
}

// Operations returns the operations of the client: each method M, except Do, that takes a request of
// type MRequest.
func Operations() (ops []hotelstays.Operation) {
	for m := range reflect.TypeFor[*hotelstays.Client]().Methods() {
		if m.Name != "Do" && m.Type.NumIn() == 4 && m.Type.In(1) == reflect.TypeFor[context.Context]() &&
			m.Type.In(2).Kind() == reflect.Pointer && m.Type.In(2).Elem().Name() == m.Name+"Request" {
			ops = append(ops, hotelstays.Operation(m.Name))
		}
	}
	return ops
}

type Call func(context.Context, *hotelstays.Client, ...hotelstays.CallOption) error

// Calls returns a well-formed call of every operation, for tests of the pipeline. The calls use the first argument as
// their session, or a made-up session. All references are made up.
func Calls(session ...string) map[hotelstays.Operation]Call {
	offer := Offer{Session: append(session, "session")[0], RoomRatePkg: types.RoomRatePkg{RatePkgID: "offer"}}
	fields := map[string]any{ // values by field name; each required field that is absent here gets a value of its type
		"CheckIn": CheckIn, "CheckOut": CheckOut, "RoomOccupancies": TwoAdults(), "DestinationID": "place", "RegionCode": int64(1),
		"SessionID": offer.Session, "CustomerReferenceNo": "ref-1",
		"Holder": offer.Request("").Holder, "Guests": offer.Request("").Guests,
	}
	calls := map[hotelstays.Operation]Call{}
	for _, op := range Operations() {
		method, _ := reflect.TypeFor[*hotelstays.Client]().MethodByName(string(op))
		req := reflect.New(method.Type.In(2).Elem())
		for field, v := range req.Elem().Fields() {
			value, ok := fields[field.Name]
			switch required := !strings.Contains(field.Tag.Get("json"), ",omit"); {
			case ok:
				v.Set(reflect.ValueOf(value))
			case required && v.Kind() == reflect.String:
				v.SetString("made-up")
			case required && field.Type == reflect.TypeFor[types.Secret]():
				v.Set(reflect.ValueOf(types.NewSecret("secret")))
			}
		}
		calls[op] = func(ctx context.Context, client *hotelstays.Client, opts ...hotelstays.CallOption) error {
			// If ctx is nil, CallSlice panics with ValueOf(ctx), but not with Elem.
			args := []reflect.Value{reflect.ValueOf(client), reflect.ValueOf(&ctx).Elem(), req, reflect.ValueOf(opts)}
			err, _ := reflect.TypeAssert[error](method.Func.CallSlice(args)[1])
			return err
		}
	}
	return calls
}

// Helpers returns a well-formed call of every method that is not an operation, such as BookAndRecover. The key is the
// method's name. SaveVoucher saves into dir. The references are made up.
func Helpers(dir string) map[string]Call {
	type ctxt = context.Context
	type client = *hotelstays.Client
	type option = hotelstays.CallOption
	search := &hotelstays.HotelListRequest{DestinationID: "place", CheckIn: CheckIn, CheckOut: CheckOut, RoomOccupancies: TwoAdults()}
	batches := *search
	batches.DestinationID, batches.HotelIDs = "", []string{"1", "2", "3"}
	booking := Offer{Session: "session", RoomRatePkg: types.RoomRatePkg{RatePkgID: "offer"}}.Request("ref-1")
	cancel := &hotelstays.CancelRequest{SessionID: "session", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "supplier-1"}
	voucher := &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"}
	document := &types.Voucher{ByteSize: 100, DownloadURL: "https://store.example.test/v", Signature: &types.VoucherSignature{}}
	parallel := func(opts []option) []option { return append([]option{hotelstays.WithParallelism(2)}, opts...) }
	return map[string]Call{
		"WalkDestinations": func(ctx ctxt, c client, opts ...option) error {
			return LastError(c.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, parallel(opts)...))
		},
		"HotelsMetadataAll": func(ctx ctxt, c client, opts ...option) error {
			return LastError(c.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: "place"}, parallel(opts)...))
		},
		"HotelListPages": func(ctx ctxt, c client, opts ...option) error {
			return LastError(c.HotelListPages(ctx, search, opts...))
		},
		"HotelListBatches": func(ctx ctxt, c client, opts ...option) error {
			return LastError(c.HotelListBatches(ctx, &batches, opts...))
		},
		"HotelListStream": func(ctx ctxt, c client, opts ...option) error {
			return LastError(c.HotelListStream(ctx, search, opts...).Hotels())
		},
		"Do":             Calling(client.Do, &hotelstays.DoRequest{Path: "/api/search/later", Idempotent: true}),
		"ValidateBook":   func(_ ctxt, c client, opts ...option) error { return c.ValidateBook(booking, opts...) },
		"BookAndRecover": Calling(client.BookAndRecover, booking),
		"RecoverBooking": func(ctx ctxt, c client, opts ...option) error {
			return Calling(client.RecoverBooking, c.NewBookingRecovery(booking))(ctx, c, opts...)
		},
		"StepRecovery": func(ctx ctxt, c client, opts ...option) error {
			return Calling(client.StepRecovery, c.NewBookingRecovery(booking))(ctx, c, opts...)
		},
		"FindOrder":     Calling(client.FindOrder, "ref-1"),
		"AwaitOrder":    Calling(client.AwaitOrder, "ref-1"),
		"CancelAndRead": Calling(client.CancelAndRead, cancel),
		"AwaitVoucher":  Calling(client.AwaitVoucher, voucher),
		"OpenVoucher":   Calling(client.OpenVoucher, voucher),
		"SaveVoucher": func(ctx ctxt, c client, opts ...option) error {
			_, err := c.SaveVoucher(ctx, voucher, filepath.Join(dir, "voucher.pdf"), opts...)
			return err
		},
		"DownloadVoucher": func(ctx ctxt, c client, opts ...option) error {
			return c.DownloadVoucher(ctx, document, io.Discard, opts...)
		},
	}
}

func Calling[Req, Resp any](method func(*hotelstays.Client, context.Context, Req, ...hotelstays.CallOption) (Resp, error), req Req) Call {
	return func(ctx context.Context, client *hotelstays.Client, opts ...hotelstays.CallOption) error {
		_, err := method(client, ctx, req, opts...)
		return err
	}
}

// LastError ranges over all items and returns the error of the last item.
func LastError[V any](items iter.Seq2[V, error]) (last error) {
	for _, last = range items {
	}
	return last
}

// Offer is a priced offer and the session that it is valid in.
type Offer struct {
	types.RoomRatePkg
	Session string
}

// FindOffer searches the first city, and returns the cheapest offer of the hotel with this index. If a mode is given,
// the offer has this mode. The sandbox refuses two bookings with the same content, so a test that books twice needs
// offers of two hotels.
func FindOffer(t testing.TB, srv *hotelstaystest.Server, client *hotelstays.Client, hotel int, modes ...types.RefundableMode) Offer {
	t.Helper()
	list, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{DestinationID: srv.CityID(0), CheckIn: CheckIn,
		CheckOut: CheckOut, RoomOccupancies: TwoAdults(), PageSize: hotel + 1, MaxRatesPerHotel: 1})
	require.NoError(t, err)
	require.Greater(t, len(list.List), hotel)
	rates, err := client.HotelRates(t.Context(), &hotelstays.HotelRatesRequest{SessionID: list.Basic.SessionID,
		HotelID: list.List[hotel].ID, CheckIn: CheckIn, CheckOut: CheckOut, RoomOccupancies: TwoAdults()})
	require.NoError(t, err)
	for _, room := range rates.Rooms {
		for _, rate := range room.Rates {
			if len(modes) == 0 || rate.RefundableMode == modes[0] {
				return Offer{rate, list.Basic.SessionID}
			}
		}
	}
	require.FailNow(t, "no offer found", "hotel %d, modes %v", hotel, modes)
	return Offer{}
}

func (o Offer) Request(reference string) *hotelstays.BookRequest {
	return &hotelstays.BookRequest{
		SessionID: o.Session, RatePkgID: o.RatePkgID, CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
	}
}

func (o Offer) Book(t testing.TB, client *hotelstays.Client, reference string) *types.Order {
	t.Helper()
	resp, err := client.Book(t.Context(), o.Request(reference))
	require.NoError(t, err)
	return resp.HotelOrder
}

// LiveHeap returns the bytes of live heap after two garbage collections, because a sync.Pool frees memory only at the second.
func LiveHeap() int {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// Member holds the offsets of a JSON member in a text: Key is where the key begins, and text[Value:End] is the value.
type Member struct{ Key, Value, End int }

var memberName = regexp.MustCompile(`"\w+":`)

// Members returns the members of all objects in a JSON text without white space.
func Members(t testing.TB, body []byte) (found []Member) {
	t.Helper()
	for _, at := range memberName.FindAllIndex(body, -1) {
		value := json.NewDecoder(bytes.NewReader(body[at[1]:]))
		require.NoError(t, value.Decode(new(json.RawMessage)))
		found = append(found, Member{at[0], at[1], at[1] + int(value.InputOffset())})
	}
	return found
}

func AssertFile(t testing.TB, path string, want []byte, what ...any) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err, what...)
	assert.True(t, bytes.Equal(want, got), append([]any{"the bytes of the file differ"}, what...)...)
}

// AssertFiles asserts that the folder has these files, in any order, and no others.
func AssertFiles(t testing.TB, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	found := []string{}
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	assert.ElementsMatch(t, names, found)
}
