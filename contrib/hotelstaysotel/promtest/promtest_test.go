// Package promtest compares the dashboard and the alerts in ../prometheus with the names that OpenTelemetry's
// Prometheus exporter gives to real metrics. It is a separate module, because only this test needs the exporter.
package promtest

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.yaml.in/yaml/v3"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysotel"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// exported returns the labels of each exported metric. The map's key is the metric's name in a query.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	require.NoError(t, err)
	options := &hotelstaysotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}
	observer, err := hotelstaysotel.New(options)
	require.NoError(t, err)
	srv, _ := testkit.NewSandbox(t)
	client := testkit.NewClient(t, srv, testkit.TicketOf(srv), hotelstays.WithObserver(observer))
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 401})
	_, err = client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
	require.ErrorIs(t, err, hotelstays.ErrUnauthorized)
	req := testkit.FindOffer(t, srv, client, 0).Request("trip-1")
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut})
	_, err = client.Book(t.Context(), req)
	require.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))

	store := memstore.New()
	engine, err := durable.NewEngine(store, durable.Options[*memstore.Tx]{Client: client,
		Keys:      []types.Secret{types.NewSecret("a key of thirty-two random bytes")},
		OnOutcome: func(context.Context, *memstore.Tx, *hotelstays.BookingOutcome) error { return nil }})
	require.NoError(t, err)
	gauges, err := hotelstaysotel.ObserveBookings(engine, options)
	require.NoError(t, err)
	defer func() { require.NoError(t, gauges.Unregister()) }()

	families, err := registry.Gather()
	require.NoError(t, err)
	metrics := map[string][]string{}
	for _, family := range families {
		names := []string{family.GetName()}
		if family.GetMetric()[0].GetHistogram() != nil {
			names = []string{family.GetName() + "_bucket", family.GetName() + "_sum", family.GetName() + "_count"}
		}
		for _, name := range names {
			labels := []string{"job", "instance"} // labels that Prometheus adds
			if strings.HasSuffix(name, "_bucket") {
				labels = append(labels, "le")
			}
			for _, m := range family.GetMetric() {
				for _, label := range m.GetLabel() {
					labels = append(labels, label.GetName())
				}
			}
			metrics[name] = labels
		}
	}
	return metrics
}

var (
	quoted = regexp.MustCompile(`"[^"]*"`)
	word   = regexp.MustCompile(`[a-zA-Z_][a-zA-Z0-9_]*`)
	label  = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}`) // a label in a message, as {{ $labels.code }}
	spans  = regexp.MustCompile(`\[[^\]]*\]|\b\d+[smhd]\b`)
	// language lists the PromQL words that the files use.
	language = strings.Fields("sum max rate increase by or and unless offset histogram_quantile topk vector")
)

// check checks the words of a query: each must be a metric, a label of the query's metrics, or a PromQL word. The
// parameter texts has the legends and messages of the query. They may use only labels of the query's metrics.
func check(t *testing.T, metrics map[string][]string, query string, texts ...string) {
	t.Helper()
	words := word.FindAllString(spans.ReplaceAllString(quoted.ReplaceAllString(query, ""), ""), -1)
	var labels []string
	for _, w := range words {
		labels = append(labels, metrics[w]...)
	}
	assert.NotEmpty(t, labels, "%s uses no exported metric", query)
	for _, text := range texts {
		for _, found := range label.FindAllStringSubmatch(text, -1) {
			words = append(words, found[1])
		}
	}
	for _, w := range words {
		assert.True(t, metrics[w] != nil || slices.Contains(labels, w) || slices.Contains(language, w), "%s: unknown word %q", query, w)
	}
}

func TestDashboardQueriesOnlyExportedMetrics(t *testing.T) {
	var dashboard struct {
		Templating struct{ List []struct{ Query string } }
		Panels     []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	text, err := os.ReadFile("../prometheus/dashboard.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &dashboard))
	metrics, queries := exported(t), 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			check(t, metrics, target.Expr, target.LegendFormat)
			queries++
		}
	}
	assert.Greater(t, queries, 10)
	for _, variable := range dashboard.Templating.List {
		if of, found := strings.CutPrefix(variable.Query, "label_values"); found {
			check(t, metrics, of)
		}
	}
}

func TestAlertsQueryOnlyExportedMetrics(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	text, err := os.ReadFile("../prometheus/alerts.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &rules))
	tests, err := os.ReadFile("../prometheus/alerts_test.yaml")
	require.NoError(t, err)
	metrics, alerts := exported(t), 0
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			check(t, metrics, rule.Expr, rule.Annotations["summary"], rule.Annotations["description"])
			assert.Contains(t, string(tests), "alertname: "+rule.Alert+"\n", "the promtool tests must cover every alert")
			alerts++
		}
	}
	assert.Greater(t, alerts, 5)
}
