// Examples of clients: credentials, options, errors, and the interfaces that a program implements.

package hotelstays_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// One client serves a whole process. New does not connect. It reports all faults of its arguments in one error.
func ExampleNew() {
	client, err := hotelstays.New("https://host.example", hotelstays.TicketCredential{
		AppKey: "app-key", AppSecret: types.NewSecret("app-secret"),
	}, hotelstays.WithLanguage("en-GB"), hotelstays.WithCurrency("EUR"))
	fmt.Println(client, err)

	_, err = hotelstays.New("http://host.example", hotelstays.TicketCredential{AppKey: "app-key"})
	if invalid, ok := errors.AsType[*hotelstays.ValidationError](err); ok {
		for _, fault := range invalid.Fields {
			fmt.Println(fault.Path, fault.Problem)
		}
	}
	// Output:
	// hotelstays.Client(https://host.example) <nil>
	// baseURL must be https; only loopback may be http
	// appSecret is required
}

// A program takes the base URL and the credential from the environment. Here two variables are missing.
func ExampleNewFromEnv() {
	os.Setenv("HOTELSTAYS_BASE_URL", "https://host.example")
	os.Unsetenv("HOTELSTAYS_APP_KEY")
	os.Unsetenv("HOTELSTAYS_APP_SECRET")

	_, err := hotelstays.NewFromEnv(hotelstays.WithCurrency("EUR"))
	if invalid, ok := errors.AsType[*hotelstays.ValidationError](err); ok {
		for _, missing := range invalid.Fields {
			fmt.Println(missing.Path, missing.Problem)
		}
	}
	// Output:
	// HOTELSTAYS_APP_KEY is not set; set this environment variable
	// HOTELSTAYS_APP_SECRET is not set; set this environment variable
}

// A client fetches and renews its tickets. Ticket tests a pair of key and secret, or fetches a
// ticket for another program.
func ExampleClient_Ticket() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()

	resp, err := client.Ticket(ctx, &hotelstays.TicketRequest{
		AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret), TTL: time.Hour,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ticket:", resp.Ticket, resp.Ticket.Reveal() != "") // a secret prints as [redacted]

	_, err = client.Ticket(ctx, &hotelstays.TicketRequest{AppKey: srv.AppKey, AppSecret: types.NewSecret("another")})
	fmt.Println("refused:", errors.Is(err, hotelstays.ErrUnauthorized))
	// Output:
	// ticket: [redacted] true
	// refused: true
}

// A client with an OAuthCredential fetches its access tokens. OAuthToken fetches an access token with fewer scopes, for
// another program.
func ExampleClient_OAuthToken() {
	ctx := context.Background()
	srv, client := startSandbox(hotelstaystest.Config{
		OAuthClients: []hotelstaystest.OAuthClient{
			{ClientID: "client-id", ClientSecret: "client-secret", Scopes: []types.Scope{types.ScopeSearchRead, types.ScopeContentRead}},
		},
	})
	defer srv.Close()

	resp, err := client.OAuthToken(ctx, &hotelstays.OAuthTokenRequest{
		ClientID: "client-id", ClientSecret: types.NewSecret("client-secret"), Scopes: []types.Scope{types.ScopeContentRead},
	})
	if err != nil {
		log.Fatal(err)
	}
	reader, err := client.WithCredential(hotelstays.TokenCredential{Token: resp.AccessToken})
	if err != nil {
		log.Fatal(err)
	}
	_, err = reader.Destinations(ctx, &hotelstays.DestinationsRequest{})
	fmt.Println("a token of fewer scopes:", err)
	// Output: a token of fewer scopes: <nil>
}

// A platform keeps one client per account, and finds the client of a stored recovery by its fingerprint.
func ExampleClient_Account() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	client := clientOf(srv)
	clients := map[string]*hotelstays.Client{client.Account(): client}

	recovery := client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
	fmt.Println(clients[recovery.Fingerprint] == client)
	// Output: true
}

// Change the transport that NewTransport returns, and pass it to WithHTTPClient. Here the transport trusts a certificate
// that the machine does not know.
func ExampleNewTransport() {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{TLS: true})
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())

	transport := hotelstays.NewTransport()
	transport.TLSClientConfig.RootCAs = roots
	client, err := hotelstays.New(srv.URL, ticketOf(srv), hotelstays.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseIdleConnections()
	_, err = client.Destinations(context.Background(), &hotelstays.DestinationsRequest{})
	fmt.Println(err, srv.Ledger().Requests(hotelstays.OpDestinations)[0].Proto)
	// Output: <nil> HTTP/2.0
}

// Every call of the client has the trace id that the program keeps in ctx.
func ExampleWithTraceIDFrom() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	type traceKey struct{}
	client := clientOf(srv, hotelstays.WithTraceIDFrom(func(ctx context.Context) string {
		id, _ := ctx.Value(traceKey{}).(string)
		return id
	}))
	ctx := context.WithValue(context.Background(), traceKey{}, "4bf92f3577b34da6")
	_, err := client.Destinations(ctx, &hotelstays.DestinationsRequest{})
	fmt.Println(err, srv.Ledger().Requests(hotelstays.OpDestinations)[0].TraceID)
	// Output: <nil> 4bf92f3577b34da6
}

// Do calls an operation without a method, or sends and reads fields without a Go type. This request only
// reads, so Idempotent is true.
func ExampleClient_Do() {
	srv, client := startSandbox()
	defer srv.Close()

	var data struct {
		Destinations []types.Destination `json:"destinations"`
	}
	resp, err := client.Do(context.Background(), &hotelstays.DoRequest{
		Path:       "/api/search/destinations",
		Body:       map[string]any{"countryCode": "AE"},
		Into:       &data,
		Idempotent: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Meta.HTTPStatus, data.Destinations[0].Name)
	// Output:
	// 200 White Hills Province
}

// Meta describes the answer. The client retries a read that fails, and Meta has the number of attempts.
func ExampleResponseMeta() {
	srv, client := startSandbox()
	defer srv.Close()
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 503})

	resp, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{}, hotelstays.WithRawData())
	if err != nil {
		log.Fatal(err)
	}
	meta := resp.Meta
	fmt.Println("status", meta.HTTPStatus, "after", meta.Attempts, "attempts")
	if meta.RateLimit != nil { // optional in an answer
		fmt.Println("rate limit:", meta.RateLimit.Limit, "a second")
	}
	fmt.Println("the answer as it was:", string(meta.RawData[:17]))
	// Output:
	// status 200 after 2 attempts
	// rate limit: 100 a second
	// the answer as it was: {"destinations":[
}

// An APIError is an error answer of the service. It matches at most one sentinel with errors.Is. In a log, an error is
// a group of attributes. The supplier finds the request by its id.
func ExampleAPIError() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()

	_, err := client.OrderVoucher(ctx, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "no-such-order"})
	fmt.Println("not found:", errors.Is(err, hotelstays.ErrNotFound))
	if refused, ok := errors.AsType[*hotelstays.APIError](err); ok {
		fmt.Println(refused.Operation, refused.HTTPStatus, refused.Code)
		if refused.RateLimit != nil { // optional in an answer
			fmt.Println("rate limit:", refused.RateLimit.Limit, "a second")
		}
	}
	logger("kind", "operation", "status", "code").Error("no voucher", "err", err)
	fmt.Println("request id:", hotelstays.RequestIDOf(fmt.Errorf("voucher: %w", err)) != "")
	// Output:
	// not found: true
	// OrderVoucher 404 100000404
	// rate limit: 50 a second
	// level=ERROR msg="no voucher" err.kind=not_found err.operation=OrderVoucher err.status=404 err.code=100000404
	// request id: true
}

// logger writes only the given attributes, so that the output never varies.
func logger(attributes ...string) *slog.Logger {
	attributes = append(attributes, slog.LevelKey, slog.MessageKey)
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if !slices.Contains(attributes, a.Key) {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// The client logs attempts at level debug, retries and new tokens at info, and problems that need attention at warn. It
// logs no secret.
func ExampleWithLogger() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	client := clientOf(srv, hotelstays.WithLogger(logger("operation", "status")))
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 503})
	_, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{})
	fmt.Println(err)
	// Output:
	// level=INFO msg="token fetched"
	// level=INFO msg="trying again" operation=Destinations status=503
	// <nil>
}

// The kind of an error quotes nothing of the API's answer. So a web service may show the kind to its users.
func ExampleErrorKind_HTTPStatus() {
	answer := func(w http.ResponseWriter, err error) {
		kind := hotelstays.KindOf(err)
		http.Error(w, string(kind), kind.HTTPStatus())
	}
	w := httptest.NewRecorder()
	answer(w, fmt.Errorf("booking: %w", hotelstays.ErrRateChanged))
	fmt.Print(w.Code, " ", w.Body)
	// Output: 409 rate_changed
}

// An observer sees every call, including those that fetch tokens.
func ExampleWithObserver() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	client := clientOf(srv, hotelstays.WithObserver(hotelstays.Observer{CallEnd: func(_ context.Context, info hotelstays.CallInfo) {
		fmt.Printf("%s %d %q\n", info.Operation, info.HTTPStatus, hotelstays.KindOf(info.Err))
	}}))
	_, _ = client.OrderVoucher(context.Background(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "no-such-order"})
	// Output:
	// Ticket 200 ""
	// OrderVoucher 404 "not_found"
}

// countingLimiter never waits, and counts the requests that were sent. The processes of a fleet need a limiter with a
// common store, such as contrib/hotelstaysredis.
type countingLimiter struct {
	mu   sync.Mutex
	left map[hotelstays.Operation]int
}

func (l *countingLimiter) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	return &countedPermit{l, req.Key.Operation}, ctx.Err()
}

func (l *countingLimiter) Pause(hotelstays.RateLimitKey, time.Time) {}

type countedPermit struct {
	limiter *countingLimiter
	op      hotelstays.Operation
}

func (p *countedPermit) Sent() {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	p.limiter.left[p.op]++
}

func (p *countedPermit) Done(hotelstays.PermitResult) {}

// Your own limiter replaces the client's rate limits.
func ExampleWithRateLimiter() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	limiter := &countingLimiter{left: map[hotelstays.Operation]int{}}
	client := clientOf(srv, hotelstays.WithRateLimiter(limiter))
	_, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{})
	fmt.Println(limiter.left, err)
	// Output: map[Destinations:1 Ticket:1] <nil>
}

// The client of a catalogue sync shares the account and the token. Its low priority lets other requests go first.
func ExampleClient_With() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	client := clientOf(srv)
	sync, err := client.With(hotelstays.WithPriority(hotelstays.PriorityBackground), hotelstays.WithMaxAttempts(10))
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range []*hotelstays.Client{client, sync} {
		if _, err := c.Destinations(context.Background(), &hotelstays.DestinationsRequest{}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(srv.Ledger().Count(hotelstays.OpTicket), "ticket")
	// Output: 1 ticket
}

// Clients from separate calls of New share the rate limits of their IP address.
func ExampleNewRateLimiter() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	limiter := hotelstays.NewRateLimiter(&hotelstays.RateLimiterOptions{Margin: 20 * time.Millisecond})
	for _, cred := range []hotelstays.Credential{
		ticketOf(srv),
		hotelstays.OAuthCredential{ClientID: srv.ClientID, ClientSecret: types.NewSecret(srv.ClientSecret)},
	} {
		client, err := hotelstays.New(srv.URL, cred, hotelstays.WithHTTPClient(srv.Client()), hotelstays.WithRateLimiter(limiter))
		fmt.Println(client != nil, err)
	}
	// Output:
	// true <nil>
	// true <nil>
}

// sharedTokens stands for a store that processes share, such as contrib/hotelstaysredis. A real store encrypts the
// values: they are secrets.
type sharedTokens struct {
	mu   sync.Mutex
	held map[string]hotelstays.Token
}

func (s *sharedTokens) Load(_ context.Context, key string) (hotelstays.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[key], nil
}

func (s *sharedTokens) Store(_ context.Context, key string, token hotelstays.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[key] = token
	return nil
}

// CompareAndDelete deletes the refused token, but keeps a newer token of another process.
func (s *sharedTokens) CompareAndDelete(_ context.Context, key string, refused hotelstays.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[key].Value.Equal(refused.Value) {
		delete(s.held, key)
	}
	return nil
}

// Several processes of one account use one token.
func ExampleWithTokenStore() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	store := &sharedTokens{held: map[string]hotelstays.Token{}}

	for range 3 { // each client stands for the client of another process
		client := clientOf(srv, hotelstays.WithTokenStore(store))
		_, err := client.QueryOrders(context.Background(), &hotelstays.QueryOrdersRequest{})
		fmt.Println(err)
	}
	fmt.Println("tickets:", srv.Ledger().TicketsIssued())
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// tickets: 1
}
