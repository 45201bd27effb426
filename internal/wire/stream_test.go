package wire

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func feedOf(r io.Reader) *Feed {
	feed := new(Feed)
	feed.Reset(r, 0, math.MaxInt32)
	return feed
}

func TestStreamTakesElementsOfItsListAlone(t *testing.T) {
	long := strings.Repeat("7", 2*maxFloat)
	for _, row := range []struct {
		name, body string
		taken      []string
		rest       string
	}{
		{"elements", `{"data":{"list":[{"id":["]}"]},[[1],{}],"x\"y",7,null]}}`,
			[]string{`{"id":["]}"]}`, `[[1],{}]`, `"x\"y"`, `7`, `null`}, `{"data":{"list":[{"id":["]}"]}]}}`},
		{"white space", "{ \"data\" : {\n\"list\" : [ 1 , 2 ] } } ", []string{`1`, `2`}, "{ \"data\" : {\n\"list\" : [ 1 ] } } "},
		{"an empty list", `{"data":{"list":[]}}`, nil, `{"data":{"list":[]}}`},
		{"a list elsewhere", `{"list":[1],"x":{"list":[2]},"data":{"x":{"list":[3]}}}`, nil,
			`{"list":[1],"x":{"list":[2]},"data":{"x":{"list":[3]}}}`},
		{"a list behind data", `{"data":{},"x":{"list":[1]}}`, nil, `{"data":{},"x":{"list":[1]}}`},
		{"data elsewhere", `{"x":{"data":{}},"data":{"list":[1,2]}}`, []string{`1`, `2`}, `{"x":{"data":{}},"data":{"list":[1]}}`},
		{"a list elsewhere first", `{"data":{"x":{"list":[]},"list":[1,2]}}`, []string{`1`, `2`}, `{"data":{"x":{"list":[]},"list":[1]}}`},
		{"a second list", `{"data":{"list":[1,2],"list":[3,4]}}`, []string{`1`, `2`}, `{"data":{"list":[1],"list":[3,4]}}`},
		{"a second data", `{"data":{"list":[1,2]},"data":{"list":[3,4]}}`, []string{`1`, `2`}, `{"data":{"list":[1]},"data":{"list":[3,4]}}`},
		{"code 0 first", `{"code":0,"data":{"list":[1]}}`, []string{`1`}, `{"code":0,"data":{"list":[1]}}`},
		{"another code first", `{"code":1,"data":{"list":[1]}}`, nil, `{"code":1,"data":{"list":[1]}}`},
		{"another code behind", `{"data":{"list":[1,2]},"code":1}`, []string{`1`, `2`}, `{"data":{"list":[1]},"code":1}`},
		{"not taken", `{"data":{"list":[1,2,"no",3,4]}}`, []string{`1`, `2`}, `{"data":{"list":[1,"no",3,4]}}`},
		{"no comma", `{"data":{"list":[1,2 3,4]}}`, []string{`1`, `2`}, `{"data":{"list":[1 3,4]}}`},
		{"two commas", `{"data":{"list":[1,2,,3]}}`, []string{`1`, `2`}, `{"data":{"list":[1,,3]}}`},
		{"a comma first", `{"data":{"list":[,1]}}`, nil, `{"data":{"list":[,1]}}`},
		{"a comma last", `{"data":{"list":[1,2,]}}`, []string{`1`, `2`}, `{"data":{"list":[1,]}}`},
		{"a colon", `{"data":{"list":[1,:2,3]}}`, []string{`1`}, `{"data":{"list":[1,:2,3]}}`},
		{"another bracket", `{"data":{"list":[1,2},3]}}`, []string{`1`, `2`}, `{"data":{"list":[1},3]}}`},
		{"no end", `{"data":{"list":[1,2,{"a":`, []string{`1`, `2`}, `{"data":{"list":[1,{"a":`},
		{"escapes before the list", `{"m\\":"\"]","msg":"\\\"{","data":{"list":[1]}}`, []string{`1`},
			`{"m\\":"\"]","msg":"\\\"{","data":{"list":[1]}}`},
		{"long numbers", `{"x":` + long + `,"data":{"list":[` + long + `,-` + long + `.` + long + `e+` + long + `]}}`,
			[]string{long, `-` + long + `.` + long + `e+` + long}, `{"x":` + long + `,"data":{"list":[` + long + `]}}`},
		{"escaped names", `{"d\u0061ta":{"list":[1]}}`, nil, `{"d\u0061ta":{"list":[1]}}`},
	} {
		var taken []string
		s := Stream{TakeText: func(element []byte) (bool, Mismatches, error) {
			if string(element) == `"no"` {
				return false, Mismatches{}, nil
			}
			taken = append(taken, string(element))
			return true, Mismatches{}, nil
		}}
		feed := feedOf(iotest.OneByteReader(strings.NewReader(row.body)))
		require.NoError(t, s.Read(t.Context(), feed), row.name)
		rest, err := feed.Rest()
		require.NoError(t, err, row.name)
		assert.Equal(t, row.taken, taken, row.name)
		assert.Equal(t, row.rest, string(rest), row.name)
		for _, at := range []int{strings.Index(row.body, "["), len(row.body)} { // before what was removed, and at the end
			inRest := int64(at)
			if at == len(row.body) {
				inRest = int64(len(rest))
			}
			fault := &SyntaxError{Offset: inRest}
			s.Complete(new(Envelope), fault)
			assert.Equal(t, int64(at), fault.Offset, row.name)
		}
	}
}

// What is found in the rest is where it is in the answer, and what is found in the elements
// that were removed is added.
func TestStreamCompletesWhatWasFound(t *testing.T) {
	at := func(paths ...string) (list []Mismatch) {
		for _, path := range paths {
			list = append(list, Mismatch{Path: path})
		}
		return list
	}
	n := 0
	s := Stream{TakeText: func([]byte) (bool, Mismatches, error) {
		n++
		return n < 4, Mismatches{at("data.list[0].id"), 70}, nil
	}}
	const body = `{"data":{"t\u006ftal":"1","notices":[1],"list":[1,2,3,"no",5],"basic":7}}`
	require.NoError(t, s.Read(t.Context(), feedOf(strings.NewReader(body))))
	env := Envelope{Mismatches: Mismatches{at("data.total", "data.notices[1]", "data.list[0].id", "data.list[1].id", "data.list[2].id",
		"data.basic"), 6}}
	s.Complete(&env, nil)
	assert.Equal(t, Mismatches{at("data.total", "data.notices[1]", "data.list[0].id", "data.list[1].id", "data.list[2].id", "data.list[3].id",
		"data.list[4].id", "data.basic"), 146}, env.Mismatches, "in the order of the answer")
	mismatches := &MismatchError{Mismatches{at(make([]string, maxListed)...), maxListed}}
	s.Complete(new(Envelope), mismatches)
	assert.Len(t, mismatches.List, maxListed)
	assert.Equal(t, maxListed+140, mismatches.Count)
	unusable := &UnusableError{Path: "data.list[1].id"}
	s.Complete(new(Envelope), unusable)
	assert.Equal(t, "data.list[3].id", unusable.Path)
}

// An error of the caller ends the reading. One of the answer is the feed's.
func TestStreamEndsWithAnError(t *testing.T) {
	const body = `{"data":{"list":[1,2]}}`
	stop := errors.New("stop")
	n := 0
	s := Stream{TakeText: func([]byte) (bool, Mismatches, error) { n++; return true, Mismatches{}, stop }}
	assert.Equal(t, stop, s.Read(t.Context(), feedOf(strings.NewReader(body))))
	assert.Equal(t, 1, n)

	s = Stream{TakeText: func([]byte) (bool, Mismatches, error) { return true, Mismatches{}, nil }}
	feed := feedOf(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(body))))
	require.NoError(t, s.Read(t.Context(), feed))
	_, err := feed.Rest()
	assert.Equal(t, iotest.ErrTimeout, err)
}
