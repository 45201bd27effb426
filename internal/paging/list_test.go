// Pages of a fake service: all of them, in order, and no end that is none.

package paging_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/internal/paging"
)

// collect ranges to the end.
func collect[V any](seq iter.Seq2[V, error]) (values []V, errs []error) {
	for v, err := range seq {
		if err != nil {
			errs = append(errs, err)
		} else {
			values = append(values, v)
		}
	}
	return values, errs
}

// calls are the calls of a fake service.
type calls[Q any] struct {
	mu       sync.Mutex
	asked    []Q
	underway int
	most     int // at once
}

func (c *calls[Q]) begin(q Q) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, q)
	c.underway++
	c.most = max(c.most, c.underway)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.underway--
	}
}

func (c *calls[Q]) made() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

// listing is a service of fixed pages: every page but the last promises more.
type listing struct {
	calls[int]
	pages   [][]string
	silent  bool // no page says whether another one follows
	total   int
	leftOut bool
	delay   time.Duration
	fails   int // the page that fails
}

var errRefused = errors.New("refused")

func (l *listing) fetch(ctx context.Context, num int) ([]string, paging.Info, error) {
	defer l.begin(num)()
	select {
	case <-time.After(l.delay):
	case <-ctx.Done():
		return nil, paging.Info{}, ctx.Err()
	}
	if num == l.fails {
		return nil, paging.Info{}, errRefused
	}
	page := l.pages[min(num, len(l.pages))-1]
	info := paging.Info{IDs: page, More: new(num < len(l.pages)), Total: l.total, LeftOut: l.leftOut, RequestID: fmt.Sprint("request-", num)}
	if l.silent {
		info.More = nil
	}
	return page, info, nil
}

// A service that promises more and does not deliver it is an error, never an end: a list
// that stops early would look complete.
func TestPages(t *testing.T) {
	a, b, c := []string{"1", "2"}, []string{"3", "4"}, []string{"5"}
	none := make([][]string, 10)
	for _, tc := range []struct {
		name  string
		first int
		pages [][]string
		want  int // pages
		err   *paging.Error
	}{
		{"honest", 0, [][]string{a, b, c}, 3, nil},
		{"from the second on", 2, [][]string{a, b, c}, 2, nil},
		{"an empty last page", 0, [][]string{a, b, {}}, 3, nil},
		{"a last page that repeats", 0, [][]string{a, b, a}, 3, nil},
		{"empty pages", 0, [][]string{{}, a, {}, {}, c}, 5, nil},
		{"ten empty pages, twice", 0, slices.Concat(none, [][]string{a}, none, [][]string{c}), 22, nil},
		{"eleven empty pages", 0, slices.Concat([][]string{a}, none, [][]string{{}, c}), 11, &paging.Error{Num: 12, RequestID: "request-12"}},
		{"eleven empty pages at the end", 0, slices.Concat([][]string{a}, none, [][]string{{}}), 12, nil},
		{"a page that repeats", 0, [][]string{a, a, c}, 1, &paging.Error{Num: 2, Repeats: true, RequestID: "request-2"}},
		{"a circle", 0, [][]string{a, b, a, b, c}, 2, &paging.Error{Num: 3, Repeats: true, RequestID: "request-3"}},
		{"another order", 0, [][]string{a, {"2", "1"}, c}, 3, nil},
		{"alike in a row", 0, [][]string{{"12", "3"}, {"1", "23"}, c}, 3, nil},
	} {
		for _, parallelism := range []int{0, 1, 3} {
			t.Run(fmt.Sprint(tc.name, ", ", parallelism), func(t *testing.T) {
				l := &listing{pages: tc.pages}
				seq := paging.PagesAhead(t.Context(), tc.first, 2, parallelism, l.fetch)
				if parallelism == 0 {
					seq = paging.Pages(tc.first, 2, func(num int) ([]string, paging.Info, error) { return l.fetch(t.Context(), num) })
				}
				assert.Empty(t, l.asked, "nothing is fetched before the loop")
				got, errs := collect(seq)
				first := max(tc.first, 1) - 1
				assert.Equal(t, tc.pages[first:first+tc.want], append([][]string{}, got...))
				if tc.err == nil {
					assert.Empty(t, errs)
					return
				}
				require.Len(t, errs, 1)
				assert.Equal(t, error(tc.err), errs[0])
				assert.Len(t, l.asked, tc.err.Num)
			})
		}
	}
}

// Where no page says whether another one follows, the total decides, and without one an empty page or a
// page that repeats.
func TestPagesThatDoNotSayMore(t *testing.T) {
	a, b, c, last := []string{"1", "2"}, []string{"3", "4"}, []string{"5"}, []string{"5", "6"}
	none := make([][]string, 10)
	for _, tc := range []struct {
		name    string
		first   int
		pages   [][]string // the last one is given again and again
		total   int
		leftOut bool
		want    int // pages
		err     *paging.Error
	}{
		{"a total", 0, [][]string{a, b, c}, 5, false, 3, nil},
		{"a total, from the second on", 2, [][]string{a, b, last, {}}, 6, false, 2, nil},
		{"a total, past the end", 9, [][]string{{}}, 6, false, 1, nil},
		{"a total, with an empty page", 0, [][]string{a, {}, b, c}, 5, false, 4, nil},
		{"a total, with smaller pages", 0, [][]string{{"1"}, {"2"}, {"3"}}, 3, false, 3, nil},
		{"a total that is too large", 0, slices.Concat([][]string{a}, none, [][]string{{}}), 250, false, 11,
			&paging.Error{Num: 12, RequestID: "request-12"}},
		{"a total that is too large, and a page that repeats", 0, [][]string{a, b}, 250, false, 2,
			&paging.Error{Num: 3, Repeats: true, RequestID: "request-3"}},
		{"a total, with an item that was left out", 0, [][]string{a, b, {}}, 5, true, 3, nil},
		{"nothing", 0, [][]string{a, b, c, {}}, 0, false, 4, nil},
		{"nothing, and one page for all numbers", 0, [][]string{a}, 0, false, 1, nil},
		{"nothing, and no item", 0, [][]string{{}}, 0, false, 1, nil},
	} {
		for _, parallelism := range []int{1, 3} {
			t.Run(fmt.Sprint(tc.name, ", ", parallelism), func(t *testing.T) {
				l := &listing{pages: tc.pages, silent: true, total: tc.total, leftOut: tc.leftOut}
				got, errs := collect(paging.PagesAhead(t.Context(), tc.first, 2, parallelism, l.fetch))
				first := min(max(tc.first, 1), len(tc.pages)) - 1
				assert.Equal(t, tc.pages[first:first+tc.want], got)
				if tc.err == nil {
					assert.Empty(t, errs)
				} else if assert.Len(t, errs, 1) {
					assert.Equal(t, error(tc.err), errs[0])
				}
			})
		}
	}
}

func numbered(n int) (pages [][]string) {
	for i := range n {
		pages = append(pages, []string{fmt.Sprint(i)})
	}
	return pages
}

// Pages are fetched early where the total shows them, in order, and at most so many.
func TestPagesAhead(t *testing.T) {
	for _, tc := range []struct {
		total, parallelism int
		took               time.Duration
		most               int
	}{
		{12, 1, 12 * time.Second, 1},
		{12, 4, 4 * time.Second, 4}, // the first alone, then 11 with 4 at once
		{0, 4, 12 * time.Second, 1}, // no totals
		{7, 4, 8 * time.Second, 4},  // too small a total: the others come one by one
		{99, 4, 4 * time.Second, 4}, // too large a total: hasMore decides
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &listing{pages: numbered(12), total: tc.total, delay: time.Second}
			start := time.Now()
			pages, errs := collect(paging.PagesAhead(t.Context(), 1, 1, tc.parallelism, l.fetch))
			assert.Empty(t, errs)
			assert.Equal(t, l.pages, pages)
			assert.Equal(t, tc.took, time.Since(start), "%+v", tc)
			assert.Equal(t, tc.most, l.most, "%+v", tc)
		})
	}
}

// An error comes once, and after what came before it; leaving the loop or an error ends
// every fetch before the loop is over.
func TestPagesAheadEnd(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			l := &listing{pages: numbered(12), total: 12, delay: time.Second, fails: 6}
			pages, errs := collect(paging.PagesAhead(t.Context(), 1, 1, parallelism, l.fetch))
			assert.Equal(t, l.pages[:5], pages)
			assert.Equal(t, []error{errRefused}, errs)
			assert.Zero(t, l.underway)
			assert.Less(t, slices.Max(l.asked), 6+parallelism)
		})
		synctest.Test(t, func(t *testing.T) {
			l := &listing{pages: numbered(12), total: 12, delay: time.Second}
			start := time.Now()
			for _, err := range paging.PagesAhead(t.Context(), 1, 1, parallelism, l.fetch) {
				require.NoError(t, err)
				if time.Since(start) >= 2*time.Second {
					time.Sleep(time.Second / 2)
					break
				}
			}
			assert.Equal(t, 2500*time.Millisecond, time.Since(start), "no fetch is waited for")
			assert.Zero(t, l.underway)
			asked := l.made()
			time.Sleep(time.Minute)
			assert.Len(t, l.asked, asked)
		})
	}
}
