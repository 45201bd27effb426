// Three charts of the results, as SVG. The charts are narrow, so that their texts are readable on a phone.

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

type chart struct {
	File, Title, Note string
	Groups            []group
}

type group struct {
	Name string
	Bars []bar
}

type bar struct {
	Name, Text string
	Value      float64
	Ours       bool
}

func drawAll(folder string, r results) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, c := range []chart{cpuChart(r), waitChart(r), memoryChart(r)} {
		var svg strings.Builder
		if err := drawing.Execute(&svg, c.placed()); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, c.File), []byte(svg.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func cpuChart(r results) chart {
	c := chart{File: "cpu.svg", Title: "CPU of a page of 200 hotels", Note: "as a multiple of this client's; TLS and HTTP/2"}
	for _, one := range r.pages {
		if !strings.HasPrefix(one.name, origin.TLSHTTP2) {
			continue
		}
		g := group{Name: strings.TrimPrefix(strings.TrimPrefix(one.name, origin.TLSHTTP2), ", ")}
		if g.Name == "" {
			g.Name = "plain"
		}
		for _, kind := range peers.All() {
			ratio := one.ratio(cpu, kind.Name, peers.Ours).Median
			g.Bars = append(g.Bars, bar{kind.Name, fmt.Sprintf("%.2f", ratio), ratio, kind.Name == peers.Ours})
		}
		c.Groups = append(c.Groups, g)
	}
	return c
}

func waitChart(r results) chart {
	c := chart{File: "wait.svg", Title: "What a traveller waits for", Note: fmt.Sprintf("%s, gzip; this client", origin.Far)}
	for _, before := range connections {
		g := group{Name: string(before)}
		add := func(name string, rows []row, cellName, client string, of figure, ours bool) {
			for _, one := range rows {
				if one.name == fmt.Sprintf("%s%s, %s, %s", cellName, gzipped, before, origin.Far) {
					wait := one.median(of, client)
					g.Bars = append(g.Bars, bar{name, duration(wait), wait, ours})
				}
			}
		}
		add("first hotel of a stream", r.streams, "200 hotels", peers.OurStream, first, true)
		add("page of 20 hotels", r.lines, "20 hotels", peers.Ours, wall, false)
		add("page of 200 hotels", r.lines, "200 hotels", peers.Ours, wall, false)
		c.Groups = append(c.Groups, g)
	}
	return c
}

func memoryChart(r results) chart {
	c := chart{File: "memory.svg", Title: "Peak heap", Note: "of all callers together"}
	for _, one := range r.streams {
		if one.name == "64 callers" {
			g := group{Name: "64 pages of 200 hotels"}
			for _, kind := range peers.Streams() {
				most := one.median(peak, kind.Name)
				g.Bars = append(g.Bars, bar{kind.Name, size(most), most, kind.Name == peers.OurStream})
			}
			c.Groups = append(c.Groups, g)
		}
	}
	g := group{Name: "32 streams with slow loops"}
	for _, one := range r.slow {
		most := one.median(peak, peers.SlowLoop.Name)
		g.Bars = append(g.Bars, bar{one.name, size(most), most, true})
	}
	c.Groups = append(c.Groups, g)
	return c
}

// placed is a chart with the y position of each line and the width of each bar.
type placed struct {
	chart
	Height int
	Lines  []line
}

// line is one line of a chart: the name of a group, or a bar.
type line struct {
	bar
	Group    string
	Y, Width int
}

func (c chart) placed() placed {
	p, most := placed{chart: c, Height: 72}, 0.0
	for _, g := range c.Groups {
		for _, b := range g.Bars {
			most = max(most, b.Value)
		}
	}
	for _, g := range c.Groups {
		p.Lines = append(p.Lines, line{Group: g.Name, Y: p.Height + 10})
		p.Height += 22
		for _, b := range g.Bars {
			p.Lines = append(p.Lines, line{bar: b, Y: p.Height, Width: max(2, int(170*b.Value/most))})
			p.Height += 24
		}
		p.Height += 12
	}
	return p
}

var drawing = template.Must(template.New("chart").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 {{.Height}}" width="420" height="{{.Height}}" role="img" aria-labelledby="title">
<title id="title">{{.Title}}, {{.Note}}</title>
<style>
.page{fill:#fff}.ours{fill:#1a7f37}.other{fill:#8c959f}text{fill:#1f2328;font:14px system-ui,"Segoe UI",Helvetica,Arial,sans-serif}
.title{font-size:16px;font-weight:600}.group{font-weight:600}.note{fill:#59636e}
@media (prefers-color-scheme:dark){.page{fill:#0d1117}.ours{fill:#3fb950}.other{fill:#6e7681}text{fill:#e6edf3}.note{fill:#9198a1}}
</style>
<rect class="page" width="420" height="{{.Height}}" rx="8"/>
<text class="title" x="20" y="30">{{.Title}}</text><text class="note" x="20" y="50">{{.Note}}</text>
{{range .Lines}}{{if .Group}}<text class="group" x="20" y="{{.Y}}">{{.Group}}</text>
{{else}}<text x="173" y="{{.Y}}" dy="14" text-anchor="end">{{.Name}}</text><rect class="{{if .Ours}}ours{{else}}other{{end}}" x="180" y="{{.Y}}" width="{{.Width}}" height="18" rx="2"/><text x="{{.Width}}" y="{{.Y}}" dx="188" dy="14">{{.Text}}</text>
{{end}}{{end}}</svg>
`))
