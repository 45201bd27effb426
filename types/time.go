// Date and Timestamp: the wire's text, parsed when asked.

package types

import (
	"fmt"
	"time"
)

// Date is a calendar day in the form YYYY-MM-DD, such as "2026-12-24". It
// belongs to no time zone: a check-in date is the day at the hotel.
type Date string

// DateOf returns t's calendar day in t's own location.
func DateOf(t time.Time) Date { return Date(t.Format(time.DateOnly)) }

// Time returns midnight UTC of the day, or an error when d is not a date of
// the form YYYY-MM-DD.
func (d Date) Time() (time.Time, error) {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a date of the form YYYY-MM-DD", string(d))
	}
	return t, nil
}

// Timestamp is an instant as the service wrote it. Those of orders and vouchers
// are ISO 8601; the form of those in offers (refundableUntil, cancellation
// steps) is undocumented.
type Timestamp string

// timestampLayouts are the ISO 8601 forms that name an instant, the extended ones
// and then the basic ones. A fraction of a second is understood after each that has
// seconds. A text without an offset is not among them: it names no instant, and a
// guessed zone would move a deadline.
var timestampLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700", "2006-01-02T15:04Z07",
	"20060102T150405Z0700", "20060102T150405Z07",
	"20060102T1504Z0700", "20060102T1504Z07",
}

// Time returns the instant. A text that is not an ISO 8601 date and time, or that
// has no UTC offset, is an error: the caller who knows the zone can parse string(t).
func (t Timestamp) Time() (time.Time, error) {
	for _, layout := range timestampLayouts {
		if at, err := time.Parse(layout, string(t)); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not an ISO 8601 instant with a UTC offset", string(t))
}
