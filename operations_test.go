// An operation that is added is added everywhere: the other tests and the sandbox know every
// method that is one.

package hotelstays_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// operationMethods are the methods of a Client that take a request of their name, except Do:
// the operations, as the code has them.
func operationMethods() (ops []hotelstays.Operation) {
	client := reflect.TypeFor[*hotelstays.Client]()
	for m := range client.Methods() {
		if m.Name != "Do" && m.Type.NumIn() == 4 && m.Type.In(1) == reflect.TypeFor[context.Context]() &&
			m.Type.In(2).Kind() == reflect.Pointer && m.Type.In(2).Elem().Name() == m.Name+"Request" {
			ops = append(ops, hotelstays.Operation(m.Name))
		}
	}
	return ops
}

func TestEveryOperationIsEverywhere(t *testing.T) {
	methods := operationMethods()
	require.Contains(t, methods, hotelstays.OpBook, "the methods are found")

	assert.ElementsMatch(t, methods, slices.Collect(maps.Keys(operationCalls)), "operationCalls has a call of each")

	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		for op, call := range operationCalls {
			_ = call(t.Context(), client) // its session and references are made up
			assert.Positive(t, srv.Ledger().Count(op), "the sandbox has no %s", op)
		}
	})
}
