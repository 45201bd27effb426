// The documented form of answers, with one line for each type.

package judge

import (
	"encoding/base64"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// shapes lists the documented types, each with its members and their types. A member with ! is required. If a
// member with ~ is missing, the finding is a Doubt, because the document does not require the member. [] marks a list,
// and | separates the values of an enumeration. In a list with ?, required members of the elements may be missing.
const shapes = `
I18N en string zh string ar string
Money currency! currency amount! amount
Latlng lat! lat lng! lng
Point google! Latlng gaode Latlng
Phone countryCode string countryNumber int number string
Holder firstName! string lastName! string email string phone Phone
Rate commissionableRate Money netRate! Money grossRate Money respectGrossRate bool
CancelFee until string fee Money
Naming id string name string supplier int
Board boardId! RO|BB|HB|FB|AI|TI|BI|LU|DI|BD|BL|LD boardName I18N boardDesc I18N
TaxItem taxType string taxName string amount Money desc string
Tax total Money items []TaxItem
Pkg ratePkgId! name refundableMode! full|partial|no refundableUntil string cancelFees []CancelFee originalRoomNaming Naming rate! Rate
 totalRate! Rate rateComment string includesPackaging bool checkIn! date checkOut! date board Board tax Tax
Room roomTypeId! name roomTypeName! I18N hotelId! name rates []Pkg
Hotel id~ name platformHotelId name destinationId string name I18N rating rating address I18N latlngCoordinator Point logoURL string
 minPrice Money minPricesByCurrency []Money isAvailable bool rooms []Room
Entry hotelId name platformHotelId name destinationId string name I18N rating rating address I18N latlngCoordinator Point logoURL string
Page total count hasMore bool
Polygon type string coordinates list
Area centerLat lat centerLng lng boundingPolygon Polygon
Extra cityName I18N provinceName I18N continentName I18N hotelCount count
Place id uuid type 0|1|2|3|4|5|6|7|8|9|10|11|12 name I18N nameFull I18N countryCode country coordinates Area extra Extra countryName I18N
 destinationName I18N parentDestinationName I18N parentDestinationId string
Supplier supplierCode string reason string
Reason code! NO_SUPPLIER_ENABLED|NO_SUPPLIER_PERMITTED|ALL_SUPPLIERS_EXCLUDED|NO_SUPPLIER_ANSWERED suppliers []Supplier
Basic destination Place sessionId name statusRemark string notices []string emptyReason Reason
Snapshot date string usd object
OrderHotel hotelId string destinationId string name I18N rating rating address I18N latlngCoordinator Point logoURL string
OrderRoom roomTypeId string roomTypeName I18N hotelId string rates []Pkg ratePkgId! name refundableMode full|partial|no
 refundableUntil string cancelFees []CancelFee originalRoomNaming Naming rate! Rate totalRate! Rate rateComment string
 includesPackaging bool checkIn! date checkOut! date board Board tax Tax roomIndex index guests list refundInfo list
Order status! 0|1|2|3|4|5 statusRemark string checkIn! date checkOut! date nightCount count roomCount count bookingTime! time
 hotelConfirmNo string holder! Holder platformReferenceNo! name customerReferenceNo string commissionableRate Money netRate! Money
 grossRate Money respectGrossRate bool cancelTime time cancelReason string refundedPrice Money supplier int
 supplierReferenceNo! string hotel OrderHotel rooms []OrderRoom
Signature alg! name keyId! name digest! digest signature! name signedAt! time
Content contentType! name byteSize! count base64! base64
Voucher voucherNumber! name version! version issuedAt! time contentType! name byteSize! count verifyUrl! url downloadUrl! url
 expiresIn! count signature Signature content Content
Ticket ticket! jwt
Destinations destinations []Place
HotelsMetadata hotelsMetadata []Entry page Page
HotelStaticDetail hotel Hotel
HotelList list! []Hotel basic! Basic total count hasMore bool
HotelRates rooms []Room
CheckAvail status! 1|2 roomRatePkg Pkg statusRemark string exchangeRateSnapshot Snapshot
Book hotelOrder! Order
QueryOrders orders []Order?
OrderVoucher customerReferenceNo string platformReferenceNo! name supplierReferenceNo string
 status! GENERATED|NOT_GENERATED|PENDING|FAILED|CANCELLED voucher Voucher
Cancel serviceFee! Money status! 0|1|2|3|4|5
Event customerReferenceNo! name hotelConfirmNo string event! order_created|order_paid|order_cancelled|order_modified eventTime int`

// leaf is a type without members. If the functions are set, fits checks the documented form of the JSON text, and plausible
// checks the usual range of the value.
type leaf struct {
	kind            kind
	fits, plausible func([]byte) bool
	slow            bool
}

// texts returns a check that accepts a string if fits accepts its text.
func texts(fits func(string) bool) func([]byte) bool {
	return func(raw []byte) bool { return fits(unquoted(raw)) }
}

func matching(pattern string) func([]byte) bool {
	return texts(regexp.MustCompile("^(?:" + pattern + ")$").MatchString)
}

// integers returns a check that accepts the integer least and all larger integers.
func integers(least int) func([]byte) bool {
	return func(raw []byte) bool {
		n, err := strconv.Atoi(string(raw))
		return err == nil && n >= least
	}
}

func between(least, most float64) func([]byte) bool {
	return func(raw []byte) bool { return float(raw) >= least && float(raw) <= most }
}

// oneOf returns the type of an enumeration, whose values are all integers or all strings.
func oneOf(values []string) *leaf {
	k := number
	if values[0] > "9" {
		k = text
	}
	return &leaf{kind: k, fits: func(raw []byte) bool { return slices.Contains(values, strings.Trim(string(raw), `"`)) }}
}

// clockSkew is how much the clock of the service may differ from this machine's clock.
const clockSkew = 10 * time.Minute

var leaves = map[string]leaf{
	"string":  {kind: text},
	"name":    {kind: text, fits: func(raw []byte) bool { return len(raw) > 2 }},
	"bool":    {kind: boolean},
	"int":     {kind: number, fits: integers(math.MinInt)},
	"index":   {kind: number, fits: integers(math.MinInt), plausible: integers(1)},
	"list":    {kind: list},
	"object":  {kind: object},
	"count":   {kind: number, fits: integers(math.MinInt), plausible: integers(0)},
	"version": {kind: number, fits: integers(1)},
	"amount":  {kind: number, plausible: func(raw []byte) bool { return raw[0] != '-' }},
	"rating":  {kind: number, fits: between(0, 5)},
	"lat":     {kind: number, plausible: between(-90, 90)},
	"lng":     {kind: number, plausible: between(-180, 180)},
	"currency": {kind: text, fits: func(raw []byte) bool { return len(raw) == 5 }, plausible: func(raw []byte) bool {
		return raw[1] >= 'A' && raw[1] <= 'Z' && raw[2] >= 'A' && raw[2] <= 'Z' && raw[3] >= 'A' && raw[3] <= 'Z'
	}},
	"country": {kind: text, fits: matching("[A-Z]{2}")},
	"uuid":    {kind: text, fits: matching("(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")},
	"jwt":     {kind: text, fits: matching(`[\w-]+\.[\w-]+\.[\w-]*`)},
	"digest":  {kind: text, fits: matching("[0-9a-f]{64}")},
	"time": {kind: text, fits: matching(`\d{4}-?\d\d-?\d\d(T\d\d:?\d\d(:?\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?`), plausible: texts(func(s string) bool {
		at, err := time.Parse(time.RFC3339, s)
		return err != nil || time.Until(at) < clockSkew
	})},
	"date": {kind: text, slow: true, fits: texts(func(s string) bool {
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	})},
	"url": {kind: text, fits: texts(func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.Host != "" && strings.HasPrefix(u.Scheme, "http")
	})},
	"base64": {kind: text, fits: texts(func(s string) bool {
		_, err := base64.StdEncoding.DecodeString(s)
		return err == nil
	})},
}

type shape struct {
	fields   []*field
	named    map[string]*field
	expected uint64 // a bit for each field that is required or marked with ~
	hook     func(*exam, value)
}

type field struct {
	name, want string // want is the documented type
	quoted     string // the name in quotation marks, followed by a colon
	bit        uint64 // the field's bit in shape.expected
	required   bool
	lax        bool // required members of the value may be missing
	closed     bool // no rule needs the members of the value, so their nodes are not kept
	element    *field
	leaf       *leaf
	shape      *shape
	same       []int // indexes of the elements of samenesses that concern this field
}

// In a search for one room, the rate and the totalRate of an offer usually have the same JSON text.
var rate, totalRate = forms["Pkg"].named["rate"], forms["Pkg"].named["totalRate"]

// anything is a value whose type is not documented.
var anything = &field{shape: &shape{}}

// forms maps the name of a type to its shape. answers maps an operation to the shape of the operation's answer.
var forms, answers = compile()

func compile() (all map[string]*shape, answers map[types.Operation]*field) {
	all, answers = map[string]*shape{}, map[types.Operation]*field{}
	for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(shapes), "\n ", " "), "\n") {
		words := strings.Fields(line)
		s := &shape{hook: hooks[words[0]], named: map[string]*field{}}
		for pair := range slices.Chunk(words[1:], 2) {
			f := &field{name: strings.TrimRight(pair[0], "!~"), want: pair[1], bit: 1 << len(s.fields), required: strings.HasSuffix(pair[0], "!")}
			if f.quoted = `"` + f.name + `":`; f.name != pair[0] {
				s.expected |= f.bit
			}
			s.named[f.name] = f
			kind, many := strings.CutPrefix(pair[1], "[]")
			kind, f.lax = strings.CutSuffix(kind, "?")
			if s.fields = append(s.fields, f); many {
				f.element = &field{name: f.name, want: kind, lax: f.lax}
				f = f.element
			}
			f.shape, f.closed = all[kind], slices.Contains(strings.Fields("I18N Naming Board Point Area"), kind)
			if known, ok := leaves[kind]; ok {
				f.leaf = &known
			} else if f.shape == nil {
				f.leaf = oneOf(strings.Split(kind, "|"))
			}
		}
		all[words[0]] = s
		data := &field{name: "data", quoted: `"data":`, want: words[0], bit: 1, shape: s}
		answers[types.Operation(words[0])] = &field{shape: &shape{fields: []*field{data}, named: map[string]*field{"data": data}}}
	}
	for i := range samenesses {
		same := &samenesses[i]
		name, path, _ := strings.Cut(same.what, ".")
		member, _, _ := strings.Cut(path, ".")
		for _, f := range all[name].fields {
			if f.name == member {
				same.below, same.want = strings.Split(path, ".")[1:], "the value of "+same.source
				f.same = append(f.same, i)
			}
		}
	}
	return all, answers
}
