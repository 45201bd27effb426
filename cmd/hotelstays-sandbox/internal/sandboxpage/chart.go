// The chart of the rate limits.

package sandboxpage

import (
	"fmt"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const (
	chartSeconds = 60
	barWidth     = 5
	chartHeight  = 40
)

// chart is the requests of an operation in each second of the last minute.
type chart struct {
	Operation      hotelstaystest.Operation
	Caption, Label string
	Width, Height  int
	Bars           []bar
	LimitY         float64 // 0: no line
}

type bar struct {
	Class string
	X     int
	Y, H  float64
	W     int
}

// second is what arrived in one.
type second struct{ allowed, refused int }

func charts(config hotelstaystest.Config, requests []hotelstaystest.Request, now time.Time) []chart {
	seconds := map[hotelstaystest.Operation]*[chartSeconds]second{}
	for i := len(requests) - 1; i >= 0; i-- {
		r := &requests[i]
		age := int(now.Sub(r.Arrived) / time.Second)
		if age >= chartSeconds {
			break
		}
		if r.Operation == "" || age < 0 {
			continue
		}
		if seconds[r.Operation] == nil {
			seconds[r.Operation] = new([chartSeconds]second)
		}
		s := &seconds[r.Operation][chartSeconds-1-age]
		if r.RateLimited {
			s.refused++
		} else {
			s.allowed++
		}
	}
	limits := config.RateLimits
	if config.NoRateLimits {
		limits = nil
	}
	var out []chart
	for _, op := range hotelstaystest.Operations() {
		if s := seconds[op]; s != nil {
			out = append(out, newChart(op, s[:], limits[op]))
		}
	}
	return out
}

func newChart(op hotelstaystest.Operation, seconds []second, limit int) chart {
	most, refused, total := 1, 0, 0
	for _, s := range seconds {
		most = max(most, s.allowed+s.refused)
		total += s.allowed + s.refused
		refused += s.refused
	}
	c := chart{Operation: op, Width: chartSeconds * barWidth, Height: chartHeight, Caption: "no limit"}
	if limit > 0 {
		c.Caption = fmt.Sprintf("%d a second", limit)
	}
	top := float64(max(most, min(limit, 2*most))) * 1.1 // a far limit would make the bars invisible
	height := func(n int) float64 { return chartHeight * float64(n) / top }
	if limit > 0 && float64(limit) < top {
		c.LimitY = chartHeight - height(limit)
	}
	for i, s := range seconds {
		y := float64(chartHeight)
		for _, part := range []struct {
			class string
			n     int
		}{{"good", s.allowed}, {"bad", s.refused}} {
			if part.n > 0 {
				y -= height(part.n)
				c.Bars = append(c.Bars, bar{part.class, i * barWidth, y, height(part.n), barWidth - 1})
			}
		}
	}
	c.Label = fmt.Sprintf("%s in the last minute: %d requests, at most %d in one second, %d refused", op, total, most, refused)
	return c
}
