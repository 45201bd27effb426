// The shortest secret, and texts that end inside one.

package hotelstays_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// bookAnswered books a guest with this passport number, and is answered.
func bookAnswered(t *testing.T, passport string, status int, body string) (*hotelstays.BookResponse, error) {
	req := redactBook()
	req.Guests[0].PassportNumber = types.NewSecret(passport)
	return decodeClient(t, &decodeAnswer{status: status, body: body}).Book(t.Context(), req)
}

// refusedWith is the message of the error of a Book that is refused with this message.
func refusedWith(t *testing.T, passport, msg string) string {
	_, err := bookAnswered(t, passport, 400, `{"code":100000400,"msg":"`+msg+`"}`)
	var refused *hotelstays.APIError
	require.ErrorAs(t, err, &refused)
	return refused.Msg
}

// Three bytes are a secret. Two would tear words apart, and hide nothing.
func TestShortestSecret(t *testing.T) {
	assert.Equal(t, "passport [redacted] is refused", refusedWith(t, "7Z4", "passport 7Z4 is refused"))
	assert.Equal(t, "passport 7Z is refused", refusedWith(t, "7Z", "passport 7Z is refused"))
	assert.Equal(t, "passport [redacted]", refusedWith(t, "7Z4X", "passport 7Z4"), "nor is a piece of three at the end shown")
	assert.Equal(t, "passport 7Z", refusedWith(t, "7Z4X", "passport 7Z"))
}

// A message may end inside a secret: because the service cut it off, or because it is cut
// off here. The secret is looked for before that.
func TestMessageThatEndsInsideASecret(t *testing.T) {
	const passport = "K4R9Q2W7"
	for length := 3; length < len(passport); length++ {
		assert.Equal(t, "passport [redacted]", refusedWith(t, passport, "passport "+passport[:length]))
	}
	for _, limit := range []int{256, 1024, 16 << 10} { // of an excerpt, of a message, of what is looked at
		for before := limit - len(passport) - 1; before < limit; before++ {
			text := strings.Repeat(".", before) + passport + " is refused"
			what := fmt.Sprint(before, " bytes before it")
			assert.NotContains(t, refusedWith(t, passport, text), passport[:1], what)
			_, err := bookAnswered(t, passport, 502, text)
			assert.NotContains(t, err.Error(), passport[:1], what)
			resp, err := bookAnswered(t, passport, 200, `{"code":0,"msg":"`+text+`","data":{"hotelOrder":{"platformReferenceNo":"1"}}}`)
			require.NoError(t, err)
			assert.NotContains(t, resp.Meta.Msg, passport[:1], what)
		}
	}
}
