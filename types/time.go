// Date and Timestamp: the text that was sent, parsed on request.

package types

import (
	"fmt"
	"time"
)

// Date is a calendar day in the form YYYY-MM-DD, such as "2026-12-24". It has no time zone: a
// check-in date is the day at the hotel.
type Date string

// DateOf returns the calendar day of t in t's location.
func DateOf(t time.Time) Date { return Date(t.Format(time.DateOnly)) }

// Time returns midnight UTC of the day, or an error if d is not in the form YYYY-MM-DD.
func (d Date) Time() (time.Time, error) {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a date of the form YYYY-MM-DD", string(d))
	}
	return t, nil
}

// Timestamp is an instant as the service wrote it. Timestamps of orders and vouchers are ISO 8601. The form of
// timestamps in offers (refundableUntil, cancellation steps) is undocumented.
type Timestamp string

// timestampLayouts are the ISO 8601 forms of an instant, extended and basic. A form with seconds also matches
// fractions of a second. Forms without an offset are missing, because a guessed zone would move a deadline.
var timestampLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700", "2006-01-02T15:04Z07",
	"20060102T150405Z0700", "20060102T150405Z07",
	"20060102T1504Z0700", "20060102T1504Z07",
}

// Time returns the instant. It returns an error if t is not ISO 8601 or has no UTC offset. If
// you know the zone, parse string(t) yourself.
func (t Timestamp) Time() (time.Time, error) {
	for _, layout := range timestampLayouts {
		if at, err := time.Parse(layout, string(t)); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not an ISO 8601 time with a UTC offset", string(t))
}
