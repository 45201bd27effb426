package sqltest

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
)

func TestMain(m *testing.M) {
	for dialect, variable := range map[hotelstayssql.Dialect]string{hotelstayssql.PostgreSQL: postgresVariable, hotelstayssql.MySQL: mariadbVariable} {
		if slices.Contains(dialects, dialect) && os.Getenv(variable) == "" {
			fmt.Fprintf(os.Stderr, "%s is not set; see the README of contrib/sql\n", variable)
			os.Exit(1)
		}
	}
	if text := os.Getenv(processVariable); text != "" {
		if err := play(text); err != nil {
			fmt.Fprintln(os.Stderr, "a process of the test ended:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
