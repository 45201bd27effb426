package wire

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSplitter(t *testing.T) {
	for _, row := range []struct {
		name, body string
		taken      []string
		rest       string
	}{
		{"elements", `{"data":{"list":[{"a":"]}"},[[1],{}],"x\"y",7,null]}}`,
			[]string{`{"a":"]}"}`, `[[1],{}]`, `"x\"y"`, `7`, `null`}, `{"data":{"list":[null,null,null,null,null]}}`},
		{"white space", "{ \"data\" : {\n\"list\" : [ 1 , {} ] } } ", []string{`1`, `{}`}, "{ \"data\" : {\n\"list\" : [ null , null ] } } "},
		{"an empty list", `{"data":{"list":[]}}`, nil, `{"data":{"list":[]}}`},
		{"a list elsewhere", `{"list":[1],"x":{"list":[2]},"data":{"x":{"list":[3]}}}`, nil, `{"list":[1],"x":{"list":[2]},"data":{"x":{"list":[3]}}}`},
		{"a list behind data", `{"data":{},"x":{"list":[1]}}`, nil, `{"data":{},"x":{"list":[1]}}`},
		{"data elsewhere", `{"x":{"data":{}},"data":{"list":[1]}}`, []string{`1`}, `{"x":{"data":{}},"data":{"list":[null]}}`},
		{"a list elsewhere first", `{"data":{"x":{"list":[]},"list":[1]}}`, []string{`1`}, `{"data":{"x":{"list":[]},"list":[null]}}`},
		{"a second list", `{"data":{"list":[1],"list":[2]}}`, []string{`1`}, `{"data":{"list":[null],"list":[2]}}`},
		{"code 0 first", `{"code":0,"data":{"list":[1]}}`, []string{`1`}, `{"code":0,"data":{"list":[null]}}`},
		{"another code first", `{"code":1,"data":{"list":[1]}}`, nil, `{"code":1,"data":{"list":[1]}}`},
		{"another code behind", `{"data":{"list":[1]},"code":1}`, []string{`1`}, `{"data":{"list":[null]},"code":1}`},
		{"refused by Take", `{"data":{"list":[1,"no",2,3]}}`, []string{`1`}, `{"data":{"list":[null,"no",2,3]}}`},
		{"no comma", `{"data":{"list":[1 2]}}`, []string{`1`}, `{"data":{"list":[null 2]}}`},
		{"no end", `{"data":{"list":[1,{"a":`, []string{`1`}, `{"data":{"list":[null,{"a":`},
		{"escapes before the list", `{"m\\":"\"]","msg":"\\\"{","data":{"list":[1]}}`, []string{`1`}, `{"m\\":"\"]","msg":"\\\"{","data":{"list":[null]}}`},
		{"escaped names", `{"d\u0061ta":{"list":[1]}}`, nil, `{"d\u0061ta":{"list":[1]}}`},
	} {
		var taken []string
		s := Splitter{Take: func(element []byte) (bool, error) {
			if string(element) == `"no"` {
				return false, nil
			}
			taken = append(taken, string(element))
			return true, nil
		}}
		rest, err := s.Read(iotest.OneByteReader(strings.NewReader(row.body)))
		require.NoError(t, err, row.name)
		assert.Equal(t, row.taken, taken, row.name)
		assert.Equal(t, row.rest, string(rest), row.name)
		for i := range rest { // what was not taken is where it was
			if rest[i] != row.body[i] {
				break
			}
			assert.Equal(t, int64(i), s.Offset(int64(i)), row.name)
		}
		assert.Equal(t, int64(len(row.body)), s.Offset(int64(len(rest))), row.name)
	}
}

func TestSplitterEndsWithTheErrorOfTakeOrOfReading(t *testing.T) {
	const body = `{"data":{"list":[1,2]}}`
	stop := errors.New("stop")
	n := 0
	s := Splitter{Take: func([]byte) (bool, error) { n++; return true, stop }}
	_, err := s.Read(strings.NewReader(body))
	assert.Equal(t, stop, err)
	assert.Equal(t, 1, n)

	s = Splitter{Take: func([]byte) (bool, error) { return true, nil }}
	_, err = s.Read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(body))))
	assert.Equal(t, iotest.ErrTimeout, err)
}
