//go:build postgres

package hotelstaysriver

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/keyring"
)

// olderJobs are jobs of an earlier version: their kind, state, metadata and arguments. ago(5m) stands for a time
// five minutes ago, and ago(-2s) for a time two seconds from now.
var olderJobs = []struct{ reference, kind, state, metadata, args string }{
	{"waiting", "booking", "scheduled", `{}`, `{"account":"ACCOUNT","reference":"waiting","request":"REQUEST",
		"recovery":{"polls":0,"sessionId":"SESSION","fingerprint":"ACCOUNT","customerReferenceNo":"waiting"}}`},
	{"sending", "booking", "available", `{}`, `{"account":"ACCOUNT","reference":"sending","bookBy":"ago(-2s)",
		"recovery":{"polls":0,"sessionId":"SESSION","fingerprint":"ACCOUNT","customerReferenceNo":"sending"}}`},
	{"polling", "booking", "scheduled", `{"snoozes":3}`, `{"account":"ACCOUNT","reference":"polling","bookBy":"ago(2m)","unverified":1,
		"recovery":{"polls":1,"endedAt":"ago(2m)","nextPoll":"ago(90s)","sessionId":"SESSION","fingerprint":"ACCOUNT",
		"customerReferenceNo":"polling"}}`},
	{"lost", "booking", "available", `{"snoozes":4}`, `{"account":"ACCOUNT","reference":"lost","bookBy":"ago(11m)",
		"recovery":{"polls":4,"endedAt":"ago(11m)","nextPoll":"ago(1m)","sessionId":"SESSION","fingerprint":"ACCOUNT",
		"customerReferenceNo":"lost"}}`},
	{"absent", "booking", "completed", `{"snoozes":4,"hotelstays_ending":"absent"}`, `{"account":"ACCOUNT","reference":"absent",
		"bookBy":"ago(20m)","recovery":{"polls":5,"endedAt":"ago(20m)","nextPoll":"ago(9m)","sessionId":"SESSION","fingerprint":"ACCOUNT",
		"customerReferenceNo":"absent"}}`},
	{"given up", "booking", "cancelled", `{"hotelstays_ending":"abandoned"}`, `{"account":"ACCOUNT","reference":"given up",
		"recovery":{"polls":0,"sessionId":"SESSION","fingerprint":"ACCOUNT","customerReferenceNo":"given up"}}`},
	{"found", "booking", "completed", `{"hotelstays_ending":"found"}`, `{"account":"ACCOUNT","reference":"found","bookBy":"ago(20m)",
		"recovery":{"polls":0,"sessionId":"SESSION","fingerprint":"ACCOUNT","customerReferenceNo":"found"}}`},
	{"followed", "order", "scheduled", `{"snoozes":5}`, `{"seen":"SEEN","since":"ago(1h)","account":"ACCOUNT","reference":"followed",
		"fingerprint":"ACCOUNT","customerReferenceNo":"followed"}`},
	{"unchanged", "order", "scheduled", `{"snoozes":5}`, `{"seen":"SEEN","since":"ago(1h)","account":"ACCOUNT","reference":"unchanged",
		"fingerprint":"ACCOUNT","customerReferenceNo":"unchanged"}`},
	{"cancel waiting", "booking", "completed", `{"hotelstays_ending":"found"}`, `{"account":"ACCOUNT","reference":"cancel waiting",
		"bookBy":"ago(20m)","recovery":{"polls":0,"sessionId":"SESSION","fingerprint":"ACCOUNT","customerReferenceNo":"cancel waiting"}}`},
	{"cancel waiting", "cancel", "available", `{}`, `{"begun":"ago(1m)","account":"ACCOUNT","reference":"cancel waiting",
		"sessionId":"SESSION","fingerprint":"ACCOUNT","customerReferenceNo":"cancel waiting"}`},
	{"cancel sending", "cancel", "available", `{}`, `{"cost":{"amount":1.00,"currency":"USD"},"begun":"ago(1m)","sendBy":"ago(-2s)","status":1,
		"account":"ACCOUNT","reference":"cancel sending","checkOut":"2099-01-26","sessionId":"SESSION","fingerprint":"ACCOUNT",
		"customerReferenceNo":"cancel sending","supplierReferenceNo":"SUP"}`},
	{"cancel polling", "cancel", "available", `{}`, `{"begun":"ago(12m)","sendBy":"ago(11m)","status":1,
		"account":"ACCOUNT","reference":"cancel polling","checkOut":"2099-01-26","sessionId":"SESSION","fingerprint":"ACCOUNT",
		"customerReferenceNo":"cancel polling","supplierReferenceNo":"SUP"}`},
	{"cancelled", "cancel", "completed", `{"hotelstays_ending":"cancelled"}`, `{"begun":"ago(12m)",
		"ending":"cancelled",
		"sendBy":"ago(11m)","status":1,"account":"ACCOUNT","reference":"cancelled","sessionId":"SESSION","fingerprint":"ACCOUNT",
		"customerReferenceNo":"cancelled"}`},
}

// storeOlder stores a job in the form of an older version, with River's unique_key.
func (w *world) storeOlder(kind, state, metadata, text string) {
	w.Helper()
	w.exec(`INSERT INTO river_job (kind, state, metadata, args, scheduled_at, finalized_at, max_attempts, queue,
			priority, unique_key, unique_states)
		SELECT kind, state::river_job_state, metadata, args, now(), CASE WHEN state IN ('completed', 'cancelled') THEN now() END, 32767,
			'hotelstays_bookings', 2, sha256(convert_to('&kind=' || kind || '&args={"account":"' || (args ->> 'account') ||
			'","reference":"' || (args ->> 'reference') || '"}', 'UTF8')), B'11110001'
		FROM (VALUES ($1, $2, $3::jsonb, $4::jsonb)) AS older (kind, state, metadata, args)`, "hotelstays_"+kind, state, metadata, text)
}

func TestWorkersContinueJobsOfAnOlderVersion(t *testing.T) {
	w := newWorld(t, func(cfg *Options) { cfg.OnOrder = caller(cfg.Pool).StoreOrder })
	keys, err := keyring.New(w.cfg.Keys)
	require.NoError(t, err)
	w.Begin("waiting")
	request := w.job("waiting").Args.Request
	w.exec(`DELETE FROM river_job`)
	stored, withoutOrder := map[string]bool{"waiting": true}, []string{"lost", "absent"}
	for _, job := range olderJobs {
		if !stored[job.reference] {
			stored[job.reference] = true
			w.AddRow(job.reference)
			if !slices.Contains(withoutOrder, job.reference) {
				w.BookElsewhere(job.reference)
			}
		}
		var seen []byte
		if job.kind == "order" {
			order, err := w.Clients[0].FindOrder(t.Context(), job.reference)
			require.NoError(t, err)
			text, err := json.Marshal(order)
			require.NoError(t, err)
			seen, err = keys.Seal("followed order "+w.cfg.Client.Account()+" "+job.reference, text)
			require.NoError(t, err)
		}
		text := strings.NewReplacer("ACCOUNT", w.cfg.Client.Account(), "SESSION", w.Accounts[0].Session, "REQUEST", base64.StdEncoding.EncodeToString(request),
			"SEEN", base64.StdEncoding.EncodeToString(seen)).Replace(job.args)
		w.storeOlder(job.kind, job.state, job.metadata, regexp.MustCompile(`ago\(([^)]*)\)`).ReplaceAllStringFunc(text, func(ago string) string {
			d, err := time.ParseDuration(strings.Trim(ago, "ago()"))
			require.NoError(t, err)
			return time.Now().Add(-d).UTC().Format(time.RFC3339Nano)
		}))
	}
	_, err = w.Clients[0].Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: w.Accounts[0].Session,
		CustomerReferenceNo: "cancel sending", SupplierReferenceNo: w.supplierNo("cancel sending"), Reason: "illness"})
	require.NoError(t, err)
	w.ConfirmOrder("followed")

	require.ErrorIs(t, w.BeginAlone(w.Request("polling")), durable.ErrAlreadyBegun)
	require.ErrorIs(t, w.BeginAlone(w.Request("found")), durable.ErrAlreadyBooked)
	require.ErrorIs(t, w.CancelAlone("cancelled", func(r *durable.CancelOrder) { r.PlatformReferenceNo = "1" }), durable.ErrAlreadyCancelled)
	require.ErrorIs(t, w.CancelAlone("absent", nil), durable.ErrNothingToCancel)
	require.NoError(t, w.CancelAlone("found", nil))
	require.NoError(t, w.BeginAlone(w.Request("absent")))
	w.MustSend("absent")
	require.NoError(t, w.Engine.Retry(t.Context(), "given up"))

	w.World.Work()
	for reference, ending := range map[string]durable.Ending{"waiting": durable.EndingFound, "sending": durable.EndingFound,
		"polling": durable.EndingFound, "lost": durable.EndingAbsent, "absent": durable.EndingFound, "given up": durable.EndingFound} {
		w.HasState(reference, ending, 0)
		assert.Equal(t, 1, w.Row(reference).Ended, reference)
	}
	for reference, ending := range map[string]durable.CancelEnding{"found": durable.CancelDone, "cancel waiting": durable.CancelDone,
		"cancel sending": durable.CancelDone, "cancel polling": durable.CancelStanding} {
		w.CancelEnds(reference, ending, 1, 0)
	}
	changes := func(reference string) (n int) {
		require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT changes FROM bookings WHERE reference = $1`, reference).Scan(&n))
		return n
	}
	w.Eventually("the change of the order is delivered", func() bool { return changes("followed") == 1 })
	assert.Zero(t, changes("unchanged"))
	assert.Equal(t, 3, w.Ledger().Count(hotelstays.OpCancel), "the jobs found and cancel waiting, and the Cancel of the test")
}

// supplierNo returns the SupplierReferenceNo of an order, which Cancel needs.
func (w *world) supplierNo(reference string) string {
	w.Helper()
	order, err := w.Clients[0].FindOrder(w.Context(), reference)
	require.NoError(w, err)
	return order.SupplierReferenceNo
}

// While a worker polls, a process of an older version stores the end of its Book. The poll began before the end of
// Book, so the poll proves nothing.
func TestPollEndsNoBookingThatAnOlderVersionHasChanged(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookLost)
	w.Fleet.Pass(11 * time.Minute)
	polled := fetch(w, durable.KindBooking, "ref-1")
	w.exec(`UPDATE river_job SET args = args || jsonb_build_object('recovery', $1::jsonb)`, w.ended("ref-1", 0))
	require.ErrorAs(t, w.run(t.Context(), polled), new(*river.JobSnoozeError))
	assert.Equal(t, "pending", w.Row("ref-1").State)
}

// A process of an older version puts all jobs into the queue of bookings. A process without OnCancel and OnOrder works
// on this queue. It must leave the jobs of cancellations and followed orders to other processes.
func TestProcessWithoutOnCancelAndOnOrderLeavesTheirJobsToOtherProcesses(t *testing.T) {
	w := newWorld(t, func(cfg *Options) { cfg.OnOrder = caller(cfg.Pool).StoreOrder })
	w.Booked("ref-1")
	w.ConfirmOrder("ref-1")
	require.NoError(t, w.CancelAlone("ref-1", nil))
	w.exec(`UPDATE river_job SET queue = $1, state = 'available', scheduled_at = now() WHERE finalized_at IS NULL`, defaultQueue)
	startWorkers(t, w.another(func(cfg *Options) { cfg.OnCancel, cfg.OnOrder = nil, nil }).Bookings, nil)
	w.Eventually("both jobs sleep", func() (asleep bool) {
		require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT count(*) = 2 FROM river_job
			WHERE finalized_at IS NULL AND scheduled_at > now() AND attempt = 0 AND errors IS NULL`).Scan(&asleep))
		return asleep
	})
	assert.Zero(t, w.Ledger().Count(hotelstays.OpCancel))
}

func TestWorkersKeepTheFieldsThatANewerVersionHasStored(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookMade)
	w.exec(`UPDATE river_job SET args = args || '{"sentTwice":true}' ||
		jsonb_build_object('recovery', args -> 'recovery' || '{"currency":"USD"}')`)
	newer := func() (fields []bool) {
		const query = `SELECT ARRAY[args ? 'sentTwice', args -> 'recovery' ? 'currency'] FROM river_job`
		require.NoError(t, w.pool.QueryRow(t.Context(), query).Scan(&fields))
		return fields
	}
	w.Inject(bookingstest.NoPoll)
	stop := w.World.Work()
	w.PassUntil("a worker has stored a poll", time.Minute, func() bool { return w.job("ref-1").Args.Unverified > 0 })
	stop()
	assert.Equal(t, []bool{true, true}, newer())
	w.ClearFaults()
	w.World.Work()
	w.HasState("ref-1", durable.EndingFound, time.Minute)
	assert.Equal(t, []bool{true, true}, newer())
}

// A person may retry a booking's completed job in River UI. The booking is then open again.
func TestRetryInRiversPageReopensABooking(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookLost)
	stop := w.World.Work()
	w.HasState("ref-1", durable.EndingAbsent, time.Minute)
	stop()
	w.BookElsewhere("ref-1") // the order appears late
	w.exec(`UPDATE river_job SET state = 'available', scheduled_at = now(), finalized_at = NULL`)
	w.World.Work()
	w.HasState("ref-1", durable.EndingFound, 0)
	assert.Equal(t, 2, w.Row("ref-1").Ended)
}
