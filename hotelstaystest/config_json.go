// The JSON of a Config. encoding/json writes durations as numbers, but people write them as text.

package hotelstaystest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

var typeOfDuration = reflect.TypeFor[time.Duration]()

// MarshalJSON omits fields that are zero.
func (c Config) MarshalJSON() ([]byte, error) {
	type numbers Config
	data, err := json.Marshal(numbers(c))
	if err != nil {
		return nil, err
	}
	return mapDurations(data, func(number any) any {
		d, _ := strconv.ParseInt(fmt.Sprint(number), 10, 64)
		return durationText(time.Duration(d))
	})
}

// UnmarshalJSON sets the fields that the text contains. It refuses unknown fields. Its errors name
// the field and match [ErrInvalidConfig].
func (c *Config) UnmarshalJSON(text []byte) error {
	err := checkStrict(text, reflect.TypeFor[Config]())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	data, err := mapDurations(text, func(text any) any {
		d, _ := parseDuration(text.(string)) // cannot fail, because checkStrict has parsed the text before
		return d
	})
	if err != nil {
		return err
	}
	type numbers Config
	return json.Unmarshal(data, (*numbers)(c))
}

// mapDurations calls the function replace with each duration in the JSON of a Config, and writes the result in its
// place.
func mapDurations(data []byte, replace func(any) any) ([]byte, error) {
	var tree any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	var walk func(v any, t reflect.Type) any
	walk = func(v any, t reflect.Type) any {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch v := v.(type) {
		case map[string]any:
			for name := range v {
				if ft, ok := fieldType(t, name); ok {
					v[name] = walk(v[name], ft)
				}
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], t.Elem())
			}
		default:
			if t == typeOfDuration {
				return replace(v)
			}
		}
		return v
	}
	return json.Marshal(walk(tree, reflect.TypeFor[Config]()))
}

func durationText(d time.Duration) string {
	switch d {
	case AtOnce:
		return "0s"
	case Never:
		return "never"
	}
	return d.String()
}

// configDuration is a duration in the JSON of a [Config].
type configDuration time.Duration

func (d *configDuration) UnmarshalText(text []byte) error {
	parsed, err := parseDuration(string(text))
	*d = configDuration(parsed)
	return err
}

func parseDuration(text string) (time.Duration, error) {
	if text == "never" {
		return Never, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, err
	case d < 0:
		return 0, errors.New("the duration is negative; write 0s for no delay, or never if the event must not happen")
	case d == 0:
		return AtOnce, nil
	}
	return d, nil
}
