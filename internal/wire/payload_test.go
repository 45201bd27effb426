// Answers for tests and benchmarks, the same in every run.

package wire

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/hotelstays/hotelstays-go/types"
)

// page is the data of a search, as the root package has it.
type page struct {
	List    []types.Hotel     `json:"list" essential:"true"`
	Basic   types.SearchBasic `json:"basic"`
	Total   int               `json:"total"`
	HasMore bool              `json:"hasMore" essential:"true"`
}

// target is the seam of the root package; standard leaves the generated code out.
func (p *page) target() Target {
	t := Target{Into: p, InternStrings: true}
	if v, ok := any(p).(interface{ decode(*Lexer) }); ok {
		t.Read = v.decode
	}
	return t
}

func (p *page) standard() Target { return Target{Into: p} }

// answers are successful searches with so many hotels, rooms of each and offers of each.
func answers(count, hotels, rooms, rates int) [][]byte {
	var bodies [][]byte
	for seed := range uint64(count) {
		s := source{rand.New(rand.NewPCG(seed, 5))}
		data := page{Basic: types.SearchBasic{SessionID: s.code(40), StatusRemark: "2 of 3 suppliers answered"}, Total: hotels, HasMore: true}
		for i := range hotels {
			data.List = append(data.List, s.hotel(i, rooms, rates))
		}
		body, err := json.Marshal(map[string]any{"code": 0, "msg": "success", "data": data})
		if err != nil {
			panic(err)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

type source struct{ *rand.Rand }

func pick[T any](s source, from ...T) T { return from[s.IntN(len(from))] }

// code is a string that does not repeat.
func (s source) code(length int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	b := make([]byte, length)
	for i := range b {
		b[i] = letters[s.IntN(len(letters))]
	}
	return string(b)
}

func (s source) text() *types.I18N {
	return &types.I18N{
		EN: pick(s, "Breakfast for all guests", "Twin room, sea view", "Family suite & lounge", "Dinner from 19:00 <half board>"),
		ZH: pick(s, "含所有住客早餐", "海景双床房", "家庭套房"),
		AR: pick(s, "الإفطار لجميع الضيوف", "غرفة بسريرين مطلة على البحر", "جناح عائلي"),
	}
}

func (s source) money() types.Money {
	amount := pick(s, fmt.Sprintf("%d.%02d", s.IntN(2000), s.IntN(100)), fmt.Sprint(s.IntN(9000)),
		fmt.Sprintf("%d.%04d", s.IntN(90), s.IntN(10000)))
	return types.Money{Currency: pick(s, "USD", "AED", "CNY", "EUR"), Amount: json.Number(amount)}
}

func (s source) moneyPtr() *types.Money {
	m := s.money()
	return &m
}

func (s source) hotel(i, rooms, rates int) types.Hotel {
	available := true
	h := types.Hotel{
		ID: fmt.Sprint(100_000 + i), PlatformHotelID: fmt.Sprintf("PH-%06d", i), DestinationID: "city-104821",
		Name: s.text(), Address: s.text(), Rating: new(float64(s.IntN(50)) / 10),
		LatlngCoordinator: &types.LatlngCoordinator{
			Google: types.Latlng{Lat: 25 + s.Float64(), Lng: 55 + s.Float64()},
			Gaode:  &types.Latlng{Lat: 25 + s.Float64(), Lng: 55 + s.Float64()},
		},
		LogoURL: "https://images.example/" + s.code(24) + ".jpg", MinPrice: s.moneyPtr(),
		MinPricesByCurrency: []types.Money{s.money(), s.money()}, IsAvailable: &available,
	}
	for range rooms {
		room := types.Room{RoomTypeID: s.code(12), RoomTypeName: *s.text(), HotelID: h.ID}
		for range rates {
			room.Rates = append(room.Rates, s.offer())
		}
		h.Rooms = append(h.Rooms, room)
	}
	return h
}

func (s source) rate() types.Rate {
	return types.Rate{NetRate: s.money(), GrossRate: s.moneyPtr(), CommissionableRate: s.moneyPtr(), RespectGrossRate: s.IntN(2) == 0}
}

// offer is for one room: its total is the price of the room.
func (s source) offer() types.RoomRatePkg {
	rate := s.rate()
	return types.RoomRatePkg{
		RatePkgID: s.code(36), RefundableMode: pick(s, types.RefundableFull, types.RefundablePartial, types.RefundableNo),
		RefundableUntil: "2000-03-01T12:00:00Z",
		CancelFees: []types.CancelFee{
			{Until: "2000-03-01T12:00:00Z", Fee: s.money()},
			{Until: "2000-03-09T12:00:00Z", Fee: s.money()},
		},
		OriginalRoomNaming: &types.OriginalRoomNaming{
			ID: s.code(8), Name: pick(s, "DBL STD SV", "TWN \"Superior\"", "FAM 2BR"), Supplier: s.IntN(9),
		},
		Rate: rate, TotalRate: rate,
		RateComment: pick(s, "", "",
			"A deposit is taken at the desk & returned on departure; children below six sleep in the beds that are there.",
			"Tourism fee is paid at the property.\nNo smoking."),
		IncludesPackaging: s.IntN(9) == 0, CheckIn: "2000-03-10", CheckOut: "2000-03-13",
		Board: &types.Board{BoardID: pick(s, types.BoardRO, types.BoardBB, types.BoardHB), BoardName: s.text(), BoardDesc: s.text()},
		Tax: &types.Tax{
			Total: s.moneyPtr(),
			Items: []types.TaxItem{{TaxType: "city", TaxName: "Tourism fee", Amount: s.moneyPtr(), Desc: "per room and night"}},
		},
	}
}
