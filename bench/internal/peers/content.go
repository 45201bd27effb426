// What was decoded, in a form in which all clients can be compared: the JSON that it
// makes when it is encoded again.

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// CheckContent returns an error unless value holds all that an answer's data says.
// Numbers are the same when their values are, so that a client may decode them into
// floats; a field that is absent is the same as one that is null, false or "".
func CheckContent(value any, answer []byte) error {
	var sent struct{ Data json.RawMessage }
	if err := json.Unmarshal(answer, &sent); err != nil {
		return err
	}
	got, err := json.Marshal(value)
	if err != nil {
		return err
	}
	want, have, err := leavesOfBoth(sent.Data, got)
	if err != nil {
		return err
	}
	if len(want) == 0 {
		return fmt.Errorf("the answer has no data")
	}
	for i := range max(len(want), len(have)) {
		switch {
		case i >= len(want) || i < len(have) && have[i] < want[i]:
			return fmt.Errorf("it holds %s, which the answer does not", have[i])
		case i >= len(have) || want[i] < have[i]:
			return fmt.Errorf("it lacks %s", want[i])
		}
	}
	return nil
}

// Canonical is a JSON document as a list of its values with their paths, sorted.
func Canonical(document []byte) ([]string, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	var leaves []string
	if err := walk(v, "", &leaves); err != nil {
		return nil, err
	}
	slices.Sort(leaves)
	return leaves, nil
}

func leavesOfBoth(a, b []byte) (fromA, fromB []string, err error) {
	if fromA, err = Canonical(a); err != nil {
		return nil, nil, err
	}
	fromB, err = Canonical(b)
	return fromA, fromB, err
}

func walk(v any, path string, leaves *[]string) error {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if err := walk(member, path+"."+key, leaves); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := walk(item, fmt.Sprintf("%s[%d]", path, i), leaves); err != nil {
				return err
			}
		}
	case json.Number:
		d, err := decimal.NewFromString(v.String())
		if err != nil {
			return err
		}
		*leaves = append(*leaves, strings.TrimPrefix(path, ".")+" = "+d.String())
	case string, bool:
		if v != "" && v != false {
			*leaves = append(*leaves, fmt.Sprintf("%s = %#v", strings.TrimPrefix(path, "."), v))
		}
	}
	return nil
}
