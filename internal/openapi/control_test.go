// Each operation and each route of the control API behaves as the sandbox's OpenAPI file says, with valid and with
// invalid requests.

package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sandbox is a server and its OpenAPI file. RoundTrip compares requests and answers with this file.
type sandbox struct {
	t      *testing.T
	s      *hotelstaystest.Server
	doc    *openapi3.T
	router routers.Router
	called map[string]bool // keys: method and path, in the file's form, of each request that was sent
}

func start(t *testing.T) *sandbox {
	t.Helper()
	received := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	s := hotelstaystest.NewServer(&hotelstaystest.Config{
		InMemory:     true,
		Control:      hotelstaystest.ControlConfig{Enabled: true},
		ConfirmAfter: hotelstaystest.Never,
		Webhooks:     hotelstaystest.WebhookConfig{CallbackHandler: received},
		NoRateLimits: true,
	})
	t.Cleanup(s.Close)
	resp, err := s.Client().Get(s.URL + "/_sandbox/openapi.json")
	require.NoError(t, err)
	defer resp.Body.Close()
	doc, err := openapi3.NewLoader().LoadFromIoReader(resp.Body)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	router, err := legacy.NewRouter(doc)
	require.NoError(t, err)
	return &sandbox{t, s, doc, router, map[string]bool{}}
}

// RoundTrip sends a request, and compares request and answer with the file. If the server answers 400 or 401, the
// request must violate the file. Otherwise the request must match the file.
func (b *sandbox) RoundTrip(req *http.Request) (*http.Response, error) {
	b.t.Helper()
	var sent []byte
	if req.Body != nil {
		sent, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := b.s.Client().Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(answer))

	bare := req.Clone(b.t.Context())
	bare.URL.Host, bare.URL.Scheme, bare.Body = "", "", io.NopCloser(bytes.NewReader(sent))
	route, params, err := b.router.FindRoute(bare)
	if err != nil {
		return nil, err
	}
	b.called[req.Method+" "+route.Path] = true
	input := &openapi3filter.RequestValidationInput{Request: bare, PathParams: params, Route: route}
	input.Options = &openapi3filter.Options{AuthenticationFunc: bearer, IncludeResponseStatus: true}
	refused := resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusUnauthorized
	if err := openapi3filter.ValidateRequest(b.t.Context(), input); (err != nil) != refused {
		b.t.Errorf("%s %s %.200s: HTTP %d, but the file says %v", req.Method, req.URL.Path, sent, resp.StatusCode, err)
	}
	output := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: resp.StatusCode, Header: resp.Header,
		Options: input.Options}
	output.Body = io.NopCloser(bytes.NewReader(answer))
	if err := openapi3filter.ValidateResponse(b.t.Context(), output); err != nil {
		b.t.Errorf("%s %s: HTTP %d %.300s: %v", req.Method, req.URL.Path, resp.StatusCode, answer, err)
	}
	return resp, nil
}

// bearer fails if the OpenAPI file requires the token of an account, and the request has no token. The token of the
// control API is optional.
func bearer(_ context.Context, input *openapi3filter.AuthenticationInput) error {
	sent := strings.HasPrefix(input.RequestValidationInput.Request.Header.Get("Authorization"), "Bearer ")
	if input.SecuritySchemeName == "account" && !sent {
		return errors.New("no token")
	}
	return nil
}

func (b *sandbox) call(method, path, body string, want int) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.s.URL+path, strings.NewReader(body))
	require.NoError(b.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := b.RoundTrip(req)
	require.NoError(b.t, err, "%s %s", method, path)
	answer, _ := io.ReadAll(resp.Body)
	assert.Equal(b.t, want, resp.StatusCode, "%s %s %.200s: %s", method, path, body, answer)
}

func (b *sandbox) client() *hotelstays.Client {
	b.t.Helper()
	return testkit.NewClient(b.t, b.s, testkit.TicketOf(b.s), hotelstays.WithHTTPClient(&http.Client{Transport: b}))
}

// book makes an order with a CallbackURL, to which the sandbox sends webhooks.
func (b *sandbox) book(client *hotelstays.Client, reference string) testkit.Offer {
	b.t.Helper()
	offer := testkit.FindOffer(b.t, b.s, client, 0)
	req := offer.Request(reference)
	req.CallbackURL, req.Guests[0].LastName = "http://127.0.0.1/hook", reference
	_, err := client.Book(b.t.Context(), req, hotelstays.WithTraceID("call"))
	require.NoError(b.t, err)
	return offer
}

// allCalled fails the test for each operation that has the tag and was not called.
func (b *sandbox) allCalled(tag string) {
	b.t.Helper()
	for path, item := range b.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Tags[0] == tag && !b.called[method+" "+path] {
				b.t.Errorf("%s %s was not called", method, path)
			}
		}
	}
}

func TestOperationsMatchTheOpenAPIFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		ctx, client := t.Context(), b.client()
		offer := b.book(client, "ref")
		b.s.ConfirmOrder("ref")
		time.Sleep(time.Minute)
		_, err := client.OAuthToken(ctx, &hotelstays.OAuthTokenRequest{ClientID: b.s.ClientID, ClientSecret: types.NewSecret(b.s.ClientSecret)})
		require.NoError(t, err)
		_, err = client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: offer.Session, RatePkgID: offer.RatePkgID})
		require.NoError(t, err)
		order, err := client.FindOrder(ctx, "ref")
		require.NoError(t, err)
		issued, err := client.OrderVoucher(ctx, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref"})
		require.NoError(t, err)
		require.NoError(t, client.DownloadVoucher(ctx, issued.Voucher, io.Discard))
		b.call("GET", strings.TrimPrefix(issued.Voucher.VerifyURL, b.s.URL), "", 200)
		_, err = client.Cancel(ctx, &hotelstays.CancelRequest{SessionID: offer.Session, CustomerReferenceNo: "ref",
			SupplierReferenceNo: order.SupplierReferenceNo})
		require.NoError(t, err)
		for op, call := range testkit.Calls(offer.Session) {
			if b.s.Ledger().Count(op) == 0 {
				err := call(ctx, client)
				refused, ok := errors.AsType[*hotelstays.APIError](err)
				require.True(t, err == nil || ok && refused.HTTPStatus == http.StatusNotFound, "%v: no order has the made-up reference", err)
			}
		}
		b.call("POST", "/api/trade/queryOrders", "{}", 401) // without a token
		b.allCalled("service")
	})
}

func TestControlRoutesMatchTheOpenAPIFile(t *testing.T) {
	b := start(t)
	client := b.client()
	id := b.book(client, "ref").RatePkgID
	b.book(client, "other")
	quoted := fmt.Sprintf(`{"ratePkgId":%q}`, id)
	event := b.s.Ledger().WebhooksFor("ref")[0].EventID
	for _, tc := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/healthz", "", 200},
		{"GET", "/_sandbox/openapi.json", "", 200},
		{"GET", "/_sandbox/catalog?limit=3", "", 200},
		{"GET", "/_sandbox/catalog?limit=0", "", 400},
		{"GET", "/_sandbox/events?after=x", "", 400},
		{"GET", "/_sandbox/requests?operation=Book&traceId=call&reference=ref&after=0&limit=10", "", 200},

		{"POST", "/_sandbox/faults", `{"kind":"status","operation":"Cancel","status":504,"times":2,"delay":"1.5s",
			"header":{"A":["b"]},"body":""}`, 200},
		{"POST", "/_sandbox/faults", `{"kind":"bad-signature","operation":"Webhook","reference":"nobody","probability":0.5,"skip":3}`, 200},
		{"POST", "/_sandbox/faults", `{"kind":"cut","operation":"Bok"}`, 400},
		{"POST", "/_sandbox/faults", `{"kind":"cuts"}`, 400},
		{"POST", "/_sandbox/faults", `{"kind":"cut","delay":"soon"}`, 400},
		{"POST", "/_sandbox/faults", `{"kind":"cut","delay":2}`, 400},
		{"POST", "/_sandbox/faults", `{"kind":"cut","skip":-1}`, 400},
		{"POST", "/_sandbox/faults", `{"kind":"cut","probability":2}`, 400},
		{"POST", "/_sandbox/faults", `{"kind":"cut","unknown":2}`, 400},
		{"POST", "/_sandbox/faults", `{"kind":"cut","header":{"A":"b"}}`, 400},
		{"POST", "/_sandbox/faults", `{}`, 400},
		{"POST", "/_sandbox/faults", `[]`, 400},
		{"GET", "/_sandbox/faults", "", 200},
		{"DELETE", "/_sandbox/faults/1", "", 204},
		{"DELETE", "/_sandbox/faults/1", "", 404},
		{"DELETE", "/_sandbox/faults", "", 204},

		{"GET", "/_sandbox/orders?limit=1", "", 200},
		{"GET", "/_sandbox/orders/ref", "", 200},
		{"GET", "/_sandbox/orders/nobody", "", 404},
		{"POST", "/_sandbox/orders/ref/amend", "", 409},
		{"POST", "/_sandbox/orders/ref/voucher/regenerate", "", 409},
		{"POST", "/_sandbox/orders/ref/confirm", "", 200},
		{"POST", "/_sandbox/orders/PO000000001/amend", "{}", 200},
		{"POST", "/_sandbox/orders/ref/status", `{"status":5}`, 200},
		{"POST", "/_sandbox/orders/ref/status", `{"status":6}`, 400},
		{"POST", "/_sandbox/orders/ref/status", `{"status":"5"}`, 400},
		{"POST", "/_sandbox/orders/ref/status", `{}`, 400},
		{"POST", "/_sandbox/orders/ref/cancel-rule", `{"rule":"needs-reason"}`, 200},
		{"POST", "/_sandbox/orders/ref/cancel-rule", `{"rule":"odd"}`, 400},
		{"POST", "/_sandbox/orders/ref/voucher/regenerate", "", 200},
		{"POST", "/_sandbox/orders/ref/voucher/fail", "", 200},
		{"POST", "/_sandbox/orders/ref/webhooks", `{"event":"order_paid"}`, 204},
		{"POST", "/_sandbox/orders/ref/webhooks", `{}`, 400},
		{"POST", "/_sandbox/orders/other/cancel", "", 200},

		{"POST", "/_sandbox/offers/price", fmt.Sprintf(`{"ratePkgId":%q,"percent":10}`, id), 204},
		{"POST", "/_sandbox/offers/price", fmt.Sprintf(`{"ratePkgId":%q,"percent":-100}`, id), 400},
		{"POST", "/_sandbox/offers/price", quoted, 400},
		{"POST", "/_sandbox/offers/close", quoted, 204},
		{"POST", "/_sandbox/offers/close", `{"ratePkgId":5}`, 400},
		{"POST", "/_sandbox/offers/close", `{}`, 400},

		{"GET", "/_sandbox/webhooks?reference=ref&limit=2", "", 200},
		{"GET", "/_sandbox/webhooks?limit=1001", "", 400},
		{"POST", "/_sandbox/webhooks/" + event + "/redeliver", "", 204},
		{"POST", "/_sandbox/webhooks/evt_none/redeliver", "", 404},

		{"GET", "/_sandbox/ledger", "", 200},
		{"GET", "/_sandbox/clock", "", 200},
		{"POST", "/_sandbox/clock", `{"advance":"10m"}`, 200},
		{"POST", "/_sandbox/clock", `{"advance":"10"}`, 400},
		{"POST", "/_sandbox/clock", `{"advance":10}`, 400},
		{"POST", "/_sandbox/sessions/expire", "", 204},
		{"POST", "/_sandbox/tokens/revoke", "", 204},
	} {
		b.call(tc.method, tc.path, tc.body, tc.want)
	}
	b.call("POST", "/_sandbox/reset", "", 204)

	b.allCalled("control")
}
