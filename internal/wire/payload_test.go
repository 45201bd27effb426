// The answer to a search, for the tests of this package.

package wire

import (
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

// page has the fields of a search that the tests read.
type page struct {
	List  []types.Hotel
	Total int
}

var pageHotels = List[types.Hotel]{Essentials: true}

var readPage = Struct([]Field[page]{
	{Name: "list", Essential: true, Read: func(l *Lexer, v *page) { v.List = pageHotels.Read(l, ReadHotel) }},
	{Name: "total", Read: func(l *Lexer, v *page) { v.Total = l.Int() }},
})

func (v *page) target() Target {
	return Target{Into: v, Read: func(l *Lexer) { readPage(l, v) }, InternStrings: true, Lenient: true}
}

// answer returns a successful search with this number of hotels.
func answer(hotels int) []byte {
	const money, text = `{"currency":"EUR","amount":1240.50}`, `{"en":"Tea & \"dinner\"\n<half board>","zh":"海景双床房","ar":"\u063a\u0631\u0641\u0629"}`
	const rate = `{"ratePkgId":"1-1","refundableMode":"partial","cancelFees":[{"until":"2000-03-01T12:00:00Z","fee":` + money + `}],` +
		`"rate":{"netRate":` + money + `,"respectGrossRate":true},"includesPackaging":false,"tax":null}`
	const hotel = `{"id":"1","name":` + text + `,"rating":4.5,"latlngCoordinator":{"google":{"lat":25.204849,"lng":-55.27}},` +
		`"isAvailable":true,"rooms":[{"roomTypeId":"2","roomTypeName":` + text + `,"rates":[` + rate + `,` + rate + `]}]}`
	list := strings.TrimSuffix(strings.Repeat(hotel+",", hotels), ",")
	return []byte(`{"code":0,"msg":"success","data":{"list":[` + list + `],"total":1,"hasMore":true}}`)
}
