// Package testkit has what the tests of several packages share: sandboxes with a client, transports
// with fixed answers, offers to book, and how much of a long test to run.
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

// TwoAdults is one room for two.
func TwoAdults() []types.GuestPerRoom { return []types.GuestPerRoom{{AdultCount: 2}} }

// Within is a ctx of the test that ends after d.
func Within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Main runs the tests of a package, which must leave no goroutine behind. They allocate much and
// keep little, so the heap may grow, for fewer collections.
func Main(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

// NewSandbox starts a sandbox over in-memory connections with a client of its first account, until
// the test ends.
func NewSandbox(t testing.TB, config ...hotelstaystest.Config) (*hotelstaystest.Server, *hotelstays.Client) {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.InMemory = true
	srv := hotelstaystest.NewServer(&c)
	t.Cleanup(srv.Close)
	return srv, NewClient(t, srv, TicketOf(srv))
}

// NewClient returns another client of a sandbox.
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

// BearerToken is the credential of a token.
func BearerToken(token string) hotelstays.TokenCredential {
	return hotelstays.TokenCredential{Token: types.NewSecret(token)}
}

// ClientThrough returns a client that sends each call once, through rt, with a token.
func ClientThrough(t testing.TB, rt http.RoundTripper, opts ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	return newClient(t, "http://127.0.0.1:1", &http.Client{Transport: rt}, BearerToken("token-0001"),
		append([]hotelstays.Option{hotelstays.WithMaxAttempts(1)}, opts...))
}

// ClientWith is ClientThrough with a credential, and a base URL that is not loopback.
func ClientWith(t testing.TB, rt http.RoundTripper, cred hotelstays.Credential, opts ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	return newClient(t, "https://api.example.test", &http.Client{Transport: rt}, cred,
		append([]hotelstays.Option{hotelstays.WithMaxAttempts(1)}, opts...))
}

// Transport is a RoundTripper.
type Transport func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f Transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Reply is an answer without a Content-Length.
func Reply(status int, body string) *http.Response { return ReplyOf(status, strings.NewReader(body)) }

// ReplyOf is an answer whose body is read from body.
func ReplyOf(status int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: -1}
}

// Reader is an io.Reader.
type Reader func([]byte) (int, error)

// Read calls f.
func (f Reader) Read(p []byte) (int, error) { return f(p) }

// Saying answers every request with one body.
func Saying(body string) Transport {
	return func(*http.Request) (*http.Response, error) { return Reply(200, body), nil }
}

// Answer is a RoundTripper that answers every request alike. It echoes the Request-Id, as the service
// does.
type Answer struct {
	Status    int
	Body      string
	Header    map[string]string
	Announced bool  // sends Content-Length
	Cut       error // the error that ends the body instead of EOF

	Sent []*http.Request
}

// RoundTrip answers.
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

// RequestID is the id of the one request that was sent.
func (a *Answer) RequestID(t testing.TB) string {
	t.Helper()
	require.Len(t, a.Sent, 1, "nothing is sent again")
	return a.Sent[0].Header.Get("Request-Id")
}

// NoRateLimits is a rate limiter that grants everything at once.
type NoRateLimits struct{}

// Acquire grants without a permit.
func (NoRateLimits) Acquire(context.Context, hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	return nil, nil
}

// Pause does nothing.
func (NoRateLimits) Pause(hotelstays.RateLimitKey, time.Time) {}

// Status is an answer with body, or with an envelope if body is empty.
func Status(status int, body string) hotelstaystest.Fault {
	fault := hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: status, Header: http.Header{"Location": {"/elsewhere"}}}
	if body != "" {
		fault.Body = []byte(body)
	}
	return fault
}

// Operations are the operations as the client has them: its methods that take a request of their
// name, except Do.
func Operations() (ops []hotelstays.Operation) {
	for m := range reflect.TypeFor[*hotelstays.Client]().Methods() {
		if m.Name != "Do" && m.Type.NumIn() == 4 && m.Type.In(1) == reflect.TypeFor[context.Context]() &&
			m.Type.In(2).Kind() == reflect.Pointer && m.Type.In(2).Elem().Name() == m.Name+"Request" {
			ops = append(ops, hotelstays.Operation(m.Name))
		}
	}
	return ops
}

// Call makes one call of an operation and returns its error.
type Call func(context.Context, *hotelstays.Client, ...hotelstays.CallOption) error

// Calls has a well-formed call of every operation. The references are made up, and by default the session, too: the
// calls are for tests of the pipeline.
func Calls(session ...string) map[hotelstays.Operation]Call {
	offer := Offer{Session: append(session, "session")[0], RoomRatePkg: types.RoomRatePkg{RatePkgID: "offer"}}
	fields := map[string]any{ // by name; other required fields get a value by their type
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
			args := []reflect.Value{reflect.ValueOf(client), reflect.ValueOf(&ctx).Elem(), req, reflect.ValueOf(opts)} // ctx may be nil
			err, _ := reflect.TypeAssert[error](method.Func.CallSlice(args)[1])
			return err
		}
	}
	return calls
}

// Helpers has a well-formed call of every other method, by its name. SaveVoucher saves into dir. The references are
// made up, as in Calls.
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

// Calling is the call of a method with a request.
func Calling[Req, Resp any](method func(*hotelstays.Client, context.Context, Req, ...hotelstays.CallOption) (Resp, error), req Req) Call {
	return func(ctx context.Context, client *hotelstays.Client, opts ...hotelstays.CallOption) error {
		_, err := method(client, ctx, req, opts...)
		return err
	}
}

// LastError ranges to the end and returns the error that came last.
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

// FindOffer searches the first city and picks the cheapest offer of one of its hotels, counted from 0; with modes, the
// cheapest offer with one of these modes. Offers of two hotels differ in content, so that both can be booked.
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
	require.FailNow(t, "no such offer")
	return Offer{}
}

// Request books the offer under a reference.
func (o Offer) Request(reference string) *hotelstays.BookRequest {
	return &hotelstays.BookRequest{
		SessionID: o.Session, RatePkgID: o.RatePkgID, CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
	}
}

// Book books the offer under a reference.
func (o Offer) Book(t testing.TB, client *hotelstays.Client, reference string) *types.Order {
	t.Helper()
	resp, err := client.Book(t.Context(), o.Request(reference))
	require.NoError(t, err)
	return resp.HotelOrder
}

// LiveHeap returns the size of the heap after garbage collections. One is not enough, because a pool keeps its memory
// for one.
func LiveHeap() int {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// Member is where a member of an object lies in a text.
type Member struct{ Key, Value, End int }

var memberName = regexp.MustCompile(`"\w+":`)

// Members finds the members of all objects of a text without white space.
func Members(t testing.TB, body []byte) (found []Member) {
	t.Helper()
	for _, at := range memberName.FindAllIndex(body, -1) {
		value := json.NewDecoder(bytes.NewReader(body[at[1]:]))
		require.NoError(t, value.Decode(new(json.RawMessage)))
		found = append(found, Member{at[0], at[1], at[1] + int(value.InputOffset())})
	}
	return found
}

// AssertFile wants a file with these bytes.
func AssertFile(t testing.TB, path string, want []byte, what ...any) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err, what...)
	assert.True(t, bytes.Equal(want, got), append([]any{"another document"}, what...)...)
}

// AssertFiles wants the folder to have these files, in any order, and no others.
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
