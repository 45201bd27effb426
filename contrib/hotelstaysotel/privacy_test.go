package hotelstaysotel_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// private has values of a booking that must not be exported. No exported value contains such a text by chance.
var private = []string{"Firstofguest", "Lastofguest", "Firstofholder", "Lastofholder", "holder@mail.example", "5550100",
	"PASSPORT-77", "1984-07-06", "reference-55", "userref-33", "192.0.2.77", "toldreason"}

func TestSpansAndMetricsContainNoPrivateValue(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		tokens := map[string]bool{}
		r.connect(hotelstays.WithObserver(r.observer), hotelstays.WithUserRef("userref-33"),
			hotelstays.WithClientIP("192.0.2.77"),
			hotelstays.WithHTTPClient(&http.Client{Transport: testkit.Transport(func(req *http.Request) (*http.Response, error) {
				if token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok {
					tokens[token] = true
				}
				return r.srv.Client().Transport.RoundTrip(req)
			})}))
		req := testkit.FindOffer(t, r.srv, r.client, 0).Request("reference-55")
		req.Holder = types.Holder{FirstName: "Firstofholder", LastName: "Lastofholder", Email: "holder@mail.example",
			Phone: &types.Phone{Number: "5550100"}}
		req.Guests = []types.Guest{{RoomIndex: 1, FirstName: "Firstofguest", LastName: "Lastofguest",
			PassportNumber: types.NewSecret("PASSPORT-77"), DateOfBirth: "1984-07-06"}}
		quoting := []byte(strings.Join(private, " ") + " " + r.srv.AppSecret)

		// Book is refused, then has an unreadable answer, then twice no answer. Then the order is made, read and cancelled.
		faults := []hotelstaystest.Fault{
			{Kind: hotelstaystest.FaultStatus, Status: 400, Code: types.CodeRateChanged, Msg: string(quoting)},
			{Kind: hotelstaystest.FaultGarbage, Body: quoting},
			{Kind: hotelstaystest.FaultStatus, Status: 504, Body: quoting},
			{Kind: hotelstaystest.FaultCut},
		}
		for _, fault := range faults {
			r.inject(hotelstays.OpBook, fault)
			_, err := r.client.Book(t.Context(), req)
			require.Error(t, err)
		}
		order, err := r.client.Book(t.Context(), req)
		require.NoError(t, err)
		_, err = r.client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{req.CustomerReferenceNo}})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		for _, msg := range []string{string(quoting), ""} {
			if msg != "" {
				r.inject(hotelstays.OpCancel, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 400, Msg: msg})
			}
			_, err = r.client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: req.SessionID, CustomerReferenceNo: req.CustomerReferenceNo,
				SupplierReferenceNo: order.HotelOrder.SupplierReferenceNo, Reason: "toldreason"})
			assert.Equal(t, msg == "", err == nil, "%v", err)
		}

		require.Len(t, r.spans.GetSpans(), 3+len(faults)+4, "a ticket, two searches, five calls of Book, one of QueryOrders, two of Cancel")
		_, records := r.export()
		exported := fmt.Sprintf("%+v\n%+v", r.spans.GetSpans(), records)
		for _, expected := range []string{"hotelstays.Book", "hotelstays.Cancel", "rate_changed", "outcome_unknown",
			"hotelstays.client.attempts", "http.response.status_code",
			r.srv.Ledger().Requests(hotelstays.OpBook)[0].RequestID} {
			assert.Contains(t, exported, expected, "the searched text contains the exported values")
		}
		require.Len(t, tokens, 1)
		hidden := append(slices.Collect(maps.Keys(tokens)), "Bearer", r.srv.AppKey, r.srv.AppSecret, req.SessionID, req.RatePkgID,
			order.HotelOrder.PlatformReferenceNo, order.HotelOrder.SupplierReferenceNo)
		for _, value := range append(hidden, private...) {
			require.NotEmpty(t, value)
			assert.NotContains(t, exported, value)
		}
	})
}
