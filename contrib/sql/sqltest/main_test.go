package sqltest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
)

// roleVariable holds the role of a process that a test starts, and its database.
const roleVariable = "HOTELSTAYS_SQL_PROCESS"

type role struct {
	Name        string
	Dialect     hotelstayssql.Dialect
	Driver, DSN string
}

// roles are what a process of a test does. ctx ends with the test.
var roles = map[string]func(ctx context.Context, db *database) error{
	"hold": hold,
	"handle": func(ctx context.Context, db *database) error {
		ready()
		return handleAll(ctx, db.DB, db.dialect)
	},
}

func TestMain(m *testing.M) {
	if settings := os.Getenv(roleVariable); settings != "" {
		if err := play(settings); err != nil {
			fmt.Fprintln(os.Stderr, "a process of the test ended:", err)
			os.Exit(1)
		}
		return
	}
	if text := os.Getenv(partVariable); text != "" {
		if err := perform(text); err != nil {
			fmt.Fprintln(os.Stderr, "a process of the test ended:", err)
			os.Exit(1)
		}
		return
	}
	variables := map[hotelstayssql.Dialect]string{hotelstayssql.PostgreSQL: postgresVariable, hotelstayssql.MySQL: mariadbVariable}
	for dialect, variable := range variables {
		if slices.Contains(dialects, dialect) && os.Getenv(variable) == "" {
			fmt.Fprintf(os.Stderr, "%s is not set; see the README of contrib/sql\n", variable)
			os.Exit(1)
		}
	}
	_ = mysql.SetLogger(&mysql.NopLogger{}) // errors are returned as well
	goleak.VerifyTestMain(m)
}

func play(settings string) error {
	var r role
	if err := json.Unmarshal([]byte(settings), &r); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // the test ends, or dies
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	db := &database{dialect: r.Dialect, driver: r.Driver, dsn: r.DSN}
	var err error
	if db.DB, err = openPool(r.Driver, r.DSN); err != nil {
		return err
	}
	return roles[r.Name](ctx, db)
}

// start starts a process in a role, and waits for the line that it prints.
func (d *database) start(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	settings, err := json.Marshal(role{name, d.dialect, d.driver, d.dsn})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+string(settings))
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe() // closes with this process
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return cmd
}

// ready tells the test that a process is at work.
func ready() { _, _ = os.Stdout.WriteString("ready\n") }
