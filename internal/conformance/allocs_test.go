//go:build !race && !hotelstays_stdjson

// What a call allocates, compared with a bare client that does the same with net/http and
// encoding/json. Both are counted without a network and without the collector, so that the
// bounds hold on every machine. The race detector allocates for itself.

package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// The bounds, with the figures of the day on Go 1.26 and on Go 1.27. Ours are the same
// on both, but the encoding/json of Go 1.27 allocates less, so that the bounds are
// those of Go 1.27, with some room for what a change of Go's own may cost.
const (
	moreAllocs  = 6    // objects more than bare, of a CheckAvail: 38 fewer, 1 more
	moreBytes   = 3e3  // bytes more than bare, of a CheckAvail: 1.6e3, 2.7e3
	pageObjects = 0.6  // objects as a share of bare's, of a page of HotelList: 0.36, 0.56
	pageBytes   = 0.75 // bytes as a share of bare's, of a page of HotelList: 0.59, 0.67
)

func TestCallAllocatesLittle(t *testing.T) {
	answers := recordAnswers(t)
	client := clientThrough(t, answers, hotelstays.WithRateLimiter(noLimits{}))
	bare := &bareClient{http: http.Client{Transport: answers}}

	t.Run("CheckAvail", func(t *testing.T) {
		req := &hotelstays.CheckAvailRequest{SessionID: "session", RatePkgID: "offer"}
		ours := allocated(t, func() error { _, err := client.CheckAvail(t.Context(), req); return err })
		theirs := allocated(t, func() error {
			return bare.post(t.Context(), "/api/search/checkAvail", req.SessionID, req, new(hotelstays.CheckAvailResponse))
		})
		t.Logf("ours %v, bare %v", ours, theirs)
		assert.LessOrEqual(t, ours.objects-theirs.objects, float64(moreAllocs))
		assert.LessOrEqual(t, ours.bytes-theirs.bytes, float64(moreBytes))
	})
	t.Run("HotelList", func(t *testing.T) {
		req := hotelList()
		ours := allocated(t, func() error { _, err := client.HotelList(t.Context(), req); return err })
		theirs := allocated(t, func() error {
			return bare.post(t.Context(), "/api/search/hotelList", "", req, new(hotelstays.HotelListResponse))
		})
		t.Logf("ours %v, bare %v", ours, theirs)
		assert.LessOrEqual(t, ours.objects/theirs.objects, pageObjects)
		assert.LessOrEqual(t, ours.bytes/theirs.bytes, pageBytes)
	})
}

// allocation is what one call allocates.
type allocation struct{ objects, bytes float64 }

func (a allocation) String() string {
	return fmt.Sprintf("%.1f objects, %.0f bytes", a.objects, a.bytes)
}

// allocated is what a call allocates, on one processor and with the collector off: pools keep
// what they have. It is the least of several calls, because maps grow at random.
func allocated(t *testing.T, call func() error) allocation {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := allocation{math.Inf(1), math.Inf(1)}
	var before, after runtime.MemStats
	require.NoError(t, call()) // what is made once is made now
	for range 10 {
		runtime.ReadMemStats(&before)
		require.NoError(t, call())
		runtime.ReadMemStats(&after)
		least.objects = min(least.objects, float64(after.Mallocs-before.Mallocs))
		least.bytes = min(least.bytes, float64(after.TotalAlloc-before.TotalAlloc))
	}
	return least
}

// recorded answers with what the sandbox answered once, by path.
type recorded map[string]recording

type recording struct {
	header http.Header
	body   string
}

func (r recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	req.Body.Close()
	kept := r[req.URL.Path]
	return &http.Response{StatusCode: http.StatusOK, Header: kept.header, ContentLength: int64(len(kept.body)),
		Body: io.NopCloser(strings.NewReader(kept.body)), Request: req}, nil
}

// recordAnswers lets a sandbox answer a search of 25 hotels and a CheckAvail.
func recordAnswers(t *testing.T) recorded {
	t.Helper()
	answers := recorded{}
	srv, _ := newSandbox(t, hotelstaystest.Config{Catalog: hotelstaystest.Catalog{HotelsPerCity: 25}})
	through := srv.Client().Transport
	recorder := transportFunc(func(req *http.Request) (*http.Response, error) {
		resp, err := through.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		answers[req.URL.Path] = recording{resp.Header, string(body)}
		return answers.RoundTrip(req)
	})
	client := testkit.NewClient(t, srv, testkit.TicketOf(srv), hotelstays.WithHTTPClient(&http.Client{Transport: recorder}))
	search := hotelList()
	search.DestinationID = srv.CityID(0)
	list, err := client.HotelList(t.Context(), search)
	require.NoError(t, err)
	require.Len(t, list.List, 25)
	_, err = client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: list.Basic.SessionID,
		RatePkgID: list.List[0].Rooms[0].Rates[0].RatePkgID})
	require.NoError(t, err)
	return answers
}

// bareClient is the least that a hand-written client does: the same headers, a buffer that
// is used again, and one pass over the answer.
type bareClient struct {
	http http.Client
	body bytes.Buffer
}

func (b *bareClient) post(ctx context.Context, path, session string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	sent, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:1"+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer token")
	req.Header.Set("Request-Id", uuid.NewString())
	req.Header.Set("Trace-Id", uuid.NewString())
	req.Header.Set("Timeout-Milliseconds", "59000")
	if session != "" {
		req.Header.Set("Session-Id", session)
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b.body.Reset()
	if _, err := b.body.ReadFrom(resp.Body); err != nil {
		return err
	}
	answer := struct {
		Code *int   `json:"code"`
		Msg  string `json:"msg"`
		Data any    `json:"data"`
	}{Data: out}
	if err := json.Unmarshal(b.body.Bytes(), &answer); err != nil {
		return err
	}
	if answer.Code == nil || *answer.Code != 0 {
		return fmt.Errorf("%s was refused: %s", path, answer.Msg)
	}
	return nil
}

// textsIn counts the texts of a value, and adds where they lie in memory.
func textsIn(v reflect.Value, at map[*byte]string) (count int) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 1 { // the runtime has the texts of a single byte ready
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

// Texts of tokens, orders and vouchers are never kept for another answer. Those of
// searches are, at least within an answer: the memory in between may be freed.
func TestPersonalAnswersShareNoTexts(t *testing.T) {
	impersonal := []string{"Destinations", "HotelsMetadata", "HotelStaticDetail", "HotelIDList", "HotelList", "HotelRates", "CheckAvail"}
	for _, op := range operations() {
		first, second := map[*byte]string{}, map[*byte]string{}
		_, resp := exchange(t, op.minimal, op.data, nil)
		count := textsIn(reflect.ValueOf(resp), first)
		_, resp = exchange(t, op.minimal, op.data, nil)
		textsIn(reflect.ValueOf(resp), second)
		if slices.Contains(impersonal, op.name) {
			distinct := len(slices.Compact(slices.Sorted(maps.Values(first))))
			assert.True(t, len(first) < count || distinct == count, "%s: %d texts, %d distinct, none shared", op.name, count, distinct)
			continue
		}
		assert.Len(t, first, count, op.name)
		for text := range first {
			_, again := second[text]
			assert.False(t, again, "%s is not impersonal, and keeps texts from one answer to the next", op.name)
		}
	}
}
