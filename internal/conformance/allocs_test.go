//go:build !race

// These tests limit the memory that a call allocates. They use no network and no garbage collection, so that the limits
// hold on every machine. The race detector allocates, too, so these tests do not run with it.

package conformance_test

import (
	"maps"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// The maximums leave room for changes in Go, and for texts that share a slot in the table of interned texts. Usually, a
// CheckAvail takes 74 objects and 6.8 kB, and a page of 100 hotels takes 2,359 objects and 140 kB. In every third
// process, two texts of a hotel share a slot. Then the page takes 200 objects more.
func TestCallAllocatesAtMostItsMaximum(t *testing.T) {
	for _, tc := range []struct {
		op             hotelstays.Operation
		data           string
		objects, bytes float64 // the maximum
	}{
		{hotelstays.OpCheckAvail, `{"status":1,"roomRatePkg":` + pkgJSON + `}`, 82, 7.2e3},
		{hotelstays.OpHotelList, `{"list":[` + strings.Repeat(hotelJSON+",", 99) + hotelJSON + `],"basic":{"sessionId":"s"}}`, 3400, 160e3},
	} {
		client := clientThrough(t, saying(`{"code":0,"data":`+tc.data+`}`), hotelstays.WithRateLimiter(noLimits{}))
		objects, bytes := allocated(t, func() error { return operationCalls[tc.op](t.Context(), client) })
		t.Logf("%s: %.0f objects, %.0f bytes", tc.op, objects, bytes)
		assert.LessOrEqual(t, objects, tc.objects, "objects of a %s", tc.op)
		assert.LessOrEqual(t, bytes, tc.bytes, "bytes of a %s", tc.op)
	}
}

// allocated returns what a call allocates on one processor without garbage collection, so that pools keep their memory.
// It measures several calls and returns the smallest result, because maps grow at random.
func allocated(t *testing.T, call func() error) (objects, bytes float64) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	objects, bytes = math.Inf(1), math.Inf(1)
	var before, after runtime.MemStats
	require.NoError(t, call()) // the first call also fills pools and tables
	for range 10 {
		runtime.ReadMemStats(&before)
		require.NoError(t, call())
		runtime.ReadMemStats(&after)
		objects = min(objects, float64(after.Mallocs-before.Mallocs))
		bytes = min(bytes, float64(after.TotalAlloc-before.TotalAlloc))
	}
	return objects, bytes
}

// textsIn counts the texts of a value, and adds their addresses in memory to at.
func textsIn(v reflect.Value, at map[*byte]string) (count int) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 1 { // the runtime shares the texts of a single byte
			at[unsafe.StringData(v.String())] = v.String()
			count++
		}
	case reflect.Pointer:
		if !v.IsNil() {
			count += textsIn(v.Elem(), at)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				count += textsIn(v.Field(i), at)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			count += textsIn(v.Index(i), at)
		}
	}
	return count
}

// Only texts of searches are interned. They are shared at least within an answer, because the table of interned texts
// may be freed between two answers.
func TestOnlyTextsOfSearchesAreInterned(t *testing.T) {
	for _, op := range operations() {
		first, second := map[*byte]string{}, map[*byte]string{}
		_, resp := exchange(t, op.minimal, op.data, nil)
		count := textsIn(reflect.ValueOf(resp), first)
		_, resp = exchange(t, op.minimal, op.data, nil)
		textsIn(reflect.ValueOf(resp), second)
		if strings.HasPrefix(op.path, "/api/search/") { // answers to searches have no guests and no secrets, so they may share texts
			distinct := len(slices.Compact(slices.Sorted(maps.Values(first))))
			assert.True(t, len(first) < count || distinct == count, "%s: %d texts, %d distinct, none shared", op.name, count, distinct)
			continue
		}
		assert.Len(t, first, count, op.name)
		for text := range first {
			_, again := second[text]
			assert.False(t, again, "%s keeps texts from one answer to the next", op.name)
		}
	}
}
