// Checks of the constructors' arguments.

package hotelstayssql

import (
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

// problems collects the errors in the arguments of a constructor.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p *problems) err(constructor string) error {
	if len(*p) == 0 {
		return nil
	}
	return fmt.Errorf("hotelstayssql: %s: %w", constructor, errors.Join(*p...))
}

func (p *problems) checkDatabase(db *sql.DB, dialect Dialect) {
	if db == nil {
		p.add("the database is nil; pass the result of Open or sql.Open")
	}
	if _, ok := grammars[dialect]; !ok {
		p.add("the dialect is %.20q; it must be PostgreSQL, MySQL or SQLite", string(dialect))
	}
}

func (p *problems) keyring(keys []types.Secret) *keyring.Ring {
	ring, err := keyring.New(keys)
	if err != nil {
		*p = append(*p, err)
	}
	return ring
}

// newID returns a random number above 0. Two processes practically never get the same number.
func newID() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.NativeEndian.Uint64(b[:])>>1) | 1
}
