package hotelstaystest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// The server's copy shares nothing with the caller's Config or with the result of Server.Config.
func TestServerCopiesItsConfigAndAddsDefaults(t *testing.T) {
	text := func(c Config) string { return string(must(json.Marshal(c))) }
	given := Config{
		Accounts:     []Account{{"key", "secret"}},
		OAuthClients: []OAuthClient{{"id", "secret", []types.Scope{types.ScopeSearchRead}}},
		UserRefs:     map[string][]types.Scope{"u": {types.ScopeSearchRead}},
		EmptyReason:  &types.EmptyReason{Suppliers: []types.EmptyReasonSupplier{{Reason: "r"}}},
		RateLimits:   map[Operation]int{opBook: 3},
		Webhooks:     WebhookConfig{Events: map[WebhookTrigger][]types.EventKind{OnBook: {types.EventOrderPaid}, OnCancel: nil}},
	}
	before := text(given)
	s := start(t, given)
	same(t, text(given), before)
	complete := s.Config()
	failIf(t, complete.VoucherDelay != 5*time.Second || complete.RateLimits[opBook] != 3 || complete.RateLimits[opTicket] != 5 ||
		len(complete.Webhooks.Events[OnCancel]) != 0 || len(complete.Webhooks.Events[OnConfirm]) != 2, "%+v", complete)
	again, err := complete.complete()
	failIf(t, err != nil || !reflect.DeepEqual(again, complete), "a server with the complete configuration: %+v, %v", again, err)
	whole := text(complete)
	for _, c := range []Config{given, complete} {
		c.Webhooks.Events[OnBook][0], c.OAuthClients[0].Scopes[0], c.UserRefs["u"][0], c.EmptyReason.Suppliers[0].Reason = "x", "x", "x", "x"
		c.Accounts[0].AppSecret, c.RateLimits[opBook] = "x", 1
		delete(c.Webhooks.Events, OnCancel)
	}
	same(t, text(s.Config()), whole)
}

func TestConfigErrorNamesTheField(t *testing.T) {
	catalog := func(c Catalog) *Config { return &Config{Catalog: c} }
	webhooks := func(w WebhookConfig) *Config { return &Config{Webhooks: w} }
	variants := func(v Variants) *Config { return &Config{Variants: v} }
	numbers := func(n OrderStatusNumbers) *Config { return variants(Variants{OrderStatusNumbers: n}) }
	for _, tc := range []struct {
		config *Config
		want   string // beginning of the text about the invalid field
	}{
		{&Config{Addr: "0.0.0.0:0"}, "addr"},
		{&Config{Addr: "example.com:80"}, "addr"},
		{&Config{Addr: "127.0.0.1"}, "addr"},
		{&Config{InMemory: true, Addr: "127.0.0.1:80"}, "inMemory and addr"},
		{&Config{HTTP1Only: true}, "http1Only needs tls"},
		{&Config{TLSNames: []string{"a"}}, "tlsNames needs tls"},
		{&Config{TLS: true, TLSNames: []string{"a", "a:80"}}, "tlsNames[1]"},
		{&Config{Control: ControlConfig{Token: "                    "}}, "control.token contains"},
		{&Config{Addr: ":80", AllowRemote: true, Control: ControlConfig{Enabled: true, Token: "fifteen-letters"}}, "control.token has 15 "},
		{&Config{Addr: "192.0.2.1:80", AllowRemote: true, Control: ControlConfig{Enabled: true}}, "control.token has 0 "},
		{catalog(Catalog{Countries: 1000}), "catalog.countries"},
		{catalog(Catalog{RoomsPerHotel: 51}), "catalog.roomsPerHotel"},
		{&Config{Accounts: []Account{{"k", "s"}, {"k", ""}}}, "accounts[1]"},
		{&Config{OAuthClients: []OAuthClient{{ClientID: "id"}}}, "oauthClients[0]"},
		{&Config{RateLimits: map[Operation]int{opBook: 0}}, "rateLimits.Book"},
		{&Config{RateLimits: map[Operation]int{"Nothing": 5}}, "rateLimits"},
		{&Config{RequiredGuestFields: []string{"gender", "shoeSize"}}, "requiredGuestFields[1]"},
		{&Config{CancelRule: "odd"}, "cancelRule"},
		{&Config{TokenLifetime: AtOnce}, "tokenLifetime must be positive, not 0s"},
		{&Config{ConfirmAfter: -time.Second}, "confirmAfter"},
		{webhooks(WebhookConfig{CallbackHosts: []string{"http://engine"}}), "webhooks.callbackHosts[0]"},
		{webhooks(WebhookConfig{RetryDelays: []time.Duration{time.Second, 0}}), "webhooks.retryDelays[1]"},
		{webhooks(WebhookConfig{Events: map[WebhookTrigger][]types.EventKind{"odd": {types.EventOrderPaid}}}), "webhooks.events: "},
		{webhooks(WebhookConfig{Events: map[WebhookTrigger][]types.EventKind{OnBook: {""}}}), "webhooks.events.book"},
		{variants(Variants{Available: 3}), "variants.available"},
		{variants(Variants{BusinessFailureStatus: 500}), "variants.businessFailureStatus"},
		{numbers(OrderStatusNumbers{Confirmed: 6}), "variants.orderStatusNumbers"},
		{numbers(OrderStatusNumbers{Pending: 2}), "variants.orderStatusNumbers"},
		{&Config{VoucherSize: -1}, "voucherSize must be 0 or more, not -1"},
		{&Config{LedgerLimit: -1}, "ledgerLimit"},
	} {
		s, err := StartServer(tc.config)
		if err == nil {
			s.Close()
		}
		failIf(t, !errors.Is(err, ErrInvalidConfig) || !strings.HasPrefix(err.Error(), ErrInvalidConfig.Error()+": "+tc.want),
			"want %s: %v", tc.want, err)
	}
	all := &Config{LedgerLimit: -1, HTTP1Only: true, CancelCutoff: -time.Second}
	const faults = "http1Only needs tls; without TLS there is no HTTP/2; cancelCutoff must be positive, not -1s; ledgerLimit must be"
	panics(t, faults, func() { NewServer(all) })
}

func TestConfigIsTheSameAfterJSONEncodingAndDecoding(t *testing.T) {
	config := Config{
		Addr: "0.0.0.0:80", AllowRemote: true, TLS: true, TLSNames: []string{"sandbox", "192.0.2.1"}, HTTP1Only: true, InMemory: true,
		Compression: true, Seed: 1<<64 - 1, Catalog: Catalog{Countries: 1, EmptyEvery: -1}, Accounts: []Account{{"key", "secret"}},
		OAuthClients: []OAuthClient{{"id", "secret", []types.Scope{types.ScopeContentRead}}}, TicketScopes: []types.Scope{types.ScopeContentRead},
		Markets: []string{"AE"}, UserRefs: map[string][]types.Scope{"u": {types.ScopeContentRead}}, TokenLifetime: time.Minute,
		SessionLifetime: 90 * time.Second, NoRateLimits: true, RateLimits: map[Operation]int{opBook: 3}, VisibilityBand: true,
		EmptyReason: &types.EmptyReason{Code: "NO", Suppliers: []types.EmptyReasonSupplier{{SupplierCode: "A", Reason: "off"}}},
		Notices:     []string{"note"}, RequiredGuestFields: []string{"gender"},
		ConfirmAfter: Never, LateVisibility: time.Nanosecond, CancelRule: CancelForbiddenByContract, CancelCutoff: AtOnce,
		VoucherDelay: time.Hour, VoucherLinkLifetime: time.Second, VoucherSize: 1, UnsignedVouchers: true,
		Webhooks: WebhookConfig{
			Secret: "s", Unsigned: true, StrictCallbacks: true, CallbackHosts: []string{"engine"}, RetryDelays: []time.Duration{time.Second},
			Timeout: time.Second, Events: map[WebhookTrigger][]types.EventKind{OnBook: {"strange"}, OnConfirm: {}},
		},
		Variants: Variants{
			OAuthTopLevel: true, NoTotals: true, Available: 2, BusinessFailureStatus: 409, NullOrders: true,
			OrderStatusNumbers: OrderStatusNumbers{Confirmed: 5, Cancelled: 4, Pending: 3},
		},
		Control: ControlConfig{Enabled: true, Token: "token", Hosts: []string{"sandbox"}}, LedgerLimit: 1,
	}
	whole := reflect.ValueOf(config)
	for i := range whole.NumField() {
		failIf(t, whole.Field(i).IsZero(), "%s is not set in this test", whole.Type().Field(i).Name)
	}
	noRetries := Config{Webhooks: WebhookConfig{RetryDelays: []time.Duration{}}}
	for name, c := range map[string]Config{"whole": config, "empty": {}, "no retries": noRetries} {
		text, err := json.Marshal(c)
		stopIf(t, err != nil, "%v", err)
		var got Config
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: %s: got %+v, %v", name, text, got, err)
		}
	}
	text, _ := json.Marshal(Config{ConfirmAfter: AtOnce, TokenLifetime: Never, VoucherDelay: 90 * time.Second})
	want := `{"confirmAfter":"0s","tokenLifetime":"never","voucherDelay":"1m30s"}`
	failIf(t, string(text) != want, "got %s, want %s", text, want)
	later := Config{Seed: 5, TLS: true}
	if err := json.Unmarshal([]byte(`{"seed":6}`), &later); err != nil || later.Seed != 6 || !later.TLS {
		t.Errorf("%+v, %v", later, err)
	}
}

func TestConfigJSONErrorNamesTheField(t *testing.T) {
	for text, want := range map[string]string{
		`{"Seed":1}`:                                 "unknown field Seed",
		`{"webhooks":{"-":1}}`:                       "unknown field webhooks.-",
		`{"oauthClients":[{"scopes":[1]}]}`:          "oauthClients[0].scopes[0]",
		`{"tokenLifetime":"an hour"}`:                "tokenLifetime",
		`{"tokenLifetime":3600}`:                     "tokenLifetime must be a duration",
		`{"confirmAfter":"-1s"}`:                     "confirmAfter: the duration is negative",
		`{"webhooks":{"retryDelays":["1s","soon"]}}`: "webhooks.retryDelays[1]",
	} {
		err := json.Unmarshal([]byte(text), new(Config))
		failIf(t, !errors.Is(err, ErrInvalidConfig) || !strings.Contains(err.Error(), want), "%s: %v", text, err)
	}
}
