// Measuring the clients in turn.

package main

import (
	"context"
	"fmt"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// cellResult has a sample of each client for each round.
type cellResult struct {
	cell
	samples map[string][]measure.Sample
}

// figure is one figure of a sample.
type figure func(measure.Sample) float64

func cpu(s measure.Sample) float64    { return s.CPU }
func wall(s measure.Sample) float64   { return s.Wall }
func allocs(s measure.Sample) float64 { return s.Allocs }
func bytes(s measure.Sample) float64  { return s.Bytes }
func peak(s measure.Sample) float64   { return s.Peak }
func live(s measure.Sample) float64   { return s.Live }

// ratio compares two clients round by round.
func (r cellResult) ratio(of figure, client, to string) measure.Spread {
	var ratios []float64
	for round, s := range r.samples[client] {
		ratios = append(ratios, of(s)/of(r.samples[to][round]))
	}
	return measure.SpreadOf(ratios)
}

// mean is the mean of a counted figure over all calls of all rounds, because single rounds
// depend on the pools.
func (r cellResult) mean(of figure, client string) float64 {
	var sum float64
	var calls int
	for _, s := range r.samples[client] {
		sum += of(s) * float64(s.Calls)
		calls += s.Calls
	}
	return sum / float64(calls)
}

func (r cellResult) spread(of figure, client string) measure.Spread {
	var values []float64
	for _, s := range r.samples[client] {
		values = append(values, of(s))
	}
	return measure.SpreadOf(values)
}

// measureCell measures the clients in turn. Each round starts with another client.
func measureCell(ctx context.Context, c cell, kinds []peers.Kind, addresses origin.Addresses) (cellResult, error) {
	result := cellResult{cell: c, samples: map[string][]measure.Sample{}}
	clients := make([]peers.Peer, len(kinds))
	for i, kind := range kinds {
		client, err := kind.New(c.baseURL(addresses))
		if err != nil {
			return result, fmt.Errorf("%s: %w", kind.Name, err)
		}
		defer client.Close()
		clients[i] = client
	}
	for round := range c.rounds {
		for i := range kinds {
			i = (i + round) % len(kinds)
			s, err := measure.Take(ctx, clients[i].Calls[c.op], c.load)
			if err != nil {
				return result, fmt.Errorf("%s: %w", kinds[i].Name, err)
			}
			result.samples[kinds[i].Name] = append(result.samples[kinds[i].Name], s)
		}
	}
	return result, nil
}

// checkContent returns an error if the clients decode different content.
func checkContent(ctx context.Context, kinds []peers.Kind, addresses origin.Addresses) error {
	sent := map[hotelstays.Operation]peers.Content{}
	for op, answer := range answers.All() {
		var err error
		if sent[op], err = peers.ContentOfAnswer(answer); err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		client, err := kind.New(addresses.HTTP1)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.Name, err)
		}
		defer client.Close()
		for op, content := range sent {
			value, err := client.Calls[op](ctx)
			if err == nil {
				err = content.Check(value)
			}
			if err != nil {
				return fmt.Errorf("%s, %s: %w", kind.Name, op, err)
			}
		}
	}
	return nil
}
