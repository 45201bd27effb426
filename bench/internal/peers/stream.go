// Clients that yield the hotels of a page while the page arrives.

package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	goccy "github.com/goccy/go-json"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/types"
)

// Names of the streams of the SDK.
const (
	OurStream = "HotelListStream"
	OurList   = "HotelList"
)

// SlowLoop reads the SDK's stream with a loop that takes 10 ms for each of the first 150 hotels.
var SlowLoop = Kind{"a slow loop", ours(loop(10 * time.Millisecond))}

// Streams returns four clients: the SDK's stream, the SDK's HotelList, and hand-written streams with two JSON packages. The
// HotelList of each client drops each hotel after use, and returns a [measure.Arrival].
func Streams() []Kind {
	return []Kind{
		{OurStream, ours(loop(0))},
		{OurList, ours(func(ctx context.Context, client *hotelstays.Client, arrived func(int)) error {
			resp, err := client.HotelList(ctx, ourHotelList())
			if err == nil {
				arrived(len(resp.List))
			}
			return err
		})},
		{"encoding/json, Token", func(baseURL string) (Peer, error) {
			return newTokens(baseURL, func(r io.Reader) decoder { return json.NewDecoder(r) }), nil
		}},
		{"goccy, Token", func(baseURL string) (Peer, error) {
			return newTokens(baseURL, func(r io.Reader) decoder { return goccy.NewDecoder(r) }), nil
		}},
	}
}

// reader reads a page with the SDK, and calls arrived with the number of hotels that have arrived since the last call.
type reader func(ctx context.Context, client *hotelstays.Client, arrived func(int)) error

func ours(read reader) func(baseURL string) (Peer, error) {
	return func(baseURL string) (Peer, error) {
		client, err := ourClient(baseURL)
		if err != nil {
			return Peer{}, err
		}
		return streaming(client.CloseIdleConnections, func(ctx context.Context, arrived func(int)) error {
			return read(ctx, client, arrived)
		}), nil
	}
}

// loop reads the SDK's stream, and pauses after each of the first 150 hotels.
func loop(pause time.Duration) reader {
	return func(ctx context.Context, client *hotelstays.Client, arrived func(int)) error {
		n := 0
		for _, err := range client.HotelListStream(ctx, ourHotelList()).Hotels() {
			if err != nil {
				return err
			}
			arrived(1)
			if n++; n <= 150 {
				time.Sleep(pause)
			}
		}
		return nil
	}
}

// streaming returns a client whose HotelList calls read, and notes when the first byte and the first hotel arrive.
func streaming(closeClient func(), read func(ctx context.Context, arrived func(hotels int)) error) Peer {
	call := func(ctx context.Context) (any, error) {
		var at measure.Arrival
		var firstByte atomic.Int64
		begun, hotels := time.Now(), 0
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotFirstResponseByte: func() { firstByte.Store(int64(time.Since(begun))) },
		})
		err := read(ctx, func(n int) {
			if hotels == 0 {
				at.Hotel = time.Since(begun)
			}
			hotels += n
		})
		if err == nil && hotels != len(hotelList.HotelIDs) {
			err = fmt.Errorf("the stream has %d hotels instead of %d", hotels, len(hotelList.HotelIDs))
		}
		at.Byte = time.Duration(firstByte.Load())
		return at, err
	}
	return Peer{Calls: map[hotelstays.Operation]Call{hotelstays.OpHotelList: call}, Close: closeClient}
}

type decoder interface {
	Token() (json.Token, error)
	More() bool
	Decode(any) error
}

// newTokens returns a client that decodes the page hotel by hotel. It skips to the list with the decoder's method Token.
func newTokens(baseURL string, newDecoder func(io.Reader) decoder) Peer {
	h := &handwritten{base: baseURL, http: httpClient(), codec: codec{marshal: json.Marshal}}
	return streaming(h.http.CloseIdleConnections, func(ctx context.Context, arrived func(int)) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		resp, err := h.send(ctx, hotelListPath, hotelList)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("HTTP %d", resp.StatusCode)
		}
		for d, code := newDecoder(resp.Body), -1; ; {
			name, err := d.Token()
			switch {
			case errors.Is(err, io.EOF) && code == 0:
				return nil
			case err != nil:
				return fmt.Errorf("the answer has code %d: %w", code, err)
			case name == "code":
				err = d.Decode(&code)
			case name == "list":
				_, err = d.Token() // the bracket
				for err == nil && d.More() {
					err = d.Decode(new(types.Hotel))
					arrived(1)
				}
			}
			if err != nil {
				return err
			}
		}
	})
}
