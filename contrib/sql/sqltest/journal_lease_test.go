package sqltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// pollTap notes when each reference is polled for, and makes each poll slow.
type pollTap struct {
	http.RoundTripper
	mu       sync.Mutex
	underway map[string]int
	twice    []string // references that were polled for twice at a time
}

func (p *pollTap) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/queryOrders") {
		return p.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var req hotelstays.QueryOrdersRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	p.add(req.CustomerReferenceNos, 1)
	defer p.add(req.CustomerReferenceNos, -1)
	time.Sleep(19 * time.Second)
	return p.RoundTripper.RoundTrip(r)
}

func (p *pollTap) add(references []string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, reference := range references {
		if p.underway[reference] += n; p.underway[reference] > 1 {
			p.twice = append(p.twice, reference)
		}
	}
}

// A worker whose polls are slow does not poll after its lease, when others do.
func TestSlowPollsStayWithinTheLease(t *testing.T) {
	db := create(t, hotelstayssql.SQLite)
	require.NoError(t, db.Close()) // its connections belong outside the bubble
	synctest.Test(t, func(t *testing.T) {
		inside := &database{dialect: db.dialect, driver: db.driver, dsn: db.dsn}
		inside.DB = inside.open(t)
		require.NoError(t, hotelstayssql.Migrate(t.Context(), inside.DB, inside.dialect))
		b := newBooks(t, inside, nil, hotelstaystest.WithInMemory())
		const many = 5
		b.fill(many, nil)
		for i := range many {
			reference := fmt.Sprintf("many-%06d", i)
			b.addRow(reference)
			_, err := b.client.Book(t.Context(), b.request(reference))
			require.NoError(t, err)
		}
		tap := &pollTap{RoundTripper: b.Client().Transport, underway: map[string]int{}}
		var err error
		b.client, err = hotelstays.New(b.URL, hotelstays.TicketCredential{AppKey: b.AppKey, AppSecret: types.NewSecret(b.AppSecret)},
			hotelstays.WithHTTPClient(&http.Client{Transport: tap}))
		require.NoError(t, err)
		stop := b.another(func(o *hotelstayssql.JournalOptions) { o.PollInterval = time.Second }).run()
		for inside.number(t, `SELECT COUNT(*) FROM bookings WHERE state = 'found'`) < many {
			time.Sleep(time.Second)
		}
		stop()
		assert.EqualValues(t, many, inside.number(t, `SELECT SUM(ended) FROM bookings`))
		assert.Empty(t, tap.twice)
		b.Client().CloseIdleConnections()
	})
}
