// The decoded content as JSON, in which all clients can be compared.

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// Content is a JSON document as a sorted list of values with their paths. Equal numbers are
// the same, because a client may decode them into floats. An absent field is the same as null,
// false or "".
type Content []string

// ContentOf returns the content of a document.
func ContentOf(document []byte) (Content, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	var c Content
	if err := walk(v, "", &c); err != nil {
		return nil, err
	}
	slices.Sort(c)
	return c, nil
}

// ContentOfAnswer returns the content of an answer's data.
func ContentOfAnswer(answer []byte) (Content, error) {
	var sent struct{ Data json.RawMessage }
	if err := json.Unmarshal(answer, &sent); err != nil {
		return nil, err
	}
	return ContentOf(sent.Data)
}

// Check returns an error unless value has exactly this content.
func (c Content) Check(value any) error {
	got, err := json.Marshal(value)
	if err != nil {
		return err
	}
	have, err := ContentOf(got)
	if err != nil {
		return err
	}
	for i := range max(len(c), len(have)) {
		switch {
		case i >= len(c) || i < len(have) && have[i] < c[i]:
			return fmt.Errorf("it holds %s, which the answer does not", have[i])
		case i >= len(have) || c[i] < have[i]:
			return fmt.Errorf("it lacks %s", c[i])
		}
	}
	return nil
}

func walk(v any, path string, leaves *Content) error {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if err := walk(member, path+"."+key, leaves); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := walk(item, path+"["+strconv.Itoa(i)+"]", leaves); err != nil {
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
