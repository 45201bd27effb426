// Package types holds the value types that the wire shares between operations:
// money, rates, rooms, hotels, destinations, orders and vouchers.
//
// Three rules run through all of them.
//
// What the wire said is what you hold. Dates and timestamps are string kinds
// that parse when asked; enumerations are named kinds with constants for the
// documented values alone, and a value without a constant survives a round
// trip.
//
// Money is exact. An amount is the number's own literal, never a float.
//
// Absent is not zero. Where it matters, an optional field is a pointer, and
// nil means that the service did not say.
//
// The types carry data and no state: a value may be read by any number of
// goroutines at once, as long as none changes it.
package types
