// Hotels that are handed out while the page arrives, over lines of several rates.

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// streamCell is a page over one line. rate is in Mbit/s; 0 is no limit.
type streamCell struct {
	rate    int
	gzip    bool
	callers int
}

func (c streamCell) String() string {
	line := "no limit"
	if c.rate > 0 {
		line = fmt.Sprintf("%d Mbit/s", c.rate)
	}
	if c.gzip {
		line += ", gzip"
	}
	return fmt.Sprintf("%s, callers: %d", line, c.callers)
}

func (c streamCell) baseURL(a origin.Addresses) string {
	base := fmt.Sprint(a.HTTP1, origin.LinePrefix, c.rate)
	if c.gzip {
		base += origin.GzipPrefix
	}
	return base
}

// streamCells are all lines for one caller, and one line for several.
func streamCells() []streamCell {
	var cells []streamCell
	for _, gzip := range []bool{false, true} {
		for _, rate := range []int{0, 1000, 200, 50} {
			cells = append(cells, streamCell{rate, gzip, 1})
		}
	}
	return append(cells, streamCell{200, false, 8}, streamCell{200, false, 64})
}

// streamSample is the cost of a call. Wall is until its last hotel.
type streamSample struct {
	measure.Sample
	first float64 // seconds until its first hotel
}

type streamResult struct {
	streamCell
	samples map[string][]streamSample
}

func measureStreams(ctx context.Context, addresses origin.Addresses, rounds int) ([]streamResult, error) {
	var all []streamResult
	for _, c := range streamCells() {
		result := streamResult{c, map[string][]streamSample{}}
		for round := range rounds {
			kinds := peers.Streams()
			for i := range kinds {
				kind := kinds[(i+round)%len(kinds)]
				s, err := measureStream(ctx, kind, c, addresses)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", kind.Name, c, err)
				}
				result.samples[kind.Name] = append(result.samples[kind.Name], s)
			}
		}
		all = append(all, result)
	}
	return all, nil
}

func measureStream(ctx context.Context, kind peers.StreamKind, c streamCell, addresses origin.Addresses) (s streamSample, err error) {
	stream, closeClient, err := kind.New(c.baseURL(addresses))
	if err != nil {
		return s, err
	}
	defer closeClient()
	var firsts, calls atomic.Int64
	s.Sample, err = measure.Take(ctx, func(ctx context.Context) (any, error) {
		first, hotels, err := stream(ctx)
		if err == nil && hotels != 200 {
			err = fmt.Errorf("%d hotels", hotels)
		}
		firsts.Add(int64(first))
		calls.Add(1)
		return nil, err
	}, measure.Load{Callers: c.callers, Warm: true})
	s.first = time.Duration(firsts.Load() / max(1, calls.Load())).Seconds()
	return s, err
}

func (r streamResult) median(name string, of func(streamSample) float64) float64 {
	var values []float64
	for _, s := range r.samples[name] {
		values = append(values, of(s))
	}
	return measure.SpreadOf(values).Median
}

// ratio compares two kinds round by round.
func (r streamResult) ratio(of func(streamSample) float64, name, to string) float64 {
	var ratios []float64
	for round, s := range r.samples[name] {
		ratios = append(ratios, of(s)/of(r.samples[to][round]))
	}
	return measure.SpreadOf(ratios).Median
}

func firstHotel(s streamSample) float64 { return s.first }
func lastHotel(s streamSample) float64  { return s.Wall }
func streamCPU(s streamSample) float64  { return s.CPU }
func streamPeak(s streamSample) float64 { return s.Peak }

func printStreams(all []streamResult) {
	fmt.Println()
	section("The first hotel before the last byte")
	fmt.Printf("\nA page of 200 hotels (5 MB) over plain HTTP/1.1; hotels are dropped after use. %s's figure, and the others' as a multiple of it.\n",
		peers.OurStream)
	for _, figure := range []struct {
		title string
		of    func(streamSample) float64
		text  func(float64) string
	}{
		{"First hotel", firstHotel, duration},
		{"Last hotel", lastHotel, duration},
		{"CPU", streamCPU, duration},
		{"Peak heap, all callers together", streamPeak, size},
	} {
		kinds := peers.Streams()
		var names []string
		for _, kind := range kinds {
			names = append(names, kind.Name)
		}
		header(figure.title, names)
		for _, r := range all {
			fmt.Printf("| %s |", r.streamCell)
			for i, name := range names {
				if i == 0 {
					fmt.Printf(" %s |", figure.text(r.median(name, figure.of)))
				} else {
					fmt.Printf(" %.2f |", r.ratio(figure.of, name, names[0]))
				}
			}
			fmt.Println()
		}
	}
}
