// The retry table of the package documentation, row by row, for every operation,
// over HTTP/1.1 and HTTP/2, counted by the sandbox's ledger.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// happenings are the ways in which each row of the table comes about.
var happenings = map[string][]hotelstaystest.Fault{
	"the request never left": nil, // the dialer fails
	"the connection broke, or no answer came": {
		{Kind: hotelstaystest.FaultCutBeforeRead},
		{Kind: hotelstaystest.FaultCut},
		{Kind: hotelstaystest.FaultCutMidResponse},
		{Kind: hotelstaystest.FaultResetStream},
		{Kind: hotelstaystest.FaultResetStream, Commit: true},
	},
	"HTTP 401, enveloped":               {status(401, "")},
	"HTTP 401, not enveloped":           {status(401, "<html>"), status(401, `{"code":0,"msg":"fine"}`), status(401, `{}`), status(401, `{"code":7,"Code":0}`)},
	"HTTP 429, enveloped":               {status(429, "")},
	"HTTP 429, not enveloped":           {status(429, "<html>"), status(429, `{"code":0}`), status(429, `{"code":7,"data":{},"data":{}}`)},
	"HTTP 500, 502, 503, 504":           {status(500, ""), status(502, "<html>"), status(503, ""), status(504, "")},
	"HTTP 3xx, other 5xx":               {status(301, ""), status(307, "<html>"), status(501, ""), status(507, "<html>")},
	"HTTP 400, 403, 404, enveloped":     {status(400, ""), status(403, ""), status(404, ""), status(400, `{"code":7,"msg":"no"}`)},
	"HTTP 4xx, not enveloped":           {status(400, "<html>"), status(403, `{}`), status(404, " "), status(413, `{"code":"7"}`)},
	"HTTP 2xx, other 4xx, listed code":  {status(200, `{"code":100000429,"msg":"slower"}`), status(409, `{"code":100000429}`)},
	"HTTP 2xx, other 4xx, another code": {status(200, `{"code":7}`), status(202, `{"code":100001008}`), status(408, ""), status(409, `{"code":7,"msg":"no"}`)},
	"HTTP 2xx that cannot be read": {
		{Kind: hotelstaystest.FaultGarbage},
		{Kind: hotelstaystest.FaultTruncatedBody},
		{Kind: hotelstaystest.FaultEmptyBody},
		status(200, `{"code":0}`), status(200, `{"code":0,"data":null}`), status(200, `{"code":0,"data":[]}`), status(200, `{"data":{}}`), {Kind: hotelstaystest.FaultEmptyBody, Status: 204},
	},
}

// status is an answer with body, or with an envelope where body is empty.
func status(status int, body string) hotelstaystest.Fault {
	fault := hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: status, Header: http.Header{"Location": {"/elsewhere"}}}
	if body != "" {
		fault.Body = []byte(body)
	}
	return fault
}

// tableRow is a row of the table in doc.go.
type tableRow struct{ what, reads, acts string }

func retryTable(t *testing.T) []tableRow {
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(source), "//	what happened ")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n//\n")
	var rows []tableRow
	gaps := regexp.MustCompile(` {2,}`)
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := gaps.Split(strings.TrimPrefix(line, "//	"), -1)
		require.Len(t, cells, 3, line)
		rows = append(rows, tableRow{cells[0], cells[1], cells[2]})
	}
	return rows
}

// acts tells the operations that are sent again only when nothing can have
// happened, and open those that carry no token.
func acts(op hotelstays.Operation) bool {
	return op == hotelstays.OpBook || op == hotelstays.OpCancel
}

func open(op hotelstays.Operation) bool {
	return op == hotelstays.OpTicket || op == hotelstays.OpOAuthToken
}

func TestRetryTable(t *testing.T) {
	t.Parallel()
	rows := retryTable(t)
	require.Len(t, rows, len(happenings), "each row is tested, and each test is a row")
	protocols := map[string][]hotelstaystest.Option{
		"HTTP/1.1": {hotelstaystest.WithInMemory(), hotelstaystest.WithoutRateLimits()},
		"HTTP/2.0": {hotelstaystest.WithInMemory(), hotelstaystest.WithoutRateLimits(), hotelstaystest.WithTLS()},
	}
	for protocol, opts := range protocols {
		for _, row := range rows {
			t.Run(protocol+" "+row.what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if row.what == "the request never left" {
						checkNeverLeft(t, row)
						return
					}
					for _, fault := range happenings[row.what] {
						checkRow(t, protocol, opts, row, fault)
					}
				})
			})
		}
	}
}

// checkRow makes every operation fail in one way, always, and counts what arrives.
func checkRow(t *testing.T, protocol string, opts []hotelstaystest.Option, row tableRow, fault hotelstaystest.Fault) {
	srv := hotelstaystest.NewServer(opts...)
	defer srv.Close()
	fault.Times = -1
	for name, call := range operationCalls {
		client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
			hotelstays.WithHTTPClient(srv.Client()))
		require.NoError(t, err)
		_, err = client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}) // fetches the token
		require.NoError(t, err)
		op := hotelstaystest.Operation(name)
		before, tickets := srv.Ledger().Count(op), srv.Ledger().TicketsIssued()
		fault.Operation = op
		srv.Inject(fault)

		err = call(t.Context(), client)
		srv.ClearFaults()

		what := fmt.Sprintf("%s: %s %d %q", name, fault.Kind, fault.Status, fault.Body)
		require.Error(t, err, what)
		policy := row.reads
		if acts(name) {
			policy = row.acts
		}
		attempts, fetched := 1, 0
		switch policy {
		case "again":
			attempts = 4
		case "once, new token":
			if !open(name) {
				attempts, fetched = 2, 1
			}
		}
		assert.Equal(t, attempts, srv.Ledger().Count(op)-before, "%s: %s", what, policy)
		if name != hotelstays.OpTicket {
			assert.Equal(t, fetched, srv.Ledger().TicketsIssued()-tickets, what)
		}
		assertOutcome(t, err, policy, what)
		requests := srv.Ledger().Requests(op)
		assert.Equal(t, protocol, requests[len(requests)-1].Proto)
		client.CloseIdleConnections()
	}
}

// checkNeverLeft makes every connection fail.
func checkNeverLeft(t *testing.T, row tableRow) {
	for name, call := range operationCalls {
		dials := 0
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, errors.New("no route")
		}}
		client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(&http.Client{Transport: tr}))
		require.NoError(t, err)
		err = call(t.Context(), client)
		var failed *hotelstays.TransportError
		require.ErrorAs(t, err, &failed, string(name))
		assert.False(t, failed.Sent)
		assert.Equal(t, 4, failed.Attempts)
		assert.Equal(t, 4, dials)
		assertOutcome(t, err, row.acts, string(name))
	}
}

// assertOutcome holds the kind of error against the table's words.
func assertOutcome(t *testing.T, err error, policy, name string) {
	var unknown *hotelstays.OutcomeUnknownError
	var api *hotelstays.APIError
	isUnknown := errors.As(err, &unknown)
	assert.Equal(t, policy == "unknown outcome", isUnknown, "%s: %v", name, err)
	if isUnknown {
		assert.Equal(t, "ref-1", unknown.CustomerReferenceNo)
		assert.Contains(t, err.Error(), "do not send it again")
		assert.NotContains(t, err.Error(), "safe to call again")
	}
	if policy == "refused" {
		assert.ErrorAs(t, err, &api, name)
	}
}

// A fault that passes costs nothing but the wait.
func TestPassingFault(t *testing.T) {
	for _, fault := range []hotelstaystest.Fault{status(503, ""), status(429, ""), {Kind: hotelstaystest.FaultCut}, {Kind: hotelstaystest.FaultCutMidResponse}} {
		synctest.Test(t, func(t *testing.T) {
			srv := hotelstaystest.NewServer(hotelstaystest.WithInMemory())
			defer srv.Close()
			client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}, hotelstays.WithHTTPClient(srv.Client()))
			require.NoError(t, err)
			defer client.CloseIdleConnections()
			fault.Operation, fault.Times = hotelstaystest.OpDestinations, 2
			srv.Inject(fault)
			resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
			require.NoError(t, err)
			assert.NotEmpty(t, resp.Destinations)
			assert.Equal(t, 3, resp.Meta.Attempts)
			requests := srv.Ledger().Requests(hotelstaystest.OpDestinations)
			require.Len(t, requests, 3)
			ids := map[string]bool{}
			for _, r := range requests {
				ids[r.RequestID] = true
				assert.Equal(t, requests[0].TraceID, r.TraceID)
				assert.Equal(t, requests[0].BodySHA256 == "", r.BodySHA256 == "")
			}
			assert.Len(t, ids, 3, "every attempt has its own Request-Id")
		})
	}
}
