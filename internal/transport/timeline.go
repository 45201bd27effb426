// What an observer is told of the attempts.

package transport

import (
	"errors"
	"time"
)

// Timeline keeps how the attempts of one call went. A nil Timeline keeps nothing
// and takes no time.
type Timeline struct {
	CeilingWait time.Duration // of all attempts
	Sendings    []Sending

	begun time.Time // the attempt that is on its way
}

// Sending is one attempt that was sent.
type Sending struct {
	Start     time.Time
	Duration  time.Duration // until its answer was read whole, or it failed
	Status    int           // HTTP status, 0 without an answer
	Sent      bool          // the request may have reached the service
	RequestID string
	Err       error // why there is no answer, without secrets
}

func (t *Timeline) now() time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Now()
}

// begin marks the moment at which an attempt is sent.
func (t *Timeline) begin() {
	if t != nil {
		t.begun = time.Now()
	}
}

// waited adds a wait for the ceiling that began at start.
func (t *Timeline) waited(start time.Time) {
	if t != nil {
		t.CeilingWait += time.Since(start)
	}
}

// keep notes the last attempt, if it was sent.
func (c *Call) keep() {
	if c.Timeline == nil || c.last.requestID == "" {
		return
	}
	s := Sending{
		Start:     c.Timeline.begun,
		Duration:  time.Since(c.Timeline.begun),
		Status:    c.last.status(),
		Sent:      c.last.sent,
		RequestID: c.last.requestID,
		Err:       c.last.err,
	}
	if s.Err != nil {
		if text := c.scrubbed(s.Err); text != s.Err.Error() {
			s.Err = errors.New(text)
		}
	}
	c.Timeline.Sendings = append(c.Timeline.Sendings, s)
}

// scrubbed is the text of an attempt's error without the call's secrets.
func (c *Call) scrubbed(err error) string {
	if c.Scrub == nil {
		return err.Error()
	}
	return c.Scrub(err.Error(), c.last.authorization.Header)
}
