package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// looksOf returns measurements; the first ones are before the run has settled.
func looksOf(goroutines, megabytes []int) []look {
	looks := []look{{after: settled / 2, goroutines: 4, heap: 1 << 18}}
	for i := range goroutines {
		looks = append(looks, look{settled, goroutines[i], uint64(megabytes[i]) << 20})
	}
	return looks
}

func TestJudge(t *testing.T) {
	assert.NoError(t, judge(looksOf([]int{20, 99, 26}, []int{4, 9, 4})), "what happens in the middle does not count")
	assert.NoError(t, judge(looksOf([]int{20, 30, 20, 20, 40, 20}, []int{4, 4, 4, 4, 9, 4})), "nor do connections that come and go")
	assert.ErrorContains(t, judge(looksOf([]int{20, 25, 40}, []int{4, 4, 4})), "it grows")
	assert.ErrorContains(t, judge(looksOf([]int{20, 20, 20}, []int{4, 5, 6})), "it grows")
	assert.ErrorContains(t, judge(looksOf([]int{20, 20}, []int{4, 4})), "too few")
}
