// HotelListStream: the same results as HotelList, and the rules that only a stream has.

package hotelstays_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/oracle"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// inPieces is a transport that answers with body. Each read returns at most size bytes; with size 0 there is no limit.
type inPieces struct {
	body string
	size int
}

func (a inPieces) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := reply(200, a.body, "Request-Id", "request", "Trace-Id", "trace")
	resp.Request = r
	if a.size > 0 {
		resp.Body = io.NopCloser(&pieces{strings.NewReader(a.body), a.size})
	}
	return resp, nil
}

type pieces struct {
	io.Reader
	size int
}

func (p *pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.size)]) }

func anySearch() *hotelstays.HotelListRequest {
	return &hotelstays.HotelListRequest{DestinationID: "place", CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
}

type streamed struct {
	hotels   []types.Hotel
	resp     *hotelstays.HotelListResponse
	complete bool
	err      error
}

func stream(ctx context.Context, client *hotelstays.Client, req *hotelstays.HotelListRequest, opts ...hotelstays.CallOption) (s streamed) {
	call := client.HotelListStream(ctx, req, opts...)
	for hotel, err := range call.Hotels() {
		if err != nil {
			s.err = errors.Join(s.err, err)
			continue
		}
		s.hotels = append(s.hotels, *hotel)
	}
	s.resp, s.complete = call.Response()
	return s
}

// requireSame requires that HotelListStream and HotelList have the same result for a body.
func requireSame(t *testing.T, body string, size int) {
	t.Helper()
	list, err := clientThrough(t, inPieces{body, 0}).HotelList(t.Context(), anySearch())
	got := stream(t.Context(), clientThrough(t, inPieces{body, size}), anySearch())
	require.Equal(t, err == nil, got.complete, "%s\nlist: %v\nstream: %v", body, err, got.err)
	if err != nil {
		require.Equal(t, comparable(err), comparable(got.err), "%s\nin pieces of %d", body, size)
		return
	}
	require.NoError(t, got.err)
	require.Len(t, got.hotels, len(list.List), body)
	for i := range got.hotels {
		require.Equal(t, list.List[i], got.hotels[i], "%s\nin pieces of %d", body, size)
	}
	list.List = nil
	require.Equal(t, list, got.resp, body)
}

// comparable returns the parts of an error that must be equal in a stream and in HotelList.
func comparable(err error) any {
	var api *hotelstays.APIError
	var decode *hotelstays.DecodeError
	switch {
	case errors.As(err, &api):
		e := *api
		e.Excerpt = ""
		return e
	case errors.As(err, &decode):
		if mismatches, ok := decode.Err.(*wire.MismatchError); ok {
			return *mismatches
		}
		return decode.Err.Error() + decode.Excerpt
	}
	return err
}

func smallPages() []string {
	hotel := func(id string) string {
		return `{"id":"` + id + `","name":{"en":"A \"quoted\" \\ name } ] {","zh":"\u4f4f"},"minPrice":{"currency":"USD","amount":120.50},` +
			`"rating":4.5,"rooms":[{"roomId":"1","rates":[]}]}`
	}
	a, b := hotel("1"), hotel("2")
	basic := `"basic":{"sessionId":"s"}`
	return []string{
		`{"code":0,"msg":"","data":{"list":[` + a + `,` + b + `],` + basic + `,"total":2,"hasMore":true}}`,
		`{"data":{` + basic + `,"list":[` + a + `]},"code":0}`,
		" { \"code\" : 0 , \"data\" :\n{ \"list\" : [ " + a + " ,\t" + b + " ] , " + basic + " } } ",
		`{"code":0,"data":{"list":[],` + basic + `}}`,
		`{"code":0,"data":{"list":[null,` + a + `,{}],` + basic + `}}`,
		`{"code":0,"data":{"l\u0069st":[` + a + `],` + basic + `}}`,
		`{"other":{"data":{"list":[1]}},"more":["data",{"list":[2]}],"code":0,"data":{"x":{"list":[3]},"list":[` + a + `],` + basic + `}}`,
		`{"code":0,"data":{"list":[` + a + `]}}`,
		`{"code":0,"data":{` + basic + `}}`,
		`{"code":0,"data":{"list":null,` + basic + `}}`,
		`{"code":0,"data":null}`,
		`{"code":100000400,"msg":"refused","data":{"list":[` + a + `],` + basic + `}}`,
		`{"data":{"list":[` + a + `,1],` + basic + `},"code":100000400,"msg":"refused"}`,
		`{"data":{"list":[` + a + `],` + basic + `}}`,
		`{"code":0,"data":{"list":[` + a + `,7,` + b + `,{"id":7},"x"],` + basic + `}}`,
		`{"code":0,"data":{"total":"1","basic":{"sessionId":1},"list":[{"id":7},{"id":8},` + a + `,{"id":9}],"l\u0069st2":1,"hasMore":null}}`,
		`{"code":0,"data":{"t\u006ftal":"1","list":[` + a + `,{"id":8},{"id":9}],"basic":{"sessionId":1,"notices":[7,8]}}}`,
		`{"code":0,"data":{"list":[` + a + `,{"id":"1","id":"1"}],` + basic + `}}`,
		`{"code":0,"data":{"list":[` + a + `],"list":[` + b + `],` + basic + `}}`,
		`{"code":0,"data":{"list":[` + a + `],` + basic + `},"data":{"list":[]}}`,
		`{"code":0,"Code":1,"data":{"list":[` + a + `],` + basic + `}}`,
		`{"code":0,"data":{"list":[` + a + ` ` + b + `],` + basic + `}}`,
		`{"code":0,"data":{"list":[` + a + `,],` + basic + `}}`,
		`{"code":0,"data":{"list":[,` + a + `],` + basic + `}}`,
		`{"code":0,"data":{"list":[` + a + `}],` + basic + `}}`,
		`{"code":0,"data":{"list":[{]},` + a + `],` + basic + `}}`,
		`["data",{"list":[` + a + `]}]`,
		`{"code":0,"data":[{"list":[` + a + `]}]}`,
		`{"code":0,"data":{"list":[` + strings.Repeat(`{},`, 200) + `{}],` + basic + `}}`,
		`{"code":0,"data":{"list":[{"x":` + strings.Repeat("[", 9_996) + strings.Repeat("]", 9_996) + `}],` + basic + `}}`,
		`{"code":0,"data":{"list":[{"x":` + strings.Repeat("[", 9_997) + strings.Repeat("]", 9_997) + `}],` + basic + `}}`,
		`<html>`,
		``,
		`{"code":0,"data":{"total":"1","list":[` + strings.Repeat(`{"id":"1","rating":"x"},{"id":7,"rooms":7},7,`, 40) + `{}],` + basic + `}}`,
	}
}

func TestStreamReturnsWhatHotelListReturns(t *testing.T) {
	sizes := []int{0}
	for size := 1; size <= 64; size += howMany(t, "bytes between two sizes of reads", 1, 31, 31) {
		sizes = append(sizes, size)
	}
	for _, page := range smallPages() {
		for _, size := range sizes {
			requireSame(t, page, size)
		}
	}
	// A hotel with 100,000 rooms takes more memory than one hotel may take, but less than a large page may take.
	rooms := `{"rooms":[{}` + strings.Repeat(`,{}`, 100_000) + `]}`
	requireSame(t, `{"code":0,"data":{"list":[{"id":[]},{"id":"1"},`+rooms+
		`,{"id":"`+strings.Repeat("x", 4<<20)+`"}],"basic":{"sessionId":"s"}}}`, 0)
	requireSame(t, `{"code":0,"data":{"list":[{"id":"1"},`+rooms+`],"basic":{"sessionId":"s"}}}`, 0)
}

func TestStreamAndHotelListAgreeOnCutAnswers(t *testing.T) {
	page := smallPages()[0]
	for end := 0; end < len(page); end += howMany(t, "bytes between two ends", 1, 3, 3) {
		requireSame(t, page[:end], 16)
	}
}

// Each page has mismatches in random places. HotelList and the stream read the rest of the page as encoding/json does.
func TestStreamAndHotelListAgreeOnMismatches(t *testing.T) {
	page, err := json.Marshal(filled(reflect.TypeFor[hotelstays.HotelListResponse]()).Interface())
	require.NoError(t, err)
	hotel := string(page[strings.IndexByte(string(page), '[')+1 : strings.Index(string(page), `],"basic"`)])
	whole := `{"code":0,"data":` + strings.Replace(string(page), hotel, hotel+","+hotel+","+hotel, 1) + `}`
	places := members(t, []byte(whole))
	values := []string{`null`, `true`, `7`, `-1.50`, `"x"`, `"7"`, `{}`, `[]`, `[null]`,
		`[1,{},"x"]`, `{"a":[1]}`, `{"id":7}`, `[{"fee":{"amount":"x"}},null]`, `x`, `]`, `"`}
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range howMany(t, "spoiled pages", 30_000, 60, 60) {
		body := whole
		step := func() int { return 1 + random.IntN(2*len(places)/3) }
		last := len(body)
		for at := len(places) - step(); at >= 0; at -= step() { // from the end, because a change moves all later offsets
			if m := places[at]; m.End <= last {
				body = body[:m.Value] + values[random.IntN(len(values))] + body[m.End:]
				last = m.Value
			}
		}
		requireSame(t, body, random.IntN(300))
		target := freshTarget(&hotelstays.HotelListResponse{})
		env, err := wire.Decode(t.Context(), []byte(body), target)
		want := new(hotelstays.HotelListResponse)
		answer := oracle.Read([]byte(body), want, false)
		requireAsOracle(t, []byte(body), true, answer, want, env, target.Into, err)
		if err == nil {
			read++
		}
	}
	t.Logf("%d answers were read", read)
	assert.Positive(t, read)
}

func FuzzStream(f *testing.F) {
	for i, page := range smallPages() {
		f.Add(page, i)
	}
	f.Fuzz(func(t *testing.T, page string, size int) {
		requireSame(t, page, max(0, size)%100)
	})
}

// The stream yields a hotel soon after the last byte of the hotel has arrived. Before that, it reads at most the rest of a
// TLS record and the next 16 KB.
func TestStreamYieldsAHotelBeforeTheRestOfThePageArrives(t *testing.T) {
	text := make([]byte, 20<<10) // random bytes, because gzip can hardly compress them
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for _, encoding := range []string{"identity", "gzip"} {
			inBubble(t, protocol+" "+encoding, func(t *testing.T) {
				var page bytes.Buffer
				write := func(text string) { page.WriteString(text) }
				if encoding == "gzip" {
					write = func(text string) { // compresses each text separately
						z := gzip.NewWriter(&page)
						_, _ = io.WriteString(z, text)
						_ = z.Close()
					}
				}
				var ends []int
				write(`{"code":0,"data":{"basic":{"sessionId":"s"},"list":[{}`)
				for range 8 {
					write(fmt.Sprintf(`,{"id":"%x"}`, text))
					ends = append(ends, page.Len())
				}
				write(`]}}`)
				client, sent := overSlowConnection(t, protocol, func(w http.ResponseWriter, r *http.Request) {
					assert.Equal(t, protocol, r.Proto)
					w.Header().Set("Content-Encoding", encoding)
					_, _ = w.Write(page.Bytes()) // sends the page in one chunk
				})
				hotels := -1 // the first hotel is empty, and not counted
				for _, err := range client.HotelListStream(t.Context(), anySearch()).Hotels() {
					require.NoError(t, err)
					if hotels >= 0 {
						assert.Less(t, int(sent.Load())-ends[hotels], 32<<10)
					}
					hotels++
				}
				assert.Len(t, ends, hotels)
			})
		}
	}
}

// Without WithHTTPClient a stream speaks HTTP/1.1, because HTTP/2 would read ahead of a slow loop.
func TestStreamsOfTheDefaultClientSpeakHTTP1(t *testing.T) {
	offered := make(chan []string, 1)
	srv := httptest.NewUnstartedServer(nil)
	srv.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		offered <- hello.SupportedProtos
		return nil, errors.New("enough is known")
	}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, bearerToken("token"), hotelstays.WithMaxAttempts(1))
	require.NoError(t, err)
	require.Error(t, stream(t.Context(), client, anySearch()).err)
	assert.NotContains(t, <-offered, "h2")
	_, err = client.HotelList(t.Context(), anySearch())
	require.Error(t, err)
	assert.Contains(t, <-offered, "h2")
}

// overSlowConnection returns a client of a server that sends one KiB in each millisecond, and a counter of the sent bytes.
func overSlowConnection(t *testing.T, protocol string, h http.HandlerFunc) (client *hotelstays.Client, sent *atomic.Int64) {
	sent = new(atomic.Int64)
	model := httptest.NewTLSServer(nil)
	model.Close()
	srv := &http.Server{Handler: h, TLSConfig: &tls.Config{Certificates: model.TLS.Certificates}, Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(protocol == "HTTP/1.1")
	srv.Protocols.SetHTTP2(protocol != "HTTP/1.1")
	conns := make(connections)
	go func() { _ = srv.ServeTLS(conns, "", "") }()
	transport := hotelstays.NewTransport()
	transport.Proxy = nil
	transport.TLSClientConfig.RootCAs = model.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		conns <- slowConn{theirs, sent}
		return ours, nil
	}
	t.Cleanup(func() {
		close(conns)
		transport.CloseIdleConnections()
		time.Sleep(time.Second) // wait until the server has closed its end
	})
	return clientAt(t, "https://example.com", bearerToken("token"), transport), sent
}

// connections is a net.Listener that accepts the connections of the channel.
type connections chan net.Conn

func (c connections) Accept() (net.Conn, error) {
	conn, ok := <-c
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (connections) Addr() net.Addr { return &net.TCPAddr{} }
func (connections) Close() error   { return nil }

type slowConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c slowConn) Write(b []byte) (n int, err error) {
	for part := range slices.Chunk(b, 1<<10) {
		time.Sleep(time.Millisecond)
		written, err := c.Conn.Write(part)
		c.sent.Add(int64(written))
		if n += written; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Breaking out of the loop is not an error.
func TestBreakClosesTheAnswerOfAStream(t *testing.T) {
	page := smallPages()[0]
	for at := range 2 {
		var ended []hotelstays.CallInfo
		sent, closed := 0, false
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
			sent++
			resp := reply(200, "")
			resp.Body = &closeCounter{io.NopCloser(&pieces{strings.NewReader(page), 1}), func() { closed = true }}
			return resp, nil
		}), hotelstays.WithMaxAttempts(3), hotelstays.WithObserver(hotelstays.Observer{
			CallEnd: func(_ context.Context, info hotelstays.CallInfo) { ended = append(ended, info) }}))
		search := client.HotelListStream(t.Context(), anySearch())
		n := 0
		for _, err := range search.Hotels() {
			require.NoError(t, err)
			if n++; n > at {
				break
			}
		}
		assert.True(t, closed)
		assert.Equal(t, 1, sent)
		require.Len(t, ended, 1)
		assert.NoError(t, ended[0].Err)
		assert.NoError(t, ended[0].Attempts[0].Err)
		assert.Less(t, ended[0].Bytes, len(page))
		assert.NotZero(t, ended[0].FirstHotel)
		assert.Less(t, ended[0].FirstHotel, ended[0].Duration)
		resp, complete := search.Response()
		assert.False(t, complete)
		assert.Equal(t, 1, resp.Meta.Attempts)
	}
}

func TestInterruptedStreamIsRequestedAgainOnlyBeforeTheFirstHotel(t *testing.T) {
	page := smallPages()[0]
	first := strings.Index(page, "},{") + 1
	second := strings.Index(page, "],\"basic") // after the second hotel
	for _, row := range []struct {
		name         string
		end          int
		sent, hotels int
		text         string
	}{
		{"the answer ends before its first byte", 0, 3, 0, "0 bytes"},
		{"the answer ends inside the first hotel", first - 1, 3, 0, "bytes"},
		{"the answer ends after the first hotel", first, 1, 1, "hotels yielded before: 1"},
		{"the answer ends after the second hotel", second, 1, 2, "hotels yielded before: 2"},
	} {
		inBubble(t, row.name, func(t *testing.T) {
			answer := &fixedAnswer{Status: 200, Body: page[:row.end], Cut: io.ErrUnexpectedEOF}
			got := stream(t.Context(), clientThrough(t, answer, hotelstays.WithMaxAttempts(3)), anySearch())
			assert.Len(t, answer.Sent, row.sent)
			assert.Len(t, got.hotels, row.hotels)
			assert.False(t, got.complete)
			assert.Equal(t, row.hotels == 0, got.resp == nil, "Response returns nothing of a failed attempt")
			broken := errorAs[*hotelstays.TransportError](t, got.err)
			assert.ErrorIs(t, got.err, io.ErrUnexpectedEOF)
			assert.ErrorContains(t, got.err, row.text)
			assert.True(t, broken.Sent)
		})
	}
}

// The peer may stop sending after any byte of the answer.
func TestCallWhoseAnswerStallsEndsWithCtx(t *testing.T) {
	page := smallPages()[0]
	for at := 0; at < len(page); at += howMany(t, "bytes between two ends", 1, 7, 7) {
		synctest.Test(t, func(t *testing.T) {
			client := clientThrough(t, transportFunc(func(req *http.Request) (*http.Response, error) {
				return replyOf(200, io.MultiReader(strings.NewReader(page[:at]), readerFunc(func([]byte) (int, error) {
					<-req.Context().Done()
					return 0, req.Context().Err()
				}))), nil
			}))
			ctx := within(t, time.Second)
			resp, err := client.HotelList(ctx, anySearch())
			require.ErrorIs(t, err, context.DeadlineExceeded, page[:at])
			require.Nil(t, resp)
			require.ErrorIs(t, stream(ctx, client, anySearch()).err, context.DeadlineExceeded)
		})
	}
}

// brokenOff answers each request with the next body. All answers but the last end in an error.
func brokenOff(bodies ...string) transportFunc {
	return func(*http.Request) (*http.Response, error) {
		body := io.Reader(strings.NewReader(bodies[0]))
		if bodies = bodies[1:]; len(bodies) > 0 {
			body = io.MultiReader(body, iotest.ErrReader(io.ErrUnexpectedEOF))
		}
		return replyOf(200, body), nil
	}
}

func TestInterruptedPageIsRequestedAgain(t *testing.T) {
	page := smallPages()[0]
	const again = `{"code":0,"data":{"list":[{"id":"3"}],"basic":{"sessionId":"s"}}}`
	for at := 0; at < len(page); at += howMany(t, "bytes between two ends", 1, 7, 7) {
		synctest.Test(t, func(t *testing.T) {
			got, err := clientThrough(t, brokenOff(page[:at], again), hotelstays.WithMaxAttempts(2)).HotelList(t.Context(), anySearch())
			require.NoError(t, err)
			require.Equal(t, []types.Hotel{{ID: "3"}}, got.List)
			require.Zero(t, got.Total)
			require.Equal(t, 2, got.Meta.Attempts)
		})
	}
	for _, first := range []string{"", `{"code":0,"data":{"list":[{"id":{}},{"id":{}},`} { // first breaks off before the first hotel
		synctest.Test(t, func(t *testing.T) {
			got := stream(t.Context(), clientThrough(t, brokenOff(first, again), hotelstays.WithMaxAttempts(2)), anySearch())
			require.NoError(t, got.err)
			assert.Equal(t, []types.Hotel{{ID: "3"}}, got.hotels)
			assert.Equal(t, "s", got.resp.Basic.SessionID)
			assert.Equal(t, 2, got.resp.Meta.Attempts)
			assert.Zero(t, got.resp.Meta.MismatchCount)
		})
	}
}

// The timeout of the call includes the time that the body of the loop takes.
func TestStreamEndsWithCtx(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(cancel context.CancelFunc)
		opts []hotelstays.CallOption
		is   error
	}{
		{"the loop cancels ctx", func(cancel context.CancelFunc) { cancel() }, nil, context.Canceled},
		{"the loop is slower than the timeout", func(context.CancelFunc) { time.Sleep(time.Minute) },
			[]hotelstays.CallOption{hotelstays.WithTimeout(20 * time.Second)}, context.DeadlineExceeded},
	} {
		inBubble(t, row.name, func(t *testing.T) {
			srv, client := newSandbox(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			search := client.HotelListStream(ctx, searchCity(srv), row.opts...)
			hotels := 0
			var end error
			for _, err := range search.Hotels() {
				if end = err; err == nil {
					hotels++
					row.end(cancel)
				}
			}
			assert.Equal(t, 1, hotels)
			require.ErrorAs(t, end, new(*hotelstays.TransportError))
			assert.ErrorIs(t, end, row.is)
			assert.ErrorContains(t, end, "hotels yielded before: 1")
		})
	}
}

func TestRefusedStreamYieldsOneError(t *testing.T) {
	client := clientThrough(t, noSend{t})
	var invalid *hotelstays.ValidationError
	assert.ErrorAs(t, stream(t.Context(), client, &hotelstays.HotelListRequest{}).err, &invalid)
	assert.ErrorAs(t, stream(t.Context(), client, nil).err, &invalid)
	require.ErrorAs(t, stream(t.Context(), client, anySearch(), hotelstays.WithRawData()).err, &invalid)
	assert.Equal(t, "WithRawData", invalid.Fields[0].Path)
	for _, status := range []int{302, 400, 500} { // with these statuses a call fails, no matter what the body contains
		got := stream(t.Context(), clientThrough(t, &fixedAnswer{Status: status, Body: smallPages()[0]}), anySearch())
		require.ErrorAs(t, got.err, new(*hotelstays.APIError))
		assert.Empty(t, got.hotels)
	}
}

func TestStreamYieldsHotelsUntilTheFirstFault(t *testing.T) {
	const hotel = `{"id":"1"}`
	for body, hotels := range map[string]int{
		`{"code":100000400,"data":{"list":[` + hotel + `]}}`:                             0,
		`{"code":"0","data":{"list":[` + hotel + `]}}`:                                   0,
		`{"data":{"list":[` + hotel + `]},"code":100000400}`:                             1,
		`{"code":0,"data":{"list":[` + hotel + `,{"id":"1","id":"1"},` + hotel + `]}}`:   1,
		`{"code":0,"data":{"list":[` + hotel + `,,` + hotel + `]}}`:                      1,
		`{"code":0,"data":{"list":[` + hotel + `,` + hotel + `],"hasMore":1}}`:           2,
		`{"data":{},"x":{"list":[` + hotel + `]},"code":0}`:                              0,
		`{"code":0,"data":{"list":["list",[` + hotel + `],` + hotel + `]}}`:              1,
		`{"code":0,"data":{"inner":{"list":[` + hotel + `]},"basic":{"sessionId":"s"}}}`: 0,
	} {
		got := stream(t.Context(), clientThrough(t, inPieces{body, 0}), anySearch())
		assert.Error(t, got.err, body)
		assert.Len(t, got.hotels, hotels, body)
		assert.False(t, got.complete, body)
	}
}

// The method Response hides the token, even during the loop.
func TestStreamHidesTheToken(t *testing.T) {
	client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
		return reply(200, smallPages()[0], "Session-Id", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")), nil
	}))
	search := client.HotelListStream(t.Context(), anySearch())
	for _, err := range search.Hotels() {
		require.NoError(t, err)
		soFar, _ := search.Response()
		require.NotEmpty(t, soFar.Basic.SessionID)
		assert.NotContains(t, soFar.Basic.SessionID, "token-0001")
	}
}

func TestEachLoopOverAStreamSendsTheOriginalRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		req := searchCity(srv)
		req.Cursor = new(int64(7))
		search := client.HotelListStream(t.Context(), req)
		req.DestinationID, *req.Cursor = "changed", 99
		for range 2 {
			hotels, errs := collect(search.Hotels())
			assert.Empty(t, errs)
			assert.Len(t, hotels, 12)
		}
		requests := srv.Ledger().Requests(hotelstays.OpHotelList)
		require.Len(t, requests, 2)
		assert.Equal(t, requests[0].BodySHA256, requests[1].BodySHA256)

		// Response belongs to the latest call, and is nil if the latest call failed.
		resp, complete := search.Response()
		assert.NotNil(t, resp)
		assert.True(t, complete)
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultStatus, Status: 403, Code: 100000403})
		require.ErrorIs(t, testkit.LastError(search.Hotels()), hotelstays.ErrForbidden)
		resp, complete = search.Response()
		assert.Nil(t, resp)
		assert.False(t, complete)
	})
}

// The test also checks that a stream does not keep the hotels that the loop has dropped.
func TestStreamAboveMaxResponseBytesIsRefused(t *testing.T) {
	page := smallPages()[0]
	got := stream(t.Context(), clientThrough(t, inPieces{page, 0}, hotelstays.WithMaxResponseBytes(int64(len(page)-1))), anySearch())
	require.ErrorAs(t, got.err, new(*hotelstays.DecodeError))
	assert.ErrorContains(t, got.err, "larger than the limit")
	got = stream(t.Context(), clientThrough(t, inPieces{page, 0}, hotelstays.WithMaxResponseBytes(int64(len(page)))), anySearch())
	require.NoError(t, got.err)

	announced := &fixedAnswer{Status: 200, Body: page, Announced: true}
	got = stream(t.Context(), clientThrough(t, announced, hotelstays.WithMaxResponseBytes(int64(len(page)-1)), hotelstays.WithMaxAttempts(3)),
		anySearch())
	require.ErrorAs(t, got.err, new(*hotelstays.DecodeError))
	assert.Empty(t, got.hotels, "the client refuses the answer by its Content-Length")
	assert.Len(t, announced.Sent, 1)

	hotels := howMany(t, "hotels", 200, 40, 40)
	hotel := `{"id":"` + strings.Repeat("x", 300<<10) + `"}`
	many := `{"code":0,"data":{"list":[` + strings.Repeat(hotel+",", hotels-1) + hotel + `],"basic":{"sessionId":"s"}}}`
	require.True(t, json.Valid([]byte(many)))
	client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
		return replyOf(200, iotest.HalfReader(strings.NewReader(many))), nil
	}))
	n := 0
	before := testkit.LiveHeap()
	for _, err := range client.HotelListStream(t.Context(), anySearch()).Hotels() {
		require.NoError(t, err)
		if n++; n%10 == 0 {
			assert.Less(t, testkit.LiveHeap(), before+8<<20, "hotels that the loop has dropped take no memory")
		}
	}
	assert.Equal(t, hotels, n)
	runtime.KeepAlive(many)
}

func TestNewHotelListStreamYieldsTheGivenHotels(t *testing.T) {
	resp := &hotelstays.HotelListResponse{Total: 2}
	for name, row := range map[string]struct {
		end      error
		leave    bool
		seen     int
		complete bool
	}{
		"the loop reaches the end":   {seen: 2, complete: true},
		"the loop is left":           {leave: true, seen: 1},
		"the hotels end in an error": {end: io.ErrUnexpectedEOF, seen: 2},
	} {
		made := hotelstays.NewHotelListStream(func(yield func(*types.Hotel, error) bool) {
			if yield(&types.Hotel{ID: "1"}, nil) && yield(&types.Hotel{ID: "2"}, nil) && row.end != nil {
				yield(nil, row.end)
			}
		}, resp)
		before, complete := made.Response()
		assert.Nil(t, before, name)
		assert.False(t, complete, name)
		seen, err := 0, error(nil)
		for _, err = range made.Hotels() {
			if err == nil {
				seen++
			}
			if row.leave {
				break
			}
		}
		assert.Equal(t, row.end, err, name)
		assert.Equal(t, row.seen, seen, name)
		after, complete := made.Response()
		assert.Same(t, resp, after, name)
		assert.Equal(t, row.complete, complete, name)
	}

	// A stream made without hotels yields an error. A stream made without a response has an empty response.
	nothing := hotelstays.NewHotelListStream(nil, nil)
	assert.Equal(t, "NewHotelListStream", errorAs[*hotelstays.ValidationError](t, testkit.LastError(nothing.Hotels())).Func)
	_, complete := nothing.Response()
	assert.False(t, complete)
	none := hotelstays.NewHotelListStream(func(func(*types.Hotel, error) bool) {}, nil)
	hotels, errs := collect(none.Hotels())
	assert.Empty(t, hotels)
	assert.Empty(t, errs)
	resp, complete = none.Response()
	assert.Equal(t, &hotelstays.HotelListResponse{}, resp)
	assert.True(t, complete)
}
