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

// Each field keeps its value in JSON, and a zero one leaves no trace.
func TestConfigIsItsJSON(t *testing.T) {
	config := Config{
		Addr: "0.0.0.0:80", AllowRemote: true, TLS: true, TLSNames: []string{"sandbox", "192.0.2.1"}, HTTP1Only: true, InMemory: true,
		Compression: true, Seed: 1<<64 - 1, Catalog: Catalog{Countries: 1, EmptyEvery: -1}, Accounts: []Account{{"key", "secret"}},
		OAuthClients: []OAuthClient{{"id", "secret", []types.Scope{types.ScopeContentRead}}}, TicketScopes: []types.Scope{types.ScopeContentRead},
		Markets: []string{"AE"}, UserRefs: map[string][]types.Scope{"u": {types.ScopeContentRead}}, TokenLifetime: time.Minute,
		SessionLifetime: 90 * time.Second, NoRateLimits: true, RateLimits: map[Operation]int{types.OpBook: 3}, VisibilityBand: true,
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
		failIf(t, whole.Field(i).IsZero(), "%s is not tried", whole.Type().Field(i).Name)
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

// Every error names the field.
func TestConfigRefusesJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"Seed":1}`:                                 "unknown field Seed",
		`{"webhooks":{"-":1}}`:                       "unknown field webhooks.-",
		`{"seed":"x"}`:                               "seed must be integer",
		`{"oauthClients":[{"scopes":[1]}]}`:          "oauthClients[0].scopes[0]",
		`{"tokenLifetime":"an hour"}`:                "tokenLifetime",
		`{"tokenLifetime":3600}`:                     "tokenLifetime must be a duration",
		`{"tokenLifetime":{}}`:                       "tokenLifetime must be a duration",
		`{"confirmAfter":"-1s"}`:                     "confirmAfter: it is negative",
		`{"cancelRule":0}`:                           "cancelRule",
		`{"webhooks":{"retryDelays":["1s","soon"]}}`: "webhooks.retryDelays[1]",
	} {
		err := json.Unmarshal([]byte(text), new(Config))
		failIf(t, !errors.Is(err, ErrInvalidConfig) || !strings.Contains(err.Error(), want), "%s: %v", text, err)
	}
}
