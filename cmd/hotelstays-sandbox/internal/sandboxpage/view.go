// The data of the page's template.

package sandboxpage

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

type view struct {
	Control, Static string // paths
	Events          string // path of what happens from now on
	Kinds           string // of those events
	Now             time.Time
	Ahead           string // of real time; empty: not
	Bookings        []*booking
	MoreBookings    int
	Presets         []preset
	Advances        []preset
	Operations      []hotelstaystest.Operation
	FaultKinds      []hotelstaystest.FaultKind
	Faults          []string
	Requests        int // since the start
	Journal         []entry
}

// preset is a button with the body of its request.
type preset struct{ Label, JSON string }

var faultPresets = []preset{
	{"Lose a Book's answer", `{"operation":"Book","kind":"cut","commit":true}`},
	{"Cut a Book before it acts", `{"operation":"Book","kind":"cut"}`},
	{"Answer 503 three times", `{"kind":"status","status":503,"times":3}`},
	{"Delay the next call by 5 s", `{"kind":"delay","delay":"5s"}`},
	{"Drop a webhook", `{"operation":"Webhook","kind":"drop"}`},
	{"Sign a webhook wrongly", `{"operation":"Webhook","kind":"bad-signature"}`},
}

var advances = []preset{
	{"+10 s", `{"advance":"10s"}`}, {"+1 min", `{"advance":"1m"}`}, {"+5 min", `{"advance":"5m"}`},
	{"+1 h", `{"advance":"1h"}`}, {"+1 day", `{"advance":"24h"}`},
}

func newView(srv *hotelstaystest.Server) *view {
	v := &view{
		Control: control, Static: control + "page/static/", Presets: faultPresets, Advances: advances,
		Operations: hotelstaystest.Operations(), FaultKinds: hotelstaystest.FaultKinds(),
		Kinds: "request order webhook reset clock faults", Now: srv.Now().UTC(),
	}
	ledger := srv.Ledger()
	v.Events = fmt.Sprintf("%sevents?after=%d", control, ledger.LastSeq())
	if ahead := time.Until(v.Now).Round(time.Second); ahead > 0 {
		v.Ahead = strings.TrimPrefix(since(ahead), "+")
	}
	requests := ledger.Requests("")
	v.Bookings, v.MoreBookings = bookings(srv, requests)
	v.Requests, v.Journal = ledger.Count(""), newJournal(requests)
	for _, f := range srv.Faults() {
		v.Faults = append(v.Faults, describe(f))
	}
	return v
}

// describe says which requests a fault waits for.
func describe(f hotelstaystest.Fault) string {
	text := string(f.Kind)
	text += " on " + cmp.Or(string(f.Operation), "any operation")
	if f.Reference != "" {
		text += " of " + f.Reference
	}
	if f.Status != 0 {
		text += fmt.Sprintf(", HTTP %d", f.Status)
	}
	if f.Delay != 0 {
		text += ", " + f.Delay.String()
	}
	if f.Commit {
		text += ", after it is executed"
	}
	if f.Skip > 0 {
		text += fmt.Sprintf(", after %d more requests", f.Skip)
	}
	switch f.Times {
	case -1:
		return text + ", always"
	case 1:
		return text + ", once"
	}
	return text + fmt.Sprintf(", %d times", f.Times)
}
