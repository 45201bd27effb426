// Internals that the tests of package hotelstays_test use.

package hotelstays

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"github.com/hotelstays/hotelstays-go/internal/events"
	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/token"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
)

// DecodeTarget returns the target into which the client decodes an answer.
func DecodeTarget(into any, lenient bool) wire.Target {
	t := decodeTarget(into.(decodable))
	t.InternStrings, t.Lenient = true, lenient
	return t
}

func Mutates(op Operation) bool       { return operations[op].mutates }
func InBookingFlow(op Operation) bool { return operations[op].bookingFlow }

// SentinelsOfRows returns the sentinel of each kind that has exactly one sentinel.
func SentinelsOfRows() (all []error) {
	for i := range kindRows {
		if kindRows[i].text != "" {
			all = append(all, &kindRows[i].sentinel)
		}
	}
	return all
}

// OptionNames returns the names of all call options.
func OptionNames() (names []string) {
	for _, rule := range optionRows {
		names = append(names, rule.name)
	}
	return names
}

// ReadKeepingData decodes an answer to QueryOrders as a call with WithRawData does, and returns the raw data.
func ReadKeepingData(ctx context.Context, body []byte) (json.RawMessage, error) {
	var meta ResponseMeta
	x := invocation{client: &Client{tokens: new(token.Cache)}, exchange: exchange{ctx: ctx, op: OpQueryOrders,
		row: operations[OpQueryOrders], secrets: redact.Set{""}}}
	x.set.RawData = true
	x.received(transport.Result{Answer: &transport.Answer{Status: http.StatusOK, Header: http.Header{}, Body: body}})
	if _, err := x.decode(new(QueryOrdersResponse), &meta, func() error { return nil }); err != nil {
		return nil, err
	}
	return meta.RawData, nil
}

// References returns the number of references that h remembers.
func (h *WakeHub) References() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers)
}

type (
	WebhookBody = webhookBody
)

var (
	RenameDocument = func(file *os.File, path string) error { return tempFile{File: file}.renameTo(path) }
)

const DefaultEvents = defaultEvents

// NewMemoryEvents returns the EventStore that a WebhookHandler has by default, with another limit.
func NewMemoryEvents(limit int) EventStore { return memoryEvents{events.New(limit)} }

func (h *WebhookHandler) SignedEvents() EventStore   { return h.opts.Store }
func (h *WebhookHandler) UnsignedEvents() EventStore { return h.unsigned }
