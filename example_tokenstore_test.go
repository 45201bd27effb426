// An example of a TokenStore.

package hotelstays_test

import (
	"context"
	"fmt"
	"sync"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// sharedTokens stands for a store that processes share, such as the one of
// contrib/redis. A real one encrypts the values: they are secrets.
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

// CompareAndDelete keeps a new token that another process has stored.
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
	srv := hotelstaystest.NewServer()
	defer srv.Close()
	store := &sharedTokens{held: map[string]hotelstays.Token{}}

	for range 3 { // each is another process
		client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
			hotelstays.WithHTTPClient(srv.Client()), hotelstays.WithTokenStore(store))
		if err != nil {
			fmt.Println(err)
			return
		}
		if _, err := client.QueryOrders(context.Background(), &hotelstays.QueryOrdersRequest{}); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("tickets:", srv.Ledger().TicketsIssued())
	// Output: tickets: 1
}
