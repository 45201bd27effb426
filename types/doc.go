// Package types holds the values that several operations share: money, rates, rooms, hotels,
// destinations, orders and vouchers.
//
// Three rules apply to all of them:
//
//   - Values keep what the service sent. Dates and timestamps are text that a Time method
//     parses. Enumerations have constants for the documented values only; other values pass
//     through unchanged.
//   - Money is exact. An amount keeps its digits and is never a float.
//   - Absent is not zero. Where the difference matters, a field is a pointer, and nil means
//     that it was not sent.
//
// All types are plain data. Several goroutines may read a value at once if none changes it.
package types
