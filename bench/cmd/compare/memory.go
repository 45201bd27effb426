// The memory of one page: what a call holds at its worst moment, and what its result
// holds afterwards.

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

// memoryResult is of single calls, with nothing in any pool before them.
type memoryResult struct {
	cellResult
	body  float64 // bytes of the answer
	value float64 // bytes that the decoded value alone holds, as encoding/json builds it
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
