// HotelListStream: hotels while the answer arrives.

package hotelstays

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hotelstays/hotelstays-go/internal/clone"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// HotelListStream is a search that yields its hotels while the answer arrives. Only one goroutine may use it.
type HotelListStream struct {
	client       *Client
	ctx          context.Context
	req          *HotelListRequest
	set          settings
	testHotels   iter.Seq2[*types.Hotel, error] // only NewHotelListStream sets testHotels and testResponse
	testResponse *HotelListResponse

	resp     *HotelListResponse
	complete bool
}

// HotelListStream returns a search that yields each hotel as soon as it has arrived, and keeps none in memory. The request is
// sent when a loop over Hotels begins. A stream yields one page, like HotelList. If the response has HasMore, make
// another stream for the next PageNum, with Basic.SessionID as SessionID.
func (c *Client) HotelListStream(ctx context.Context, req *HotelListRequest, opts ...CallOption) *HotelListStream {
	return &HotelListStream{client: c, ctx: ctx, req: clone.Of(req), set: c.collect("HotelListStream", operations[OpHotelList], opts)}
}

// NewHotelListStream returns a stream without a client, for tests of your code. Response returns resp, or an empty response
// if resp is nil. The response is complete once a loop over Hotels has ended without an error.
func NewHotelListStream(hotels iter.Seq2[*types.Hotel, error], resp *HotelListResponse) *HotelListStream {
	if resp == nil {
		resp = new(HotelListResponse)
	}
	if hotels == nil {
		f := faults{{"hotels", "is nil; pass the hotels that Hotels yields"}}
		hotels = failedSeq[*types.Hotel](f.err("NewHotelListStream"))
	}
	return &HotelListStream{testHotels: hotels, testResponse: resp}
}

// Hotels makes the call and yields the hotels of HotelList, in the same order. Each loop makes a new call. An error ends the
// loop. Hotels may be yielded before the client sees that the answer is a refusal or is invalid. So the hotels are provisional
// until the loop has ended without an error. If the answer is cut off before the first hotel, the client sends the request
// again. If the answer is cut off later, the error is a *TransportError with the number of hotels.
//
// The time of the loop is part of the time of the call. A slow loop needs WithTimeout or a deadline of ctx, because the
// default time limit is 60 seconds. Breaking out of the loop closes the answer, and over HTTP/1.1 its connection. Without
// WithHTTPClient a stream uses HTTP/1.1.
func (s *HotelListStream) Hotels() iter.Seq2[*types.Hotel, error] {
	return func(yield func(*types.Hotel, error) bool) {
		if err := s.receive(func(h *types.Hotel) bool { return yield(h, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// Response returns the latest answer without its hotels, or nil before the first answer. The result complete reports
// whether the whole answer has arrived. Until then only Meta and Basic.SessionID are set, from the headers.
func (s *HotelListStream) Response() (resp *HotelListResponse, complete bool) {
	return s.resp, s.complete
}

// receive makes the call. It returns nil if yield returned false.
func (s *HotelListStream) receive(yield func(*types.Hotel) bool) error {
	s.resp, s.complete = nil, false
	if s.testHotels != nil {
		return s.receiveTest(yield)
	}
	x, err := begin(s.ctx, s.client, OpHotelList, operations[OpHotelList], s.req, s.set)
	if err != nil {
		return err
	}
	r := &hotelReader{invocation: x, search: s, yield: yield}
	x.call.Decoder, x.call.Streams = r, true
	defer x.end()
	x.execute()
	if r.stopped {
		x.outcome = nil
		return nil
	}
	x.outcome = s.finish(r)
	return x.outcome
}

func (s *HotelListStream) receiveTest(yield func(*types.Hotel) bool) error {
	s.resp = s.testResponse
	for hotel, err := range s.testHotels {
		if err != nil {
			return err
		}
		if !yield(hotel) {
			return nil
		}
	}
	s.complete = true
	return nil
}

func (s *HotelListStream) finish(r *hotelReader) error {
	resp := &r.page
	if err := r.read(resp, &resp.Meta, func() error { return s.req.check(resp, &r.exchange) }); err != nil {
		return err
	}
	resp.List = nil
	s.resp, s.complete = resp, true
	return nil
}

type hotelReader struct {
	*invocation
	search  *HotelListStream
	yield   func(*types.Hotel) bool
	page    HotelListResponse // the answer without its hotels
	hotels  int               // how many hotels were yielded so far
	stopped bool
}

// errBreak ends the reading of an answer when the caller's loop has ended.
var errBreak = errors.New("the loop over Hotels has ended")

func (r *hotelReader) yieldHotel(h *types.Hotel) error {
	if r.hotels++; r.hotels == 1 {
		r.watch.yieldsFirstHotel()
	}
	if r.stopped = !r.yield(h); r.stopped {
		return errBreak
	}
	return nil
}

// DecodeFeed yields the hotels of an answer while it arrives.
func (r *hotelReader) DecodeFeed(begun transport.Result, body *wire.Feed) (again bool, err error) {
	s := r.search
	r.received(begun)
	s.resp = &HotelListResponse{Meta: r.meta(wire.Envelope{})}
	s.resp.Basic.SessionID = s.resp.Meta.SessionID
	target := r.target(&r.page)
	target.Take = r.yieldHotel
	r.decodeFeed(begun, body, target)
	if r.stopped {
		body.Stop()
		return false, nil
	}
	if err = r.ctx.Err(); err != nil && errors.Is(r.fault, err) {
		err = r.fault
	} else {
		_, err = body.Rest()
	}
	switch {
	case err != nil && r.hotels > 0:
		err = fmt.Errorf("%w; hotels yielded before: %d", err, r.hotels)
	case err != nil: // another attempt may follow, which brings its own answer
		s.resp = nil
	}
	return r.hotels == 0, err
}
