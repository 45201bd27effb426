// Many callers that start at once, over loopback and in real time.

package chaos_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// Callers that start together on a client without a connection: their requests arrive over up
// to half a second, and those that wait for a slot arrive at once. HOTELSTAYS_LONG=1 makes 20
// bursts of 150 and 300 callers, one after another, each second one on a sandbox of another
// process; the gate runs them alone, because on a starved machine a request can take longer to
// arrive than the client assumes. Else it is one small burst in this process.
func TestColdBursts(t *testing.T) {
	inProcess := func(t *testing.T) sandboxAddress {
		srv := hotelstaystest.NewServer(nil)
		t.Cleanup(srv.Close)
		return sandboxAddress{srv.URL, srv.AppKey, srv.AppSecret, srv.CityName(0)}
	}
	starts := []func(*testing.T) sandboxAddress{inProcess}
	if testkit.Long() {
		starts = append(starts, sandboxProgram(t))
	}
	for i := range howMany(t, "bursts", 20, 1, 1) {
		callers := 120
		if testkit.Long() {
			callers = 300 - i/len(starts)%2*150
		}
		t.Run(fmt.Sprintf("%d: %d callers", i, callers), func(t *testing.T) {
			burst(t, starts[i%len(starts)](t), callers)
		})
	}
}

type sandboxAddress struct{ url, key, secret, city string }

// burst makes all calls at once, with a new client, and counts the 429s.
func burst(t *testing.T, to sandboxAddress, callers int) {
	refused := &refusals{}
	credential := hotelstays.TicketCredential{AppKey: to.key, AppSecret: types.NewSecret(to.secret)}
	client, err := hotelstays.New(to.url, credential, hotelstays.WithObserver(hotelstays.Observer{CallEnd: refused.CallEnd}))
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	begin := time.Now()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			_, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{
				DestinationName: to.city, CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults(),
			})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	t.Logf("%v", time.Since(begin).Round(time.Millisecond))
	assert.Zero(t, refused.n.Load(), "429s")
}

// refusals counts the 429s that a client meets.
type refusals struct{ n atomic.Int64 }

func (r *refusals) CallEnd(_ context.Context, info hotelstays.CallInfo) {
	for _, attempt := range info.Attempts {
		if attempt.HTTPStatus == http.StatusTooManyRequests {
			r.n.Add(1)
		}
	}
}

// sandboxProgram builds the sandbox's program. What it returns starts one, until the
// test ends.
func sandboxProgram(t *testing.T) func(*testing.T) sandboxAddress {
	binary := filepath.Join(t.TempDir(), "sandbox")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox").CombinedOutput()
	require.NoError(t, err, "%s", out)
	settings := regexp.MustCompile(`(?s)_BASE_URL='(.+?)'.*_APP_KEY='(.+?)'.*_APP_SECRET='(.+?)'.*-destination '(.+?)'`)
	return func(t *testing.T) sandboxAddress {
		cmd := exec.CommandContext(t.Context(), binary, "-listen", "127.0.0.1:0")
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { // t's ctx has ended, and the program with it
			_, _ = io.Copy(io.Discard, stdout)
			_ = cmd.Wait()
		})
		said := make([]byte, 4096)
		n, err := stdout.Read(said)
		require.NoError(t, err)
		m := settings.FindSubmatch(said[:n])
		require.NotNil(t, m, "%s", said[:n])
		return sandboxAddress{string(m[1]), string(m[2]), string(m[3]), string(m[4])}
	}
}
