// A sandbox with a client, and faults.

package chaos_test

import (
	"testing"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// What this package's tests share with those of others.
const checkIn, checkOut = testkit.CheckIn, testkit.CheckOut

type offer = testkit.Offer

var (
	twoAdults, ticketOf, findOffer = testkit.TwoAdults, testkit.TicketOf, testkit.FindOffer
	status, howMany                = testkit.Status, testkit.HowMany
	assertFile, assertFiles        = testkit.AssertFile, testkit.AssertFiles
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a sandbox, a client and an offer in one bubble.
type world struct {
	*hotelstaystest.Server
	client *hotelstays.Client
	offer  offer
}

func newWorld(t *testing.T, config ...hotelstaystest.Config) *world {
	srv, client := testkit.NewSandbox(t, config...)
	return &world{srv, client, findOffer(t, srv, client, 0)}
}

type fault = hotelstaystest.Fault

const (
	cut       = hotelstaystest.FaultCut
	delay     = hotelstaystest.FaultDelay
	wrongType = hotelstaystest.FaultWrongType
)
