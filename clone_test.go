// The client copies the values that the caller passes, so later changes of these values have no effect.

package hotelstays_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// The caller may change its values after a call, or between the pages of an iterator.
func TestLaterChangesOfTheCallerHaveNoEffect(t *testing.T) {
	const page = `{"code":0,"data":{"access_token":"token","list":[{"id":"1"}],"hasMore":false,"basic":{"sessionId":"s"},"destinations":[],` +
		`"hotelsMetadata":[],"page":{}}}`
	var sent string
	recording := &http.Client{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		sent += string(body)
		return reply(200, page), err
	})}
	newClient := func(cred hotelstays.Credential, opts ...hotelstays.Option) *hotelstays.Client {
		client, err := hotelstays.New("http://127.0.0.1:1", cred, append(opts, hotelstays.WithHTTPClient(recording))...)
		require.NoError(t, err)
		return client
	}
	client := newClient(bearerToken("token"))
	// Each row passes data of the caller to the client. The function change then changes the data. The function use makes
	// the calls, which must still send the first data.
	for name, prepare := range map[string]func() (change, use func()){
		"scopes of a credential": func() (change, use func()) {
			cred := &hotelstays.OAuthCredential{ClientID: "good", ClientSecret: types.NewSecret("secret"), Scopes: []types.Scope{"good"}}
			client := newClient(cred)
			return func() { cred.ClientID, cred.Scopes[0] = "changed", "changed" }, func() {
				_, _ = client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
			}
		},
		"a search": func() (change, use func()) {
			req := edited(goodHotelList(), func(r *hotelstays.HotelListRequest) {
				r.HotelIDs, r.RoomOccupancies[0].ChildrenAges = []string{"good"}, []int{7}
			})
			pages, batches, stream := client.HotelListPages(t.Context(), req), client.HotelListBatches(t.Context(),
				req), client.HotelListStream(t.Context(), req)
			change = func() {
				req.HotelIDs[0], req.RoomOccupancies[0].AdultCount, req.RoomOccupancies[0].ChildrenAges[0] = "changed", 99, 99
			}
			return change, func() {
				collect(pages)
				collect(batches)
				collect(stream.Hotels())
			}
		},
		"a walk": func() (change, use func()) {
			req := &hotelstays.DestinationsRequest{CountryCode: "AE", FilterEmptyCities: new(true), MinHotelCount: new(1)}
			walk := client.WalkDestinations(t.Context(), req)
			return func() { req.CountryCode, *req.FilterEmptyCities, *req.MinHotelCount = "XX", false, 99 }, func() { collect(walk) }
		},
		"a catalogue": func() (change, use func()) {
			req := &hotelstays.HotelsMetadataRequest{DestinationID: "good", Page: &types.PageReq{PageNum: 1}}
			all := client.HotelsMetadataAll(t.Context(), req)
			return func() { req.DestinationID, req.Page.PageNum = "changed", 99 }, func() { collect(all) }
		},
	} {
		sent = ""
		_, use := prepare()
		use()
		want := sent
		require.NotEmpty(t, want, name)
		sent = ""
		change, use := prepare()
		change()
		use()
		assert.Equal(t, want, sent, name)
	}

	facts := hotelstays.ServiceFacts{
		StatusMeanings: hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Pending: []types.OrderStatus{4},
			Cancelled: []types.OrderStatus{3}},
		RefusalCodes: map[hotelstays.Operation][]int{hotelstays.OpBook: {7}},
	}
	states, codes, hosts := facts.StatusMeanings, facts.RefusalCodes, []string{"store.internal"}
	known, private := hotelstays.WithServiceFacts(facts), hotelstays.WithVoucherHosts(hosts...)
	states.Confirmed[0], states.Pending[0], states.Cancelled[0], codes[hotelstays.OpBook][0], hosts[0] = 7, 7, 7, 0, ""
	codes["nothing"] = []int{7}
	newClient(bearerToken("token"), known, private) // if the options kept the changed values, New would refuse them

	req := offer{RoomRatePkg: *seenOffer(), Session: "session"}.Request("ref-1")
	req.Expect = seenOffer()
	recovery := client.NewBookingRecovery(req)
	expect := req.Expect
	expect.TotalRate.NetRate.Amount, expect.TotalRate.GrossRate.Amount, expect.CancelFees[0].Until = "1", "1", "never"
	expect.Board.BoardID, expect.Tax.Total.Amount, expect.Tax.Items[0].Amount.Amount = "XX", "1", "1"
	assert.Equal(t, seenOffer(), recovery.Expect)
}
