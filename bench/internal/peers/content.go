// The content of decoded answers, as JSON. With it, the results of different clients can be compared.

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
)

// Content maps the path of each value in a JSON document, such as ".list[0].name", to the value. 1.0 and 1 are the same
// number, because a client may decode numbers into floats. An absent field is the same as null, false or "".
type Content map[string]string

// ContentOf reads the content of a JSON document.
func ContentOf(document []byte) (Content, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	c := Content{}
	c.add("", v)
	return c, nil
}

// ContentOfAnswer decodes the JSON field "data" of an answer of the service.
func ContentOfAnswer(answer []byte) (Content, error) {
	var sent struct{ Data json.RawMessage }
	if err := json.Unmarshal(answer, &sent); err != nil {
		return nil, err
	}
	return ContentOf(sent.Data)
}

// CheckAll calls every client at baseURL. It returns an error if a client's result differs from the prepared answer.
func CheckAll(ctx context.Context, baseURL string) error {
	for op, answer := range answers.All() {
		sent, err := ContentOfAnswer(answer)
		if err != nil {
			return err
		}
		for _, kind := range All() {
			client, err := kind.New(baseURL)
			if err != nil {
				return fmt.Errorf("%s: %w", kind.Name, err)
			}
			value, err := client.Calls[op](ctx)
			client.Close()
			if err == nil {
				err = sent.Check(value)
			}
			if err != nil {
				return fmt.Errorf("%s, %s: %w", kind.Name, op, err)
			}
		}
	}
	return nil
}

// Check returns an error unless the JSON of value has exactly the content c.
func (c Content) Check(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	got, err := ContentOf(text)
	for path, want := range c {
		if err == nil && got[path] != want {
			err = fmt.Errorf("%s is %q instead of %s", path, got[path], want)
		}
	}
	for path := range got {
		if err == nil && c[path] == "" {
			err = fmt.Errorf("the result has %s = %s, but the answer does not have this value", path, got[path])
		}
	}
	return err
}

func (c Content) add(path string, v any) {
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
		c[path] = decimal.RequireFromString(v.String()).String()
	case string, bool:
		if v != "" && v != false {
			c[path] = fmt.Sprintf("%#v", v)
		}
	}
}
