// What the three adapters share.

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

	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

const defaultPrefix = "hotelstays"

// within runs call and stops waiting for it when ctx ends: go-redis by default respects
// only its own timeouts. The command may still be executed afterwards.
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

func runScript(ctx context.Context, client redis.UniversalClient, s *redis.Script, keys []string, args ...any) (any, error) {
	return within(ctx, func(ctx context.Context) (any, error) { return s.Run(ctx, client, keys, args...).Result() })
}

// newID returns a name that no other process has.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// problems collects what is wrong with the arguments of a constructor.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p *problems) err(constructor string) error {
	if len(*p) == 0 {
		return nil
	}
	return fmt.Errorf("hotelstaysredis: %s: %w", constructor, errors.Join(*p...))
}

func (p *problems) checkClient(client redis.UniversalClient) {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		p.add("the client is nil; pass one of github.com/redis/go-redis/v9")
	}
}

func (p *problems) keyring(keys []types.Secret) *keyring.Ring {
	ring, err := keyring.New(keys)
	if err != nil {
		*p = append(*p, err)
	}
	return ring
}

// prefix returns the prefix to use.
func (p *problems) prefix(given string) string {
	if strings.ContainsAny(given, "{}") {
		p.add("Prefix %q must not contain braces: a cluster uses the text in braces to place a key", given)
	}
	if given == "" {
		return defaultPrefix
	}
	return given
}
