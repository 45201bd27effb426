//go:build unix

package hotelstays_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// BenchmarkMismatch decodes a page of 5 MB with 200 hotels, and the same page with a mismatch in the last hotel. It
// prints the CPU time of the page without the mismatch, and the ratios of CPU time and of allocations with
// the mismatch to those without.
func BenchmarkMismatch(b *testing.B) {
	offer, err := json.Marshal(filled(reflect.TypeFor[types.RoomRatePkg]()).Interface())
	require.NoError(b, err)
	hotel, err := json.Marshal(filled(reflect.TypeFor[types.Hotel]()).Interface())
	require.NoError(b, err)
	const hotels = 200
	offers := (5<<20/hotels - len(hotel)) / (len(offer) + 1)
	full := strings.Replace(string(hotel), string(offer), string(offer)+strings.Repeat(","+string(offer), offers), 1)
	page := func(last string) []byte {
		return []byte(`{"code":0,"msg":"success","data":{"list":[` + strings.Repeat(full+",", hotels-1) + last + `],"hasMore":false}}`)
	}
	bodies := [][]byte{page(full), page(strings.Replace(full, `"rating":4.5`, `"rating":"x"`, 1))}
	b.SetBytes(int64(len(bodies[0])))
	var cpu [2][]time.Duration
	var allocations [2]float64
	for i, body := range bodies {
		allocations[i] = testing.AllocsPerRun(5, func() { decodePage(b, body, i) })
	}
	for b.Loop() {
		for i, body := range bodies {
			begun := cpuTime()
			decodePage(b, body, i)
			cpu[i] = append(cpu[i], cpuTime()-begun)
		}
	}
	median := func(times []time.Duration) float64 { slices.Sort(times); return float64(times[len(times)/2]) }
	b.ReportMetric(median(cpu[0])/1e6, "clean-cpu-ms")
	b.ReportMetric(median(cpu[1])/median(cpu[0]), "cpu-ratio")
	b.ReportMetric(allocations[1]/allocations[0], "allocs-ratio")
}

func decodePage(b *testing.B, body []byte, mismatches int) {
	feed := new(wire.Feed)
	feed.Reset(bytes.NewReader(body), len(body), int64(len(body)))
	env, err := wire.DecodeFeed(b.Context(), feed, hotelstays.DecodeTarget(new(hotelstays.HotelListResponse), true))
	require.NoError(b, err)
	require.Equal(b, mismatches, env.Count)
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
