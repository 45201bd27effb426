// The memory of one page: the peak of a call, and what its result keeps.

package main

import (
	"context"
	"encoding/json"
	"fmt"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// memoryResult is of single calls with empty pools.
type memoryResult struct {
	cellResult
	body  float64 // bytes of the answer
	value float64 // bytes of the value that encoding/json decodes
}

func measureMemory(ctx context.Context, kinds []peers.Kind, addresses origin.Addresses, rounds int) (memoryResult, error) {
	result := memoryResult{body: float64(len(answers.HotelList()))}
	once := cell{hotelList, http1, measure.Load{Callers: 1}, rounds}
	var err error
	if result.cellResult, err = measureCell(ctx, once, kinds, addresses); err != nil {
		return result, fmt.Errorf("the memory of a page: %w", err)
	}
	body := answers.HotelList()
	decode := func(context.Context) (any, error) {
		var answer struct{ Data *hotelstays.HotelListResponse }
		err := json.Unmarshal(body, &answer)
		return answer.Data, err
	}
	alone, err := measure.Take(ctx, decode, once.load)
	result.value = alone.Live
	return result, err
}
