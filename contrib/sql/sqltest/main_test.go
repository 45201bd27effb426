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
	Dialect           hotelstayssql.Dialect
	Driver, DSN       string
	bookingstest.Plan // of an engine; empty to handle events
}

func (p part) play() error {
	db := &database{dialect: p.Dialect, driver: p.Driver, dsn: p.DSN}
	var err error
	if db.DB, err = openPool(p.Driver, p.DSN); err != nil {
		return err
	}
	ctx := chaostest.UntilClosed()
	if p.URL != "" {
		return engine(ctx, p, db)
	}
	_, _ = os.Stdout.WriteString("ready\n")
	return handleAll(ctx, db.DB, db.dialect)
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
	p, err := chaostest.Start(d.part())
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	line, err := p.Line()
	require.NoError(t, err)
	require.Equal(t, "ready", line)
	return p
}

func (d *database) part() part { return part{Dialect: d.dialect, Driver: d.driver, DSN: d.dsn} }
