// Open values: where the document names no fields, their JSON is kept as it was sent.

package types

import "encoding/json"

// OrderGuest is a guest of an order. Its fields are undocumented, except that a passport number
// is cut to its last four characters.
type OrderGuest struct {
	// Raw is the JSON of the guest.
	Raw json.RawMessage
}

// MarshalJSON returns Raw, or null if it is empty.
func (g OrderGuest) MarshalJSON() ([]byte, error) { return g.Raw.MarshalJSON() }

// UnmarshalJSON stores a copy of the JSON in Raw.
func (g *OrderGuest) UnmarshalJSON(text []byte) error { return g.Raw.UnmarshalJSON(text) }

// RefundItem is an entry of an order's refund information. Its fields are undocumented.
type RefundItem struct {
	// Raw is the JSON of the entry.
	Raw json.RawMessage
}

// MarshalJSON returns Raw, or null if it is empty.
func (i RefundItem) MarshalJSON() ([]byte, error) { return i.Raw.MarshalJSON() }

// UnmarshalJSON stores a copy of the JSON in Raw.
func (i *RefundItem) UnmarshalJSON(text []byte) error { return i.Raw.UnmarshalJSON(text) }

// StatusFilter is a status that QueryOrders filters by. Whether it is a number or a word is
// undocumented.
type StatusFilter struct {
	// Raw is the JSON to send, such as 1 or "confirmed". Required.
	Raw json.RawMessage
}

// MarshalJSON returns Raw, or null if it is empty.
func (f StatusFilter) MarshalJSON() ([]byte, error) { return f.Raw.MarshalJSON() }

// UnmarshalJSON stores a copy of the JSON in Raw.
func (f *StatusFilter) UnmarshalJSON(text []byte) error { return f.Raw.UnmarshalJSON(text) }
