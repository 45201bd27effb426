// The arguments of a job hold what package durable stores in a row.

package hotelstaysriver

import (
	"encoding/json"
	"strings"

	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

// args are the arguments of a job, which are one JSON object. Reference and Account make a live job unique among the
// live jobs of its kind. Request is the encrypted request of a booking. The object also has the fields of the state.
type args struct {
	Reference string `json:"reference" river:"unique"`
	Account   string `json:"account" river:"unique"`
	Request   []byte `json:"request,omitempty"`
	kind      durable.Kind
	state     []byte
}

// bookingJob, cancelJob and orderJob give River's workers their kinds. They are empty, because a worker reads the
// arguments from the row of the job.
type (
	bookingJob struct{}
	cancelJob  struct{}
	orderJob   struct{}
)

func (bookingJob) Kind() string { return "hotelstays_booking" }
func (cancelJob) Kind() string  { return "hotelstays_cancel" }
func (orderJob) Kind() string   { return "hotelstays_order" }

// Kind returns River's name of the kind.
func (a args) Kind() string {
	switch a.kind {
	case durable.KindCancel:
		return cancelJob{}.Kind()
	case durable.KindOrder:
		return orderJob{}.Kind()
	}
	return bookingJob{}.Kind()
}

type plainArgs args // has no MarshalJSON and no UnmarshalJSON

// withoutNUL removes the escape of NUL from JSON, because jsonb cannot hold NUL. It keeps an escaped backslash before
// the same letters.
var withoutNUL = strings.NewReplacer(`\\`, `\\`, `\u0000`, ``)

// MarshalJSON returns the fields of the state and the other arguments in one object.
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

// UnmarshalJSON divides the object into the state and the other arguments.
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

// version identifies a state of a job, and the run that works on it.
type version struct {
	id      int64
	running bool
	taken   int64 // when a worker last took the job, or kept it, in microseconds since 1970
	args    string
}

// rowOf returns a job as a row. If the job has ended, the engine decides by the state whether a new job may replace it.
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
