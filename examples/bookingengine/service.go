// The service of the environment, or a sandbox.

package main

import (
	"errors"
	"os"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// eventsPath receives webhooks.
const eventsPath = "/hotel-events"

type service struct {
	BaseURL          string
	Sandbox, MayBook bool
	// Cities are suggestions of the search form. A real engine fills its catalogue with
	// WalkDestinations.
	Cities []string

	credential hotelstays.TicketCredential
	// facts are empty if the numbers of order states are unknown: then the pages show less.
	facts hotelstays.ServiceFacts
	// callbackURL receives the events of orders, signed with webhookSecret. It is empty without
	// webhooks.
	callbackURL   string
	webhookSecret types.Secret
	options       []hotelstays.Option
	pause         time.Duration // after which the journal looks for work again
}

// findService returns the service of the environment, or starts a sandbox that calls back this
// site, and that may lose an answer.
func findService(site string, loseAnswer bool) (svc *service, closeService func(), err error) {
	base, key, secret := os.Getenv("HOTELSTAYS_BASE_URL"), os.Getenv("HOTELSTAYS_APP_KEY"), os.Getenv("HOTELSTAYS_APP_SECRET")
	callback, signed := os.Getenv("HOTELSTAYS_CALLBACK_URL"), os.Getenv("HOTELSTAYS_WEBHOOK_SECRET")
	switch {
	case base == "" && key == "" && secret == "":
		return startSandbox(site, loseAnswer)
	case base == "" || key == "" || secret == "":
		return nil, nil, errors.New("set HOTELSTAYS_BASE_URL, HOTELSTAYS_APP_KEY and HOTELSTAYS_APP_SECRET together, or none for the sandbox")
	case callback != "" && signed == "":
		return nil, nil, errors.New("set HOTELSTAYS_WEBHOOK_SECRET together with HOTELSTAYS_CALLBACK_URL, or neither to do without webhooks")
	}
	return &service{
		BaseURL: base, MayBook: os.Getenv("HOTELSTAYS_ALLOW_BOOKING") == "1",
		credential:  hotelstays.TicketCredential{AppKey: key, AppSecret: types.NewSecret(secret)},
		callbackURL: callback, webhookSecret: types.NewSecret(signed), pause: time.Second,
	}, func() {}, nil
}

// startSandbox starts a sandbox whose hotels confirm within seconds.
func startSandbox(site string, loseAnswer bool) (svc *service, closeSandbox func(), err error) {
	config := &hotelstaystest.Config{ConfirmAfter: 8 * time.Second, VoucherDelay: 2 * time.Second}
	if loseAnswer {
		config.ConfirmAfter, config.LateVisibility = time.Minute, 20*time.Second
	}
	srv, err := hotelstaystest.StartServer(config)
	if err != nil {
		return nil, nil, err
	}
	if loseAnswer {
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	}
	return sandboxService(srv, site), srv.Close, nil
}

// sandboxService returns a sandbox that calls back the site.
func sandboxService(srv *hotelstaystest.Server, site string) *service {
	svc := &service{
		BaseURL: srv.URL, Sandbox: true, MayBook: true,
		credential:  hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		callbackURL: site + eventsPath, webhookSecret: types.NewSecret(srv.WebhookSecret), pause: time.Second,
		facts: hotelstays.ServiceFacts{OrderStates: hotelstays.OrderStates{ // the numbers of the sandbox
			Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}, Pending: []types.OrderStatus{4},
		}},
	}
	for i := range srv.CityCount() {
		svc.Cities = append(svc.Cities, srv.CityName(i))
	}
	return svc
}
