// Proves what an answer can cost, on both builds: the memory that it takes, how soon a
// ctx that ends is noticed, and what type mismatches add.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/wire"
)

// costHole is a place in the data of an answer where a value of some type stands.
type costHole struct {
	path          string
	before, after string
	t             reflect.Type
}

// costHoles are all places of a type, each below as few others as there can be.
func costHoles(hole costHole) (holes []costHole) {
	inside := func(name, before, after string, t reflect.Type) {
		holes = append(holes, costHoles(costHole{hole.path + name, hole.before + before, after + hole.after, t})...)
	}
	switch hole.t.Kind() {
	case reflect.Pointer:
		inside("", "", "", hole.t.Elem())
		return holes
	case reflect.Struct:
		for i := range hole.t.NumField() {
			f := hole.t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous:
				inside("", "", "", f.Type)
			case name != "-":
				inside("."+name, `{"`+name+`":`, "}", f.Type)
			}
		}
	case reflect.Slice:
		if hole.t.Elem().Kind() != reflect.Uint8 { // raw JSON
			inside("[]", "[", "]", hole.t.Elem())
		}
	case reflect.Map:
		inside("{}", `{"eur":`, "}", hole.t.Elem())
	}
	return append(holes, hole)
}

// costLists are values of a length that take more memory than text, costTexts others.
func costLists(length int) map[string]string {
	list := func(element string) string {
		return "[" + strings.Repeat(element+",", length/(len(element)+1)) + element + "]"
	}
	keys := &strings.Builder{}
	for i := 0; keys.Len() < length; i++ {
		fmt.Fprintf(keys, `"%x":1,`, i)
	}
	return map[string]string{
		"numbers": list(`1`), "nulls": list(`null`), "objects": list(`{}`), "arrays": list(`[]`), "texts": list(`""`), "keys": "{" + keys.String() + `"":1}`,
		"rates":  list(`{"rates":[{}],"guests":[1],"rate":{"grossRate":{}},"board":{}}`),
		"hotels": list(`{"name":{},"address":{},"latlngCoordinator":{"gaode":{}},"minPrice":{},"isAvailable":true,"rooms":[{}]}`),
	}
}

func costTexts(length int) map[string]string {
	return map[string]string{
		"plain": `"` + strings.Repeat("plain ", length/6) + `"`, "escaped": `"` + strings.Repeat(`\n`, length/2) + `"`,
		"half characters": `"` + strings.Repeat(`\ud83d`, length/6) + `"`, "not UTF-8": `"` + strings.Repeat("\xff", length) + `"`,
		"digits": strings.Repeat("1", length), "a key": `{"` + strings.Repeat("k", length) + `":1}`, "nested": strings.Repeat("[[[[1]],", length/8) + "1" + strings.Repeat("]]", length/8),
	}
}

// costAnswers calls f with answers of that length: for each operation, lists in place of
// each type of list and map, and texts in place of each kind of value.
func costAnswers(length int, f func(name string, body []byte, resp any)) {
	lists, texts := costLists(length), costTexts(length)
	for _, op := range wireOperations() {
		seen := map[any]bool{}
		for _, hole := range costHoles(costHole{"data", `{"code":0,"data":`, "}", reflect.TypeOf(op.want).Elem()}) {
			fillings, kind := texts, any(hole.t.Kind())
			if kind == reflect.Slice || kind == reflect.Map {
				fillings, kind = lists, hole.t
			}
			for name, filling := range fillings {
				if !seen[kind] {
					f(op.name+": "+name+" as "+hole.path, []byte(hole.before+filling+hole.after), op.want)
				}
			}
			seen[kind] = true
		}
	}
}

// decodeAllocates returns how much memory an answer takes, with its own bytes. What is
// allocated is more than what is in use at any time.
func decodeAllocates(t *testing.T, body []byte, target wire.Target) (bytes int, env wire.Envelope, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	env, err = wire.Decode(t.Context(), body, target, true)
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc-before.TotalAlloc) + len(body), env, err
}

const mib = 1 << 20

func TestMemoryOfAnswers(t *testing.T) {
	costAnswers(64<<10, func(name string, body []byte, resp any) {
		var errs []error
		for _, target := range bothTargets(resp) {
			bytes, _, err := decodeAllocates(t, body, target)
			assert.Less(t, bytes, 8*len(body)+8*mib, "%s: %v", name, err)
			errs = append(errs, err)
		}
		assert.Equal(t, errs[1], errs[0], name)
	})
}

// Both readers refuse an answer from the same element on.
func TestMemoryIsCountedAlike(t *testing.T) {
	for _, tc := range []struct {
		resp                    any
		before, element, behind string
	}{
		{&hotelstays.QueryOrdersResponse{}, `{"orders":[{}`, `,{"hotel":{"name":{}},"netRate":{},"rooms":[{},null],"refundedPrice":null}`, `]}`},
		{&hotelstays.CheckAvailResponse{}, `{"roomRatePkg":{"tax":{"items":[null`, `,{"amount":{}}`, `]}}}`},
		{&hotelstays.CheckAvailResponse{}, `{"exchangeRateSnapshot":{"usd":{"eur":1`, `,"%06d":1`, `}}}`},
		{&hotelstays.HotelListResponse{}, `{"list":[{"isAvailable":true,"minPricesByCurrency":[{}`, `,{}`, `]}]}`},
	} {
		fits := func(n, which int) bool {
			data := &strings.Builder{}
			data.WriteString(`{"code":0,"data":` + tc.before)
			for i := range n {
				if strings.Contains(tc.element, "%") {
					fmt.Fprintf(data, tc.element, i)
				} else {
					data.WriteString(tc.element)
				}
			}
			_, err := wire.Decode(t.Context(), []byte(data.String()+tc.behind+"}"), bothTargets(tc.resp)[which], false)
			return err == nil
		}
		most := sort.Search(1<<18, func(n int) bool { return !fits(n, 1) })
		require.Less(t, most, 1<<18, tc.before)
		assert.True(t, fits(most-1, 0), tc.before)
		assert.False(t, fits(most, 0), tc.before)
	}
}

// A list that no page can hold, or that is all but empty, is refused before there is
// memory for it.
func TestMemoryOfLongLists(t *testing.T) {
	length := howMany(t, "MiB", 64, 16, 8) * mib
	for _, tc := range []struct {
		list, element string
		resp          any
	}{{"orders", `1,`, &hotelstays.QueryOrdersResponse{}}, {"list", `{},`, &hotelstays.HotelListResponse{}}} {
		body := []byte(`{"code":0,"data":{"` + tc.list + `":[` + strings.Repeat(tc.element, length/len(tc.element)-20) + `{}]}}`)
		for _, target := range bothTargets(tc.resp) {
			bytes, _, err := decodeAllocates(t, body, target)
			assert.Less(t, bytes, 4*length, tc.list) // 256 MiB of the longest
			assert.ErrorAs(t, err, new(*wire.UnusableError), tc.list)
		}
	}
}

// Pages have at most as many elements as they are documented to have.
func TestPagesAreBounded(t *testing.T) {
	for list, tc := range map[string]struct {
		resp any
		most int
	}{
		"list":           {&hotelstays.HotelListResponse{}, hotelstays.MaxListPageSize},
		"hotelsMetadata": {&hotelstays.HotelsMetadataResponse{}, hotelstays.MaxMetadataPageSize},
	} {
		for _, target := range bothTargets(tc.resp) {
			body := `{"code":0,"data":{"` + list + `":[{}` + strings.Repeat(`,{}`, tc.most-1) + `]}}`
			_, err := wire.Decode(t.Context(), []byte(body), target, false)
			require.NoError(t, err)
			_, err = wire.Decode(t.Context(), []byte(strings.Replace(body, "[", "[{},", 1)), target, false)
			assert.EqualError(t, err, fmt.Sprintf("data.%s[%d] is beyond the longest page that is documented", list, tc.most))
		}
	}
}

// Any number of orders is read, however little each of them says.
func TestManySmallOrdersAreRead(t *testing.T) {
	order := `{"status":1,"checkIn":"2026-12-24","checkOut":"2026-12-27","bookingTime":"2026-11-20T10:00:00Z","holder":{"firstName":"A","lastName":"B"},` +
		`"platformReferenceNo":"1","netRate":{"currency":"EUR","amount":1},"supplierReferenceNo":"2"}`
	body := `{"code":0,"data":{"orders":[` + strings.Repeat(order+",", 50_000) + order + `]}}`
	for _, target := range bothTargets(&hotelstays.QueryOrdersResponse{}) {
		_, err := wire.Decode(t.Context(), []byte(body), target, true)
		require.NoError(t, err)
		assert.Len(t, target.Into.(*hotelstays.QueryOrdersResponse).Orders, 50_001)
	}
}

// endingCtx is a ctx that ends when it has been looked at so many times.
type endingCtx struct {
	context.Context
	looks, ends int
}

func (c *endingCtx) Err() error {
	if c.looks++; c.looks > c.ends {
		return context.DeadlineExceeded
	}
	return nil
}

// However an answer is made, its reading looks at the ctx at least once for each 64 KiB,
// and ends with it.
func TestDecodingEndsWithItsCtx(t *testing.T) {
	const length = 5 << 16
	lists, texts := costLists(length), costTexts(length)
	for name, data := range map[string]string{
		"objects": `{"orders":` + lists["objects"] + `}`, "numbers": `{"orders":` + lists["numbers"] + `}`, "unknown lists": `{"new":` + lists["arrays"] + `}`,
		"an unknown text": `{"new":` + texts["escaped"] + `}`, "a text": `{"orders":[{"statusRemark":` + texts["escaped"] + `}]}`, "unknown keys": lists["keys"],
		"raw JSON": `{"orders":[{"rooms":[{"guests":[` + lists["objects"] + `]}]}]}`, "a malformed text": `{"orders":[{"statusRemark":` + texts["half characters"] + `}]}`,
		"names":  `{` + strings.Repeat(`"\n":1,`, length/7) + `"orders":[]}`,
		"orders": `{"orders":[` + strings.Repeat(decodeOddOrder+",", length/len(decodeOddOrder)) + `{}]}`,
	} {
		body := []byte(`{"code":0,"data":` + data + `}`)
		for i := range bothTargets(&hotelstays.QueryOrdersResponse{}) {
			ctx := &endingCtx{Context: t.Context(), ends: 1 << 30}
			_, _ = wire.Decode(ctx, body, bothTargets(&hotelstays.QueryOrdersResponse{})[i], true)
			looks := ctx.looks
			assert.GreaterOrEqual(t, looks, len(body)>>16, "%s, %d", name, i)
			for ends := range looks {
				ctx, target := &endingCtx{Context: t.Context(), ends: ends}, bothTargets(&hotelstays.QueryOrdersResponse{})[i]
				_, err := wire.Decode(ctx, body, target, true)
				assert.ErrorIs(t, err, context.DeadlineExceeded, "%s, %d: ended at look %d of %d", name, i, ends, looks)
				assert.LessOrEqual(t, ctx.looks, ends+4, "%s, %d: it goes on", name, i)
				assert.Zero(t, reflect.ValueOf(target.Into).Elem().Field(0).Len(), "%s, %d", name, i)
			}
		}
	}
}

// endOf is a body at whose end a ctx ends.
type endOf struct {
	io.Reader
	end func()
}

func (r endOf) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.end()
	}
	return n, err
}

// An answer whose reading its ctx ended came too late: to a call that may have done
// something its outcome is unknown.
func TestCtxThatEndsWhileDecoding(t *testing.T) {
	for _, op := range []hotelstays.Operation{hotelstays.OpQueryOrders, hotelstays.OpHotelList, hotelstays.OpBook, hotelstays.OpCancel} {
		for _, status := range []int{200, 400} {
			ctx, cancel := context.WithCancel(t.Context())
			client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
				resp := reply(status, "")
				resp.Body = io.NopCloser(endOf{strings.NewReader(`{"new":[` + strings.Repeat("1,", mib) + `1],"code":7}`), cancel})
				return resp, nil
			}))
			err := operationCalls[op](ctx, client)
			require.ErrorIs(t, err, context.Canceled)
			var failed *hotelstays.TransportError
			require.ErrorAs(t, err, &failed)
			assert.True(t, failed.Sent)
			assert.Equal(t, 1, failed.Attempts)
			assert.Contains(t, err.Error(), fmt.Sprintf("the answer (HTTP %d) was not read to its end", status))
			assert.Equal(t, op == hotelstays.OpBook || op == hotelstays.OpCancel, errors.As(err, new(*hotelstays.OutcomeUnknownError)), op)
		}
	}
}

// The refusal that another attempt did not follow is read while the ctx has ended: of a
// long one, its code is left out.
func TestCtxThatEndedBeforeAnotherAttempt(t *testing.T) {
	names := strings.Repeat(`"\n":1,`, 100<<10)
	synctest.Test(t, func(t *testing.T) {
		for body, code := range map[string]int{`{"code":7}`: 7, `{` + names + `"code":7}`: 0} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
				resp := reply(http.StatusTooManyRequests, body)
				resp.Header.Set("Retry-After", "5")
				return resp, nil
			}), hotelstays.WithMaxAttempts(2))
			_, err := client.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"r"}})
			var refused *hotelstays.APIError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, "before another attempt")
			assert.Equal(t, 1, strings.Count(err.Error(), "hotelstays: "), err)
			assert.Equal(t, code, refused.Code)
		}
	})
}

// Orders with a type mismatch in each of them cost no more than three times what they
// cost without, wherever the first one is.
func TestMismatchesCostLittle(t *testing.T) {
	const orders = 1000
	order := func(status string) string {
		return strings.Replace(strings.Replace(wireOrderJSON, `"status":1`, `"status":`+status, 1), `"nightCount":3`, `"nightCount":`+status, 1)
	}
	answer := func(first, rest, last string) []byte {
		return []byte(`{"code":0,"data":{"orders":[` + order(first) + "," + strings.Repeat(order(rest)+",", orders-2) + order(last) + `]}}`)
	}
	for _, target := range []func() wire.Target{
		func() wire.Target { return bothTargets(&hotelstays.QueryOrdersResponse{})[0] },
		func() wire.Target { return bothTargets(&hotelstays.QueryOrdersResponse{})[1] },
	} {
		cost := func(body []byte, mismatches int) (bytes int, allocations float64) {
			var env wire.Envelope
			allocations = testing.AllocsPerRun(1, func() {
				var err error
				bytes, env, err = decodeAllocates(t, body, target())
				require.NoError(t, err)
				bytes -= len(body)
			})
			require.Equal(t, mismatches, env.Count)
			require.Len(t, env.List, min(mismatches, 64))
			return bytes, allocations
		}
		cleanBytes, cleanAllocations := cost(answer("1", "1", "1"), 0)
		for _, c := range []struct {
			body       []byte
			mismatches int
		}{{answer(`"x"`, `"x"`, `"x"`), 2 * orders}, {answer("1", "1", `{"a":[1]}`), 2}, {answer("1", "1.5", "1"), 2 * (orders - 2)}} {
			bytes, allocations := cost(c.body, c.mismatches)
			t.Logf("%.2f of the bytes, %.2f of the allocations", float64(bytes)/float64(cleanBytes), allocations/cleanAllocations)
			assert.LessOrEqual(t, bytes, 3*cleanBytes)
			assert.LessOrEqual(t, allocations, 3*cleanAllocations)
		}
	}
}

// However many mismatches there are, an order that cannot be read is noticed.
func TestOrderLostAmongManyMismatches(t *testing.T) {
	few := strings.Repeat(`{"status":"open","rooms":[7]},`, 1000)
	for _, orders := range []string{few + `"one"`, few + `{},[]`, `7,` + few + `{}`} {
		rt := &decodeAnswer{status: 200, body: `{"code":0,"data":{"orders":[` + orders + `]}}`}
		_, err := decodeClient(t, rt).QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
		assert.ErrorAs(t, err, new(*hotelstays.DecodeError), orders[len(few):])
	}
	rt := &decodeAnswer{status: 200, body: `{"code":0,"data":{"orders":[` + few + `{}]}}`}
	resp, err := decodeClient(t, rt).QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
	require.NoError(t, err)
	assert.Len(t, resp.Orders, 1001)
	assert.Len(t, resp.Meta.Mismatches, 64)
	assert.Equal(t, hotelstays.Mismatch{Path: "data.orders[31].rooms[0]", Want: "object", Got: "number"}, resp.Meta.Mismatches[63])
	assert.Equal(t, 2000, resp.Meta.MismatchCount)
}
