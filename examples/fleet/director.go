// The director starts the workers, kills them, crashes the engines, and waits until all
// bookings have ended.

package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const (
	// Callers of all workers together: more than the rate limits allow, few enough to be
	// served within bookTimeout.
	fleetBookers   = 12
	fleetSearchers = 8
)

type director struct {
	options
	out      io.Writer
	began    time.Time
	engines  *engines
	db       *database
	sandbox  *hotelstaystest.Server
	balancer *balancer

	plan        plan
	processes   []*process
	started     int // processes so far
	outages     []outage
	searchUntil time.Time
}

// outage is a time at which a worker was dead, or, without a name, an engine.
type outage struct {
	worker   string
	from, to time.Time
}

func (d *director) direct(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	balancer, callback, stop, err := startBalancer(d.workers)
	if err != nil {
		return err
	}
	defer stop()
	d.balancer = balancer
	d.plan = plan{
		URL: d.sandbox.URL, City: d.sandbox.CityName(0), AppKey: d.sandbox.AppKey, AppSecret: d.sandbox.AppSecret,
		TokenKey: rand.Text() + rand.Text()[:6], WebhookSecret: d.sandbox.WebhookSecret, Callback: callback,
		RedisAddr: d.engines.redisAddr, Prefix: d.db.schema, PostgresURL: d.engines.postgresURL, Schema: d.db.schema,
		Workers: d.workers, Margin: d.margin, Bookers: max(1, fleetBookers/d.workers), Searchers: max(1, fleetSearchers/d.workers),
	}
	hurried := make(chan struct{})
	go func() { defer close(hurried); d.db.hurry(ctx) }()
	defer func() { cancel(); <-hurried }()

	defer d.endWorkers()
	if err := d.startWorkers(); err != nil {
		return err
	}
	if err := d.disturb(ctx); err != nil {
		return err
	}
	pause(ctx, time.Until(d.searchUntil))
	return d.settle(ctx)
}

func (d *director) say(format string, args ...any) {
	fmt.Fprintf(d.out, "%5.1f s  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// disturbance happens after some bookings have ended.
type disturbance struct {
	after int
	do    func(context.Context) error
}

// disturbances spreads the kills and crashes over the run.
func (d *director) disturbances() (all []disturbance) {
	add := func(times int, do func(context.Context) error) {
		for i := range times {
			share := (float64(i) + mathrand.Float64()) / float64(times)
			all = append(all, disturbance{int((0.05 + 0.7*share) * float64(d.bookings)), do})
		}
	}
	add(d.kills, d.kill)
	if d.engines.redisArgs != nil {
		add(d.restarts, d.engineCrash("Redis", d.engines.crashRedis))
	}
	if d.engines.pgControl != nil {
		add(d.restarts, d.engineCrash("PostgreSQL", d.engines.crashPostgres))
	}
	slices.SortFunc(all, func(a, b disturbance) int { return cmp.Compare(a.after, b.after) })
	return all
}

// disturb makes the disturbances, and waits until all bookings have ended.
func (d *director) disturb(ctx context.Context) error {
	coming := d.disturbances()
	patience := time.Now().Add(2*time.Minute + time.Duration(d.bookings)*time.Second/2)
	for {
		ended, err := d.db.ended(ctx)
		if err != nil {
			return err
		}
		if err := d.alive(); err != nil {
			return err
		}
		switch {
		case len(coming) > 0 && ended >= coming[0].after:
			if err := coming[0].do(ctx); err != nil {
				return err
			}
			coming = coming[1:]
			continue
		case ended == d.bookings:
			d.say("all bookings have ended; the last webhooks are under way")
			return nil
		case time.Now().After(patience):
			d.say("gave up waiting for %d bookings", d.bookings-ended)
			return nil
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// settle waits until every event is delivered or given up.
func (d *director) settle(ctx context.Context) error {
	return until(ctx, "the last webhooks are delivered", 2*time.Minute, func(context.Context) bool {
		events := d.sandbox.Ledger().Webhooks()
		return len(events) == eventsOfOrder*len(d.sandbox.Ledger().Orders()) && !slices.ContainsFunc(events, underWay)
	})
}

// underWay reports whether an event may still be delivered.
func underWay(e hotelstaystest.Webhook) bool {
	return e.State == hotelstaystest.WebhookPending ||
		slices.ContainsFunc(e.Attempts, func(a hotelstaystest.WebhookAttempt) bool { return a.Done.IsZero() })
}

// kill kills a worker and starts it again.
func (d *director) kill(ctx context.Context) error {
	i := mathrand.IntN(d.workers)
	o := outage{worker: workerName(i), from: time.Now()}
	d.processes[i].kill()
	d.balancer.set(i, "")
	o.to = time.Now()
	d.outages = append(d.outages, o)
	d.say("%s was killed", o.worker)
	if err := d.launch(i); err != nil {
		return err
	}
	if err := d.await(i); err != nil {
		return err
	}
	return d.begin(i)
}

// engineCrash returns a disturbance that crashes an engine.
func (d *director) engineCrash(name string, crash func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		o := outage{from: time.Now()}
		if err := crash(ctx); err != nil {
			return err
		}
		o.to = time.Now()
		d.outages = append(d.outages, o)
		d.say("%s crashed, and was down for %s", name, o.to.Sub(o.from).Round(10*time.Millisecond))
		return nil
	}
}

func workerName(i int) string { return fmt.Sprintf("worker-%d", i+1) }

// process is a worker.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser // closing it ends the process
	out   *bufio.Reader
	ended chan struct{}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// startWorkers starts all workers at once.
func (d *director) startWorkers() error {
	d.processes = make([]*process, d.workers)
	for i := range d.workers {
		if err := d.launch(i); err != nil {
			return err
		}
	}
	for i := range d.workers {
		if err := d.await(i); err != nil {
			return err
		}
	}
	d.searchUntil = time.Now().Add(d.load)
	for i := range d.workers {
		if err := d.begin(i); err != nil {
			return err
		}
	}
	d.say("%d workers book", d.workers)
	return nil
}

func (d *director) launch(i int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	plan := d.plan
	plan.Name = workerName(i)
	p := &process{cmd: exec.Command(self, "worker"), ended: make(chan struct{})}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe() // ends with the process
	if err != nil {
		return err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	d.processes[i] = p
	d.started++
	return json.NewEncoder(in).Encode(plan)
}

func (d *director) begin(i int) error {
	return json.NewEncoder(d.processes[i].in).Encode(begin{d.searchUntil})
}

// await waits until a worker is ready.
func (d *director) await(i int) error {
	line, err := d.processes[i].out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s did not start", workerName(i))
	}
	d.balancer.set(i, strings.TrimSpace(line)+"/hotel-events")
	return nil
}

// alive returns an error if a worker has ended that was not killed.
func (d *director) alive() error {
	for i, p := range d.processes {
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended by itself", workerName(i))
		default:
		}
	}
	return nil
}

// endWorkers ends the workers, and kills those that hang.
func (d *director) endWorkers() {
	running := slices.DeleteFunc(d.processes, func(p *process) bool { return p == nil })
	for _, p := range running {
		p.in.Close()
	}
	patience := time.After(15 * time.Second)
	for _, p := range running {
		select {
		case <-p.ended:
		case <-patience:
			p.kill()
		}
	}
}
