// Examples of clients and credentials.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// One client serves a whole process. New connects to nothing, and names everything
// that is wrong with its arguments at once.
func ExampleNew() {
	client, err := hotelstays.New("https://host.example", hotelstays.TicketCredential{
		AppKey: "app-key", AppSecret: types.NewSecret("app-secret"),
	}, hotelstays.WithLanguage("en-GB"), hotelstays.WithCurrency("EUR"))
	fmt.Println(client, err)

	_, err = hotelstays.New("http://host.example", hotelstays.TicketCredential{AppKey: "app-key"})
	var invalid *hotelstays.ValidationError
	if errors.As(err, &invalid) {
		for _, fault := range invalid.Fields {
			fmt.Println(fault.Path, fault.Problem)
		}
	}
	// Output:
	// hotelstays.Client(https://host.example) <nil>
	// baseURL must be https; plain http is for loopback alone
	// appSecret is required
}

// A client gets and renews its tickets by itself. Ticket tries a pair out, and gets a
// ticket for another program.
func ExampleClient_Ticket() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()

	resp, err := client.Ticket(ctx, &hotelstays.TicketRequest{
		AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret), TTL: time.Hour,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ticket:", resp.Ticket) // secrets do not print
	fmt.Println("parts of the JWT:", strings.Count(resp.Ticket.Reveal(), ".")+1)

	_, err = client.Ticket(ctx, &hotelstays.TicketRequest{AppKey: srv.AppKey, AppSecret: types.NewSecret("another")})
	fmt.Println("refused:", errors.Is(err, hotelstays.ErrUnauthorized))
	// Output:
	// ticket: [redacted]
	// parts of the JWT: 3
	// refused: true
}

// A client with an OAuthCredential gets its access tokens by itself. OAuthToken gets
// one with fewer scopes, for a program that needs no more.
func ExampleClient_OAuthToken() {
	ctx := context.Background()
	srv, client := startSandbox(hotelstaystest.WithOAuthClient("client-id", "client-secret", hotelstaystest.ScopeSearchRead, hotelstaystest.ScopeContentRead))
	defer srv.Close()

	resp, err := client.OAuthToken(ctx, &hotelstays.OAuthTokenRequest{
		ClientID: "client-id", ClientSecret: types.NewSecret("client-secret"), Scopes: []hotelstays.Scope{hotelstays.ScopeContentRead},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	reader, err := hotelstays.New(srv.URL, hotelstays.TokenCredential{Token: resp.AccessToken}, hotelstays.WithHTTPClient(srv.Client()))
	if err != nil {
		fmt.Println(err)
		return
	}
	countries, err := reader.Destinations(ctx, &hotelstays.DestinationsRequest{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("countries:", len(countries.Destinations))

	_, err = client.OAuthToken(ctx, &hotelstays.OAuthTokenRequest{
		ClientID: "client-id", ClientSecret: types.NewSecret("client-secret"), Scopes: []hotelstays.Scope{hotelstays.ScopeBookingWrite},
	})
	fmt.Println("a scope that is not registered:", errors.Is(err, hotelstays.ErrInvalidScope))
	// Output:
	// countries: 3
	// a scope that is not registered: true
}

// The lifetime of an access token is not part of what the service documents: Lifetime
// says how long to trust one, and without it a token is used until it is refused.
func ExampleOAuthCredential() {
	srv := hotelstaystest.NewServer(hotelstaystest.WithOAuthClient("client-id", "client-secret"))
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, hotelstays.OAuthCredential{
		ClientID: "client-id", ClientSecret: types.NewSecret("client-secret"),
		Scopes:   []hotelstays.Scope{hotelstays.ScopeSearchRead, hotelstays.ScopeContentRead},
		Lifetime: 30 * time.Minute,
	}, hotelstays.WithHTTPClient(srv.Client()))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 10 {
		if _, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{}); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("tokens for ten calls:", srv.Ledger().TokensIssued())
	// Output: tokens for ten calls: 1
}

// A process that is done closes the connections that are left.
func ExampleClient_CloseIdleConnections() {
	srv, client := startSandbox()
	defer srv.Close()
	defer client.CloseIdleConnections()

	resp, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{CountryCode: "AE"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, place := range resp.Destinations {
		fmt.Println(place.Name)
	}
	// Output:
	// White Hills Province
	// Lower Market Province
}
