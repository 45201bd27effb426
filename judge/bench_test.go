//go:build unix

package judge_test

import (
	"bytes"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/judge"
)

func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkPage decodes a page of 200 hotels with the client, and judges the page. It prints the CPU time of judging divided by
// the CPU time of decoding.
func BenchmarkPage(b *testing.B) {
	srv, _ := testkit.NewSandbox(b, hotelstaystest.Config{Catalog: hotelstaystest.Catalog{HotelsPerCity: 200}})
	var ex judge.Exchange
	client := testkit.NewClient(b, srv, testkit.TicketOf(srv), hotelstays.WithHTTPClient(&http.Client{
		Transport: testkit.Transport(func(req *http.Request) (*http.Response, error) {
			sent, _ := io.ReadAll(req.Body)
			req.Body = io.NopCloser(bytes.NewReader(sent))
			resp, err := srv.Client().Transport.RoundTrip(req)
			if err == nil {
				body, _ := io.ReadAll(resp.Body)
				resp.Body = io.NopCloser(bytes.NewReader(body))
				ex = judge.Exchange{Time: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), URL: req.URL.Path, Request: req.Header,
					RequestBody: sent, Status: 200, Header: resp.Header, Body: body}
			}
			return resp, err
		})}))
	req := &hotelstays.HotelListRequest{DestinationID: srv.CityID(0), CheckIn: testkit.CheckIn, CheckOut: testkit.CheckOut,
		RoomOccupancies: testkit.TwoAdults(), PageSize: 200}
	_, err := client.HotelList(b.Context(), req)
	require.NoError(b, err)
	through := testkit.ClientThrough(b, testkit.Transport(func(*http.Request) (*http.Response, error) {
		return testkit.ReplyOf(200, bytes.NewReader(ex.Body)), nil
	}))
	j := judge.New(nil)
	var decoded, judged time.Duration
	b.SetBytes(int64(len(ex.Body)))
	b.ReportAllocs()
	for b.Loop() {
		begun := cpuTime()
		list, err := through.HotelList(b.Context(), req)
		decoded += cpuTime() - begun
		require.NoError(b, err)
		require.Len(b, list.List, 200)
		begun = cpuTime()
		was := j.Look(ex)
		judged += cpuTime() - begun
		require.Empty(b, was.Findings)
	}
	b.ReportMetric(float64(judged)/float64(decoded), "judged/decoded")
	b.ReportMetric(float64(judged)/float64(b.N)/1e6, "judge-ms")
}
