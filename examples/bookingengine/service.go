// The service that is sold from: the one that the environment names, or a sandbox.

package main

import (
	"errors"
	"os"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// eventsPath is where this site receives webhooks.
const eventsPath = "/hotel-events"

// service is what the engine talks to.
type service struct {
	baseURL    string
	credential hotelstays.Credential
	sandbox    bool
	mayBook    bool
	// states are the numbers of order states, nil where they are not known: the
	// pages then say no more than they know.
	states *hotelstays.OrderStates
	// cities are suggested in the search form. A real engine has its own catalogue,
	// filled by WalkDestinations and refreshed now and then.
	cities []string
	// callbackURL is where the service posts events of orders, signed with
	// webhookSecret. Both are empty without webhooks.
	callbackURL   string
	webhookSecret types.Secret
	// options are further settings of the client.
	options []hotelstays.Option
}

// findService returns the service that the environment names, or starts a sandbox
// that calls back this site, and that loses an answer where that is asked for.
func findService(site string, loseAnswer bool) (svc *service, closeService func(), err error) {
	base, key, secret := os.Getenv("HOTELSTAYS_BASE_URL"), os.Getenv("HOTELSTAYS_APP_KEY"), os.Getenv("HOTELSTAYS_APP_SECRET")
	callback, signed := os.Getenv("HOTELSTAYS_CALLBACK_URL"), os.Getenv("HOTELSTAYS_WEBHOOK_SECRET")
	switch {
	case base == "" && key == "" && secret == "":
		return startSandbox(site, loseAnswer)
	case base == "" || key == "" || secret == "":
		return nil, nil, errors.New("set HOTELSTAYS_BASE_URL, HOTELSTAYS_APP_KEY and HOTELSTAYS_APP_SECRET all together, or none of them for the sandbox")
	case (callback == "") != (signed == ""):
		return nil, nil, errors.New("set HOTELSTAYS_CALLBACK_URL and HOTELSTAYS_WEBHOOK_SECRET together, or neither to do without webhooks")
	}
	return &service{
		baseURL:       base,
		credential:    hotelstays.TicketCredential{AppKey: key, AppSecret: types.NewSecret(secret)},
		mayBook:       os.Getenv("HOTELSTAYS_ALLOW_BOOKING") == "1",
		callbackURL:   callback,
		webhookSecret: types.NewSecret(signed),
	}, func() {}, nil
}

// startSandbox starts a sandbox whose hotels confirm within seconds.
func startSandbox(site string, loseAnswer bool) (svc *service, closeSandbox func(), err error) {
	opts := []hotelstaystest.Option{hotelstaystest.WithConfirmAfter(8 * time.Second), hotelstaystest.WithVoucherDelay(2 * time.Second)}
	if loseAnswer {
		opts = append(opts, hotelstaystest.WithConfirmAfter(time.Minute), hotelstaystest.WithLateVisibility(20*time.Second))
	}
	srv, err := hotelstaystest.StartServer(opts...)
	if err != nil {
		return nil, nil, err
	}
	if loseAnswer {
		srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	}
	return sandboxService(srv, site), srv.Close, nil
}

// sandboxService is a sandbox that calls back the site at an address.
func sandboxService(srv *hotelstaystest.Server, site string) *service {
	svc := &service{
		baseURL:       srv.URL,
		credential:    hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		sandbox:       true,
		mayBook:       true,
		callbackURL:   site + eventsPath,
		webhookSecret: types.NewSecret(srv.WebhookSecret),
		states: &hotelstays.OrderStates{ // the sandbox's own numbers
			Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}, Pending: []types.OrderStatus{4},
		},
	}
	for i := range srv.CityCount() {
		svc.cities = append(svc.cities, srv.CityName(i))
	}
	return svc
}
