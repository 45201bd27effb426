// An example of an Observer.

package hotelstays_test

import (
	"context"
	"fmt"
	"sync"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// callCounter counts calls and failures by operation. A tracer would start a span in
// CallStart and end it in CallEnd.
type callCounter struct {
	mu            sync.Mutex
	calls, failed map[hotelstays.Operation]int
}

func (c *callCounter) count(_ context.Context, info hotelstays.CallInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[info.Operation]++
	if info.Err != nil {
		c.failed[info.Operation]++
	}
}

// An observer sees every call, also those that fetch tokens.
func ExampleWithObserver() {
	srv := hotelstaystest.NewServer()
	defer srv.Close()
	counter := &callCounter{calls: map[hotelstays.Operation]int{}, failed: map[hotelstays.Operation]int{}}
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		hotelstays.WithHTTPClient(srv.Client()), hotelstays.WithObserver(hotelstays.Observer{CallEnd: counter.count}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for _, reference := range []string{"ref-1", "ref-2"} {
		if _, err := client.OrderVoucher(ctx, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: reference}); err != nil {
			continue // there are no such orders
		}
	}
	fmt.Println("calls:", counter.calls)
	fmt.Println("failed:", counter.failed)
	// Output:
	// calls: map[OrderVoucher:2 Ticket:1]
	// failed: map[OrderVoucher:2]
}
