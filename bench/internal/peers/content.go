// The decoded content as JSON, in which all clients can be compared.

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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
	c.add("", v)
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
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	got, err := ContentOf(text)
	if err != nil {
		return err
	}
	for i := range max(len(c), len(got)) {
		switch {
		case i >= len(c) || i < len(got) && got[i] < c[i]:
			return fmt.Errorf("it holds %s, which the answer does not", got[i])
		case i >= len(got) || c[i] < got[i]:
			return fmt.Errorf("it lacks %s", c[i])
		}
	}
	return nil
}

func (c *Content) add(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			c.add(path+"."+key, member)
		}
	case []any:
		for i, item := range v {
			c.add(fmt.Sprintf("%s[%d]", path, i), item)
		}
	case json.Number:
		*c = append(*c, strings.TrimPrefix(path, ".")+" = "+decimal.RequireFromString(v.String()).String())
	case string, bool:
		if v != "" && v != false {
			*c = append(*c, fmt.Sprintf("%s = %#v", strings.TrimPrefix(path, "."), v))
		}
	}
}
