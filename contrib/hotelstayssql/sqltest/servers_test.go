//go:build servers

package sqltest

import hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"

// dialects are the databases of each test. The servers' addresses are in the variables of
// .ci/services.
var dialects = []hotelstayssql.Dialect{hotelstayssql.SQLite, hotelstayssql.PostgreSQL, hotelstayssql.MySQL}
