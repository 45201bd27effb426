package sqltest

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

// part is what a process of a test does, and with what.
type part struct {
	Role              string // handle, engine, book, run, follow or cancel
	Dialect           hotelstayssql.Dialect
	Driver, DSN       string
	bookingstest.Plan        // not for handle
	Reference         string // of book and cancel
	DieAt             string // a stage; not for handle and engine
}

func (p part) play() error {
	db := &database{dialect: p.Dialect, driver: p.Driver, dsn: p.DSN}
	var err error
	if db.DB, err = openPool(p.Driver, p.DSN); err != nil {
		return err
	}
	ctx := chaostest.UntilClosed()
	switch p.Role {
	case "handle":
		_, _ = os.Stdout.WriteString("ready\n")
		return handleAll(ctx, db.DB, db.dialect)
	case "engine":
		return engine(ctx, p, db)
	}
	return perform(ctx, p, db)
}

func TestMain(m *testing.M) {
	chaostest.Main(part.play)
	variables := map[hotelstayssql.Dialect]string{hotelstayssql.PostgreSQL: postgresVariable, hotelstayssql.MySQL: mariadbVariable}
	for dialect, variable := range variables {
		if slices.Contains(dialects, dialect) && os.Getenv(variable) == "" {
			fmt.Fprintf(os.Stderr, "%s is not set; see the README of contrib/sql\n", variable)
			os.Exit(1)
		}
	}
	_ = mysql.SetLogger(&mysql.NopLogger{}) // errors are returned as well
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // they wait for polls and commits, mostly
	goleak.VerifyTestMain(m)
}

// startHandler starts a process that handles events, and waits until it does.
func (d *database) startHandler(t *testing.T) *chaostest.Process {
	t.Helper()
	p := begin(t, part{Role: "handle", Dialect: d.dialect, Driver: d.driver, DSN: d.dsn})
	line, err := p.Line()
	require.NoError(t, err)
	require.Equal(t, "ready", line)
	return p
}

// begin starts a process that ends with the test.
func begin(t *testing.T, part part) *chaostest.Process {
	t.Helper()
	p, err := chaostest.Start(part)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}
