//go:build !servers

package sqltest

import hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"

// dialects are the databases of each test. The tag servers adds PostgreSQL and MariaDB.
var dialects = []hotelstayssql.Dialect{hotelstayssql.SQLite}
