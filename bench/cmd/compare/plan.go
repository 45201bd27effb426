// What is measured, and for how long.

package main

import (
	"fmt"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
)

// workload is an operation and its answer.
type workload struct {
	name string
	op   hotelstays.Operation
	gzip bool
}

var (
	hotelList     = workload{"HotelList, a page of 200 hotels (5 MB)", hotelstays.OpHotelList, false}
	hotelListGzip = workload{"HotelList, the same page, gzip", hotelstays.OpHotelList, true}
	hotelRates    = workload{"HotelRates, 40 rooms of 8 rates (0.4 MB)", hotelstays.OpHotelRates, false}
	checkAvail    = workload{"CheckAvail", hotelstays.OpCheckAvail, false}
	book          = workload{"Book", hotelstays.OpBook, false}
)

type transport struct {
	name string
	base func(origin.Addresses) string
}

var (
	http1    = transport{"HTTP/1.1", func(a origin.Addresses) string { return a.HTTP1 }}
	tlsHTTP1 = transport{"TLS, HTTP/1.1", func(a origin.Addresses) string { return a.TLSHTTP1 }}
	tlsHTTP2 = transport{"TLS, HTTP/2", func(a origin.Addresses) string { return a.TLSHTTP2 }}

	transports = []transport{http1, tlsHTTP1, tlsHTTP2}
)

// cell is one row of the tables.
type cell struct {
	workload
	transport
	load   measure.Load
	rounds int
}

func (c cell) String() string {
	return fmt.Sprintf("%s over %s, callers: %d", c.workload.name, c.transport.name, c.load.Callers)
}

func (c cell) baseURL(a origin.Addresses) string {
	if c.gzip {
		return c.base(a) + origin.GzipPrefix
	}
	return c.base(a)
}

type plan struct {
	cells     []cell
	rounds    int           // of everything else
	benchtime time.Duration // of a benchmark in one round
}

// add adds a cell for each transport and number of callers.
func (p *plan) add(w workload, over []transport, callers []int, slice time.Duration, rounds int) {
	for _, t := range over {
		for _, n := range callers {
			p.cells = append(p.cells, cell{w, t, measure.Load{Callers: n, AtLeast: slice, Warm: true}, rounds})
		}
	}
}

var allCallers = []int{1, 8, 64}

// defaultPlan is everything but pages for 64 callers, which take seconds a round and have one
// cell.
func defaultPlan() plan {
	p := plan{rounds: 5, benchtime: 100 * time.Millisecond}
	for _, w := range []workload{hotelList, hotelListGzip} {
		p.add(w, transports, []int{1}, 250*time.Millisecond, 5)
		p.add(w, transports, []int{8}, 0, 3)
	}
	p.add(hotelListGzip, []transport{tlsHTTP2}, []int{64}, 0, 2)
	p.add(hotelRates, transports, allCallers, 75*time.Millisecond, 5)
	p.add(checkAvail, transports, allCallers, 75*time.Millisecond, 7)
	p.add(book, transports, allCallers, 75*time.Millisecond, 7)
	return p
}

func fullPlan() plan {
	p := plan{rounds: 11, benchtime: 300 * time.Millisecond}
	for _, w := range []workload{hotelList, hotelListGzip, hotelRates, checkAvail, book} {
		p.add(w, transports, allCallers, 300*time.Millisecond, 9)
	}
	return p
}

// quickPlan has only the cells of the targets.
func quickPlan() plan {
	p := plan{rounds: 3, benchtime: 30 * time.Millisecond}
	p.add(hotelList, []transport{http1, tlsHTTP2}, []int{1}, 50*time.Millisecond, 3)
	p.add(hotelListGzip, []transport{tlsHTTP2}, []int{1}, 50*time.Millisecond, 3)
	p.add(hotelRates, []transport{tlsHTTP2}, []int{8}, 50*time.Millisecond, 3)
	p.add(checkAvail, []transport{http1, tlsHTTP2}, []int{1, 8}, 50*time.Millisecond, 3)
	p.add(book, []transport{tlsHTTP2}, []int{1}, 50*time.Millisecond, 3)
	return p
}
