// Package types holds the values of the wire: money, rates, rooms, hotels, destinations, orders
// and vouchers, and the names of operations, codes, scopes and events.
//
// Three rules apply to all of them:
//
//   - Values keep what the service sent. Dates and timestamps are text that a Time method
//     parses. Enumerations have constants for the documented values only; other values pass
//     through unchanged. Where the document names no fields, a struct has the JSON as Raw.
//   - Money is exact. An amount keeps its digits and is never a float.
//   - Absent is not zero. Where the difference matters, a field is a pointer, and nil means
//     that it was not sent.
//
// All types are plain data. Several goroutines may read a value at the same time if none changes it.
package types
