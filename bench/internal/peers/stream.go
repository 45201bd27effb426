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

	"github.com/hotelstays/hotelstays-go/types"
)

// Stream makes a call of HotelList, drops each hotel, and returns how long the first took and
// how many there were.
type Stream func(context.Context) (first time.Duration, hotels int, err error)

// StreamKind creates a Stream for any base URL.
type StreamKind struct {
	Name string
	New  func(baseURL string) (Stream, func(), error)
}

// Names of the streams of the SDK.
const (
	OurStream = "HotelListStream"
	OurList   = "HotelList"
)

// Streams returns the SDK's stream and its buffered call, and the same lines on the decoders
// of two JSON packages.
func Streams() []StreamKind {
	return []StreamKind{
		{OurStream, func(baseURL string) (Stream, func(), error) {
			client, err := ourClient(baseURL)
			if err != nil {
				return nil, nil, err
			}
			return func(ctx context.Context) (first time.Duration, hotels int, err error) {
				begun := time.Now()
				for _, err := range client.HotelListStream(ctx, hotelList).Hotels() {
					if err != nil {
						return 0, 0, err
					}
					if hotels++; hotels == 1 {
						first = time.Since(begun)
					}
				}
				return first, hotels, nil
			}, client.CloseIdleConnections, nil
		}},
		{OurList, func(baseURL string) (Stream, func(), error) {
			client, err := ourClient(baseURL)
			if err != nil {
				return nil, nil, err
			}
			return func(ctx context.Context) (time.Duration, int, error) {
				begun := time.Now()
				resp, err := client.HotelList(ctx, hotelList)
				if err != nil {
					return 0, 0, err
				}
				return time.Since(begun), len(resp.List), nil
			}, client.CloseIdleConnections, nil
		}},
		{"encoding/json, Token", func(baseURL string) (Stream, func(), error) {
			return newTokens(baseURL, func(r io.Reader) decoder { return json.NewDecoder(r) })
		}},
		{"goccy, Token", func(baseURL string) (Stream, func(), error) {
			return newTokens(baseURL, func(r io.Reader) decoder { return goccy.NewDecoder(r) })
		}},
	}
}

// decoder is what the decoders of both packages have.
type decoder interface {
	Token() (json.Token, error)
	More() bool
	Decode(any) error
}

// newTokens is a client that enters data.list with Token and decodes each hotel.
func newTokens(baseURL string, newDecoder func(io.Reader) decoder) (Stream, func(), error) {
	h := &handwritten{base: baseURL, http: httpClient(), codec: codec{marshal: json.Marshal}}
	return func(ctx context.Context) (first time.Duration, hotels int, err error) {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		resp, err := h.send(ctx, "/api/search/hotelList", hotelList)
		if err != nil {
			return 0, 0, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return 0, 0, fmt.Errorf("HTTP %d", resp.StatusCode)
		}
		code := -1
		d := newDecoder(resp.Body)
		err = members(d, func(name string) error {
			switch name {
			case "code":
				return d.Decode(&code)
			case "data":
				return members(d, func(name string) error {
					if name != "list" {
						return d.Decode(new(json.RawMessage))
					}
					if _, err := d.Token(); err != nil {
						return err
					}
					for d.More() {
						if err := d.Decode(new(types.Hotel)); err != nil {
							return err
						}
						if hotels++; hotels == 1 {
							first = time.Since(begun)
						}
					}
					_, err := d.Token()
					return err
				})
			}
			return d.Decode(new(json.RawMessage))
		})
		if err == nil && code != 0 {
			err = fmt.Errorf("code %d", code)
		}
		return first, hotels, err
	}, h.http.CloseIdleConnections, nil
}

// members calls read for each member of an object.
func members(d decoder, read func(name string) error) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := read(fmt.Sprint(name)); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}
