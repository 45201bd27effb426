// Clients that hand out the hotels of a page while it arrives.

package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// Streams returns the SDK's stream and its buffered call, and the same with the decoders of two
// JSON packages. Their HotelList drops each hotel, and returns a [measure.First].
func Streams() []Kind {
	ours := func(read func(ctx context.Context, client *hotelstays.Client, arrived func(int)) error) func(string) (Peer, error) {
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
	return []Kind{
		{OurStream, ours(func(ctx context.Context, client *hotelstays.Client, arrived func(int)) error {
			for _, err := range client.HotelListStream(ctx, hotelList).Hotels() {
				if err != nil {
					return err
				}
				arrived(1)
			}
			return nil
		})},
		{OurList, ours(func(ctx context.Context, client *hotelstays.Client, arrived func(int)) error {
			resp, err := client.HotelList(ctx, hotelList)
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

// streaming returns a client whose HotelList reads the hotels, and reports them as they arrive.
func streaming(closeClient func(), read func(ctx context.Context, arrived func(hotels int)) error) Peer {
	call := func(ctx context.Context) (any, error) {
		begun, first, hotels := time.Now(), time.Duration(0), 0
		err := read(ctx, func(n int) {
			if hotels == 0 {
				first = time.Since(begun)
			}
			hotels += n
		})
		if err == nil && hotels != len(hotelList.HotelIDs) {
			err = fmt.Errorf("%d hotels", hotels)
		}
		return measure.First(first), err
	}
	return Peer{Calls: map[hotelstays.Operation]Call{hotelstays.OpHotelList: call}, Close: closeClient}
}

// decoder is what the decoders of both packages have.
type decoder interface {
	Token() (json.Token, error)
	More() bool
	Decode(any) error
}

// newTokens is a client that enters data.list with Token and decodes each hotel.
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
		d, code := newDecoder(resp.Body), -1
		skip := func() error { return d.Decode(new(json.RawMessage)) }
		err = members(d, func(name string) error {
			switch name {
			case "code":
				return d.Decode(&code)
			case "data":
				return members(d, func(name string) error {
					if name != "list" {
						return skip()
					}
					return within(d, func() error {
						err := d.Decode(new(types.Hotel))
						arrived(1)
						return err
					})
				})
			}
			return skip()
		})
		if err == nil && code != 0 {
			err = fmt.Errorf("code %d", code)
		}
		return err
	})
}

// within calls read for each element of an array, or member of an object.
func within(d decoder, read func() error) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// members calls read for each member of an object.
func members(d decoder, read func(name string) error) error {
	return within(d, func() error {
		name, err := d.Token()
		if err != nil {
			return err
		}
		return read(fmt.Sprint(name))
	})
}
