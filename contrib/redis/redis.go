// What the three adapters share: key names, checks of options, and calls that end
// with their ctx.

package hotelstaysredis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/redis/go-redis/v9"
)

const defaultPrefix = "hotelstays"

// within makes a call and stops waiting for it when ctx ends: by default go-redis
// keeps its own timeouts alone. What was sent may then still happen.
func within[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// script runs s and returns its reply.
func script(ctx context.Context, client redis.UniversalClient, s *redis.Script, keys []string, args ...any) (any, error) {
	return within(ctx, func(ctx context.Context) (any, error) { return s.Run(ctx, client, keys, args...).Result() })
}

// newName is a name that no other process has.
func newName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// faults collects what is wrong with the arguments of a constructor.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) err(constructor string) error {
	if len(*f) == 0 {
		return nil
	}
	return fmt.Errorf("hotelstaysredis: %s: %w", constructor, errors.Join(*f...))
}

func (f *faults) client(client redis.UniversalClient) {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		f.add("the client is nil: give one of github.com/redis/go-redis/v9")
	}
}

// prefix returns the prefix to use. Braces would move the hash tag.
func (f *faults) prefix(given string) string {
	if strings.ContainsAny(given, "{}") {
		f.add("Prefix %q must hold no brace: a cluster takes the text between braces for the place of a key", given)
	}
	if given == "" {
		return defaultPrefix
	}
	return given
}
