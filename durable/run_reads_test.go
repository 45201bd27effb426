package durable

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// After a refusal because of its content, a request for several orders is divided. In an outage it is not.
func TestOnlyARefusalOfTheContentDividesARequest(t *testing.T) {
	answer := func(status, code int) error {
		return &hotelstays.APIError{Operation: hotelstays.OpQueryOrders, HTTPStatus: status, Code: code}
	}
	for _, tc := range []struct {
		err error
		is  bool
	}{
		{nil, false}, {errors.New("no connection"), false}, {&hotelstays.DecodeError{}, true},
		{answer(400, 7), true}, {answer(404, 7), true}, {answer(200, types.CodeParam), true},
		{answer(401, 7), false}, {answer(403, 7), false}, {answer(408, 7), false}, {answer(429, 7), false},
		{answer(500, 7), false}, {answer(503, 7), false},
	} {
		assert.Equal(t, tc.is, isOfContent(tc.err), "%v", tc.err)
	}
}
