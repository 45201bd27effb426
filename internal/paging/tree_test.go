// Trees of a fake service: each node once, parents first, and every call ended.

package paging_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/internal/paging"
)

// forest answers with the nodes below a node. An answer takes delay.
type forest struct {
	calls[string]
	below map[string][]string
	delay func(call int) time.Duration
	fails string
}

func (f *forest) ask(ctx context.Context, node string) ([]string, error) {
	defer f.begin(node)()
	if f.delay != nil {
		select {
		case <-time.After(f.delay(f.made())):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if f.fails != "" && node == f.fails {
		return nil, errRefused
	}
	return f.below[node], nil
}

func (f *forest) walk(ctx context.Context, parallelism int) func(func(string, error) bool) {
	return paging.Tree(ctx, "root", parallelism, f.ask, func(_, node string) (string, string) {
		if node[0] == '-' { // a node without an id
			return "", ""
		}
		return node, node
	})
}

// wide has three levels of 1, n, and n*n nodes.
func wide(n int) *forest {
	f := &forest{below: map[string][]string{}}
	for i := range n {
		parent := fmt.Sprint(i)
		f.below["root"] = append(f.below["root"], parent)
		for j := range n {
			f.below[parent] = append(f.below[parent], fmt.Sprint(i, ".", j))
		}
	}
	return f
}

// A node that lies below several others, or below itself, comes once, and the walk ends;
// one without an id comes as often as it is there, and is not looked into.
func TestTreeThatIsNone(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		f := &forest{below: map[string][]string{"root": {"a", "b", "a", "-x"}, "a": {"c", "-x"}, "b": {"c", "a", "b"}, "c": {"a", "d"}}}
		nodes, errs := collect(f.walk(t.Context(), parallelism))
		assert.Empty(t, errs)
		assert.ElementsMatch(t, []string{"a", "b", "c", "d", "-x", "-x"}, nodes)
		assert.ElementsMatch(t, []string{"root", "a", "b", "c", "d"}, f.asked)
	}
}

// Parents come before their children, whichever answer is first, and calls are bounded.
func TestTreeOrder(t *testing.T) {
	for _, parallelism := range []int{1, 2, 7} {
		synctest.Test(t, func(t *testing.T) {
			f := wide(9)
			f.delay = func(call int) time.Duration { return time.Duration(1+7*call%5) * time.Second }
			walk := f.walk(t.Context(), parallelism)
			assert.Empty(t, f.asked, "nothing is asked before the loop")
			seen := map[string]bool{}
			for node, err := range walk {
				require.NoError(t, err)
				if len(node) > 1 {
					assert.True(t, seen[node[:1]], "the parent of %s", node)
				}
				seen[node] = true
				time.Sleep(time.Second / 3)
			}
			assert.Len(t, seen, 9+81)
			assert.Equal(t, parallelism, f.most)
		})
	}
}

// A busy loop holds the calls up; leaving it stops them, and so does an error, which comes
// once.
func TestTreeEnds(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		second := func(int) time.Duration { return time.Second }
		for _, nodes := range []int{1, 61} {
			synctest.Test(t, func(t *testing.T) {
				f := wide(30)
				f.delay = second
				n := 0
				var left time.Time
				for range f.walk(t.Context(), parallelism) {
					if n++; n == 20 {
						time.Sleep(time.Hour)
						assert.LessOrEqual(t, f.made(), 1+2*parallelism)
					}
					if n == nodes {
						time.Sleep(time.Second / 2)
						left = time.Now()
						break
					}
				}
				assert.Zero(t, time.Since(left), "no call is waited for")
				assert.Zero(t, f.underway)
				asked := len(f.asked)
				time.Sleep(time.Minute)
				assert.Len(t, f.asked, asked)
			})
		}
		synctest.Test(t, func(t *testing.T) {
			f := wide(30)
			f.delay, f.fails = second, "29"
			nodes, errs := collect(f.walk(t.Context(), parallelism))
			assert.NotEmpty(t, nodes)
			assert.Equal(t, []error{errRefused}, errs)
			assert.Zero(t, f.underway)
			assert.LessOrEqual(t, len(f.asked), 1+parallelism+3)
		})
	}
}
