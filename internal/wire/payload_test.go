// The answer to a search, for the tests of this package.

package wire

import (
	"encoding/json"
	"fmt"

	"github.com/hotelstays/hotelstays-go/types"
)

// HotelListResponse is the data of a search, as in the root package. It must have the same name, because package oracle
// finds a struct's essential fields by its name.
type HotelListResponse struct {
	List    []types.Hotel     `json:"list"`
	Basic   types.SearchBasic `json:"basic"`
	Total   int               `json:"total"`
	HasMore bool              `json:"hasMore"`
}

type page = HotelListResponse

var pageHotels = List[types.Hotel]{Essentials: true}

// readPage is the function that decodegen would write for page.
var readPage = Struct([]Field[page]{
	{Name: "list", Essential: true, Read: func(l *Lexer, v *page) { v.List = pageHotels.Read(l, ReadHotel) }},
	{Name: "basic", Read: func(l *Lexer, v *page) { ReadSearchBasic(l, &v.Basic) }},
	{Name: "total", Read: func(l *Lexer, v *page) { v.Total = l.Int() }},
	{Name: "hasMore", Essential: true, Read: func(l *Lexer, v *page) { v.HasMore = l.Bool() }},
})

func (v *HotelListResponse) target() Target {
	return Target{Into: v, Read: func(l *Lexer) { readPage(l, v) }, InternStrings: true, Lenient: true}
}

// answer returns a successful search with these numbers of hotels, rooms per hotel and offers per room.
func answer(hotels, rooms, rates int) []byte {
	money, text := types.Money{Currency: "EUR", Amount: "1240.50"}, types.I18N{EN: "Tea & \"dinner\"\n<half board>", ZH: "海景双床房", AR: "غرفة"}
	rate := types.Rate{NetRate: money, GrossRate: &money, CommissionableRate: &money, RespectGrossRate: true}
	data := page{Basic: types.SearchBasic{SessionID: "session-1", StatusRemark: "2 of 3 suppliers answered"}, Total: hotels, HasMore: true}
	for i := range hotels {
		h := types.Hotel{
			ID: fmt.Sprint(i), PlatformHotelID: fmt.Sprint("PH-", i), DestinationID: "city-1", Name: &text, Address: &text, Rating: new(4.5),
			LatlngCoordinator: &types.LatlngCoordinator{Google: types.Latlng{Lat: 25.204849, Lng: -55.27}, Gaode: &types.Latlng{Lat: 25}},
			LogoURL:           "https://images.example/1.jpg", MinPrice: &money, MinPricesByCurrency: []types.Money{money, money},
			IsAvailable: new(true),
		}
		for j := range rooms {
			room := types.Room{RoomTypeID: fmt.Sprint("room-", j), RoomTypeName: text, HotelID: h.ID}
			for k := range rates {
				room.Rates = append(room.Rates, types.RoomRatePkg{
					RatePkgID: fmt.Sprint(i, "-", j, "-", k), RefundableMode: types.RefundablePartial, RefundableUntil: "2000-03-01T12:00:00Z",
					CancelFees:         []types.CancelFee{{Until: "2000-03-01T12:00:00Z", Fee: money}, {Until: "2000-03-09T12:00:00Z", Fee: money}},
					OriginalRoomNaming: &types.OriginalRoomNaming{ID: "1", Name: `TWN "Superior"`, Supplier: 7},
					Rate:               rate, TotalRate: rate, RateComment: "No smoking.\nA fee.", CheckIn: "2000-03-10", CheckOut: "2000-03-13",
					Board: &types.Board{BoardID: types.BoardHB, BoardName: &text, BoardDesc: &text},
					Tax:   &types.Tax{Total: &money, Items: []types.TaxItem{{TaxType: "city", TaxName: "Tourism fee", Amount: &money}}},
				})
			}
			h.Rooms = append(h.Rooms, room)
		}
		data.List = append(data.List, h)
	}
	body, err := json.Marshal(map[string]any{"code": 0, "msg": "success", "data": data})
	if err != nil {
		panic(err)
	}
	return body
}
