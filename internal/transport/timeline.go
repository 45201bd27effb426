// The record of the attempts, for observers.

package transport

import (
	"errors"
	"time"
)

// Timeline records the attempts of one call.
type Timeline struct {
	RateLimitWait time.Duration // sum of the waits of all attempts, including attempts that were not sent
	Sent          []SentAttempt
}

// SentAttempt is one request that was sent.
type SentAttempt struct {
	Start     time.Time
	Duration  time.Duration // time from Start until the whole answer was read, or until the attempt failed
	Status    int           // HTTP status; 0 without an answer
	Sent      bool          // the request may have reached the service
	RequestID string
	Err       error // error of the attempt, without secrets, or nil
}

func (r *run) record() {
	if r.Timeline == nil {
		return
	}
	sent := SentAttempt{
		Start:     r.last.start,
		Duration:  time.Since(r.last.start),
		Status:    r.last.status(),
		Sent:      r.last.Sent,
		RequestID: r.last.RequestID,
		Err:       r.last.Err,
	}
	if sent.Err != nil {
		if text := r.scrubbed(sent.Err); text != sent.Err.Error() {
			sent.Err = errors.New(text)
		}
	}
	r.Timeline.Sent = append(r.Timeline.Sent, sent)
}

func (r *run) scrubbed(err error) string {
	if r.Scrub == nil {
		return err.Error()
	}
	return r.Scrub(err.Error(), r.last.Token)
}
