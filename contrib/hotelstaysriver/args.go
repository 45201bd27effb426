// The arguments of a job hold what package durable stores in a row.

package hotelstaysriver

import (
	"encoding/json"
	"strings"

	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

// args are the arguments of a job. Their JSON is one object with the exported fields here and the fields of state.
// Reference and Account make a job unique among the live jobs of its kind. Request is the encrypted request of a
// booking.
type args struct {
	Reference string `json:"reference" river:"unique"`
	Account   string `json:"account" river:"unique"`
	Request   []byte `json:"request,omitempty"`
	kind      durable.Kind
	state     []byte
}

// bookingJob, cancelJob and orderJob are the types of job arguments for which River's workers are registered. They have
// no fields, because a worker reads the arguments from the row of the job.
type (
	bookingJob struct{}
	cancelJob  struct{}
	orderJob   struct{}
)

func (bookingJob) Kind() string { return "hotelstays_booking" }
func (cancelJob) Kind() string  { return "hotelstays_cancel" }
func (orderJob) Kind() string   { return "hotelstays_order" }

// Kind returns the name of the job's kind in River, such as hotelstays_booking.
func (a args) Kind() string {
	switch a.kind {
	case durable.KindCancel:
		return cancelJob{}.Kind()
	case durable.KindOrder:
		return orderJob{}.Kind()
	}
	return bookingJob{}.Kind()
}

type plainArgs args // args without its JSON methods, which would otherwise call themselves

// withoutNUL removes \u0000 from JSON, because jsonb cannot hold NUL. It keeps \\u0000, which is an escaped backslash
// and the text u0000.
var withoutNUL = strings.NewReplacer(`\\`, `\\`, `\u0000`, ``)

// MarshalJSON writes one object with the fields of a.state and the other arguments.
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

// UnmarshalJSON reads the object of MarshalJSON.
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

// version is the Version of a job's row. It changes when the arguments change, or when another worker takes the job.
type version struct {
	id      int64
	running bool
	taken   int64 // time at which a worker last took or kept the job, in microseconds since 1970
	args    string
}

// rowOf converts a job into a row for the engine. If the job has ended, the engine decides by the row's state whether a
// new job may replace it.
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
