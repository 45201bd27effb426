//go:build servers

package sqltest

import (
	"net"
	"net/url"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
)

// cutter passes connections on to a server, and cuts them when they commit.
type cutter struct {
	address string // where it listens
	cut     atomic.Int32
}

// The moments of a cut.
const (
	never int32 = iota
	beforeCommit
	beforeAnswer
)

var commit = regexp.MustCompile(`(?i)(^|[^o])commit([^t]|$)`) // and not READ COMMITTED or autocommit

func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{address: listener.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { c.serve(client, server) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		serving.Wait()
	})
	return c
}

func (c *cutter) serve(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	var committing atomic.Bool // the answers no longer pass
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil || committing.Load() {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			break
		}
		if commit.Match(buf[:n]) {
			cut := c.cut.Load()
			if cut == beforeCommit {
				break
			}
			committing.Store(cut == beforeAnswer)
		}
		if _, err := server.Write(buf[:n]); err != nil {
			break
		}
		if committing.Load() {
			<-answers
			break
		}
	}
	server.Close()
	<-answers
}

// through returns the database with connections through a cutter.
func (d *database) through(t *testing.T) (*database, *cutter) {
	t.Helper()
	via := &database{dialect: d.dialect, driver: d.driver}
	var c *cutter
	if d.dialect == hotelstayssql.MySQL {
		cfg, err := mysql.ParseDSN(d.dsn)
		require.NoError(t, err)
		c = newCutter(t, cfg.Addr)
		cfg.Addr = c.address
		via.dsn = cfg.FormatDSN()
	} else {
		u, err := url.Parse(d.dsn)
		require.NoError(t, err)
		c = newCutter(t, u.Host)
		u.Host = c.address
		via.dsn = u.String()
	}
	via.DB = via.open(t)
	return via, c
}

func TestConnectionCutAtTheCommit(t *testing.T) {
	onServers(t, func(t *testing.T, db *database) {
		s := newEvents(t, db.DB, db.dialect)
		via, c := db.through(t)
		cut := newEvents(t, via.DB, via.dialect)
		for _, moment := range []struct {
			cut       int32
			id        string
			committed int64
		}{
			{beforeCommit, "before", 0},
			{beforeAnswer, "after", 1},
		} {
			e := event(moment.id, moment.id)
			c.cut.Store(moment.cut)
			assert.ErrorContains(t, cut.HandleTx(t.Context(), e, insert(1)), "hotelstayssql: handling an event: ")
			assert.Equal(t, moment.committed, db.handled(t), moment.id)
			c.cut.Store(never)
			require.NoError(t, cut.HandleTx(t.Context(), e, insert(1)), "the sender repeats it")
			assert.EqualValues(t, 1, db.handled(t), moment.id)
			db.exec(t, "DELETE FROM handled")

			keys := []string{moment.id}
			c.cut.Store(moment.cut)
			_, err := cut.Claim(t.Context(), keys, time.Minute)
			assert.ErrorContains(t, err, "hotelstayssql: claiming an event: ")
			c.cut.Store(never)
			db.pass(t, "hotelstays_events", "expires_at", time.Minute)
			state, err := s.Claim(t.Context(), keys, time.Minute)
			require.NoError(t, err)
			assert.Equal(t, hotelstays.ClaimGranted, state, "the lease is over")
		}
	})
}
