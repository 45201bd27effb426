// The arguments of a job hold what package durable stores in a row.

package hotelstaysriver

import (
	"encoding/json"
	"strings"

	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

// args are the arguments of a job. They are one JSON object: Reference and Account, which make a live job
// unique among those of its kind, the encrypted Request of a booking, and the fields of the state.
type args struct {
	Reference string `json:"reference" river:"unique"`
	Account   string `json:"account" river:"unique"`
	Request   []byte `json:"request,omitempty"`
	kind      durable.Kind
	state     []byte
}

// bookingJob, cancelJob and orderJob are the kinds for River's workers, which read the arguments themselves.
type (
	bookingJob struct{}
	cancelJob  struct{}
	orderJob   struct{}
)

// Kind is River's name for these jobs.
func (bookingJob) Kind() string { return "hotelstays_booking" }

// Kind is River's name for these jobs.
func (cancelJob) Kind() string { return "hotelstays_cancel" }

// Kind is River's name for these jobs.
func (orderJob) Kind() string { return "hotelstays_order" }

// Kind is River's name for jobs of a kind.
func (a args) Kind() string {
	switch a.kind {
	case durable.KindCancel:
		return cancelJob{}.Kind()
	case durable.KindOrder:
		return orderJob{}.Kind()
	}
	return bookingJob{}.Kind()
}

type plainArgs args // has no methods

// withoutNUL removes the escape of NUL, which jsonb cannot hold, from JSON, but not an escaped backslash
// before the same letters.
var withoutNUL = strings.NewReplacer(`\\`, `\\`, `\u0000`, ``)

// MarshalJSON returns the whole object.
func (a args) MarshalJSON() ([]byte, error) {
	fields := map[string]json.RawMessage{}
	err := json.Unmarshal(a.state, &fields)
	var text []byte
	if err == nil {
		text, err = json.Marshal(plainArgs(a))
	}
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err == nil {
		text, err = json.Marshal(fields)
	}
	return []byte(withoutNUL.Replace(string(text))), err
}

// UnmarshalJSON divides the object.
func (a *args) UnmarshalJSON(text []byte) error {
	fields := map[string]json.RawMessage{}
	err := json.Unmarshal(text, &fields)
	if err == nil {
		err = json.Unmarshal(text, (*plainArgs)(a))
	}
	for _, own := range []string{"reference", "account", "request"} {
		delete(fields, own)
	}
	if err == nil {
		a.state, err = json.Marshal(fields)
	}
	return err
}

// version identifies a state of a job, and the run that has it.
type version struct {
	id      int64
	running bool
	taken   int64 // when a worker last took it, or kept it, in microseconds
	args    string
}

// rowOf returns a job as a row. If the job has ended, the engine finds out by its state whether it may be replaced.
func rowOf(kind durable.Kind, job *rivertype.JobRow) *durable.Row {
	v := version{id: job.ID, running: job.State == rivertype.JobStateRunning, args: string(job.EncodedArgs)}
	if job.AttemptedAt != nil {
		v.taken = job.AttemptedAt.UnixMicro()
	}
	a := args{state: []byte("{}")}
	err := json.Unmarshal(job.EncodedArgs, &a)
	row := &durable.Row{ID: durable.ID{Account: a.Account, Kind: kind, Reference: a.Reference}, Due: job.ScheduledAt.UTC().Round(0), State: a.state,
		Sealed: a.Request, Version: v, Busy: v.running, Unreadable: err, Life: durable.Open}
	if job.FinalizedAt != nil {
		row.Life = durable.Over
	}
	return row
}
