// Package bookingsmodel searches every order of events around a booking for one that breaks a promise.
//
// A [World] has one service, two workers and one stored booking. Its workers do what the journal of
// contrib/sql does, step by step, and decide by the transitions of package durable and by
// Client.BookAndRecover and Client.StepRecovery themselves. Between two steps the other worker
// acts, time passes, an order is made or shows, a webhook comes, or something fails. World.Search visits
// each state once, breadth first, so that the path to a violated promise is the shortest.
//
// With World.Cancels it does the same around a cancellation.
//
// docs/decisions/every-order.md says what it found, and what its bounds leave out.
//
// This package is outside the compatibility promise: a minor version may change it.
package bookingsmodel
