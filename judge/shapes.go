// The form of answers: one line for each type of the document.

package judge

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// shapes are the documented types: the members of each and their types. A member with ! is required. []
// stands for a list, | separates the values of an enumeration.
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
Hotel id name platformHotelId name destinationId string name I18N rating rating address I18N latlngCoordinator Point logoURL string
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
Snapshot date string usd rates
OrderHotel hotelId string destinationId string name I18N rating rating address I18N latlngCoordinator Point logoURL string
OrderRoom roomTypeId string roomTypeName I18N hotelId string rates []Pkg ratePkgId! name refundableMode full|partial|no
 refundableUntil string cancelFees []CancelFee originalRoomNaming Naming rate! Rate totalRate! Rate rateComment string
 includesPackaging bool checkIn! date checkOut! date board Board tax Tax roomIndex int guests list refundInfo list
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

// leaf is a type of values that have no members: its form, and what is plausible of it.
type leaf struct {
	fits, plausible func(value) bool
}

func of(k kind) func(value) bool { return func(v value) bool { return v.kind() == k } }

// matching is a text with a pattern.
func matching(pattern string) func(value) bool {
	re := regexp.MustCompile("^(?:" + pattern + ")$")
	return func(v value) bool { return v.kind() == text && re.MatchString(v.str()) }
}

// between is a number of a range.
func between(least, most float64) func(value) bool {
	return func(v value) bool {
		n, ok := v.number()
		return ok && n >= least && n <= most
	}
}

func integer(v value) bool { _, ok := v.int(); return ok }

const huge = 1e15

var leaves = map[string]leaf{
	"string":  {fits: of(text)},
	"name":    {fits: func(v value) bool { return v.kind() == text && len(v.raw()) > 2 }},
	"bool":    {fits: of(boolean)},
	"int":     {fits: integer},
	"list":    {fits: of(list)},
	"count":   {integer, between(0, huge)},
	"version": {fits: func(v value) bool { n, ok := v.int(); return ok && n >= 1 }},
	"amount":  {of(number), func(v value) bool { return v.raw()[0] != '-' }},
	"rating":  {fits: between(0, 5)},
	"lat":     {of(number), between(-90, 90)},
	"lng":     {of(number), between(-180, 180)},
	"currency": {func(v value) bool { return v.kind() == text && len(v.raw()) == 5 }, func(v value) bool {
		code := v.raw()
		return code[1] >= 'A' && code[1] <= 'Z' && code[2] >= 'A' && code[2] <= 'Z' && code[3] >= 'A' && code[3] <= 'Z'
	}},
	"country": {fits: matching("[A-Z]{2}")},
	"uuid":    {fits: matching("(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")},
	"jwt":     {fits: matching(`[\w-]+\.[\w-]+\.[\w-]*`)},
	"digest":  {fits: matching("[0-9a-f]{64}")},
	"time":    {fits: matching(`\d{4}-?\d\d-?\d\d([T ]\d\d:?\d\d(:?\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?`)},
	"date": {fits: func(v value) bool {
		_, err := time.Parse(time.DateOnly, v.str())
		return err == nil
	}},
	"url": {fits: func(v value) bool {
		u, err := url.Parse(v.str())
		return err == nil && u.Host != "" && strings.HasPrefix(u.Scheme, "http")
	}},
	"base64": {fits: func(v value) bool {
		_, err := base64.StdEncoding.DecodeString(v.str())
		return err == nil
	}},
	"rates": {func(v value) bool {
		for rate := range v.all() {
			if key := rate.key(); rate.kind() != number || len(key) != 3 || key != strings.ToLower(key) {
				return false
			}
		}
		return v.kind() == object
	}, func(v value) bool {
		for rate := range v.all() {
			if n, _ := rate.number(); n <= 0 {
				return false
			}
		}
		return true
	}},
}

// shape is the type of an object.
type shape struct {
	name   string
	fields []*field
	hook   func(*exam, value) // judges what one member alone does not show
}

type field struct {
	name, want     string // the documented type
	required, many bool
	lax            bool // what is required in the elements need not be there
	leaf           *leaf
	shape          *shape
	same           []*sameness
}

// forms are the types by name.
var forms = compile()

func compile() map[string]*shape {
	all := map[string]*shape{}
	for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(shapes), "\n ", " "), "\n") {
		words := strings.Fields(line)
		s := &shape{name: words[0], hook: hooks[words[0]]}
		for pair := range slices.Chunk(words[1:], 2) {
			f := &field{want: pair[1]}
			f.name, f.required = strings.CutSuffix(pair[0], "!")
			kind, many := strings.CutPrefix(pair[1], "[]")
			kind, f.lax = strings.CutSuffix(kind, "?")
			if f.many = many; all[kind] != nil {
				f.shape = all[kind]
			} else if known, ok := leaves[kind]; ok {
				f.leaf = &known
			} else {
				values := strings.Split(kind, "|")
				if strings.Trim(kind, "0123456789|") != "" {
					values = strings.Split(`"`+strings.ReplaceAll(kind, "|", `"|"`)+`"`, "|")
				}
				f.leaf = &leaf{fits: func(v value) bool {
					raw := v.raw()
					return slices.ContainsFunc(values, func(value string) bool { return string(raw) == value })
				}}
			}
			s.fields = append(s.fields, f)
		}
		all[s.name] = s
	}
	for i := range samenesses {
		same := &samenesses[i]
		same.op = map[types.Operation]bool{}
		for op := range strings.FieldsSeq(same.ops) {
			same.op[types.Operation(op)] = true
		}
		name, path, _ := strings.Cut(same.what, ".")
		member, _, _ := strings.Cut(path, ".")
		for _, f := range all[name].fields {
			if f.name == member {
				same.below = strings.Split(path, ".")[1:]
				f.same = append(f.same, same)
			}
		}
	}
	return all
}

// form judges an object and what is below it.
func (x *exam) form(s *shape, o value, lax bool) {
	if !x.is("", o.kind() == object, o, s.name) {
		return
	}
	var seen uint64
	next := 0
	for i := o.at + 1; i < o.nodes[o.at].next; i = o.nodes[i].next {
		n := &o.nodes[i]
		for range s.fields { // members come in their order most of the time
			at := next
			if next++; next == len(s.fields) {
				next = 0
			}
			if f := s.fields[at]; string(o.text[n.key:n.keyEnd]) == f.name {
				if n.kind > null {
					seen |= 1 << at
					x.member(f, value{o.document, i, ""})
				}
				break
			}
		}
	}
	for i, f := range s.fields {
		if f.required && !lax && seen&(1<<i) == 0 {
			x.is("", false, o.get(f.name), f.want)
		}
	}
	if s.hook != nil {
		s.hook(x, o)
	}
}

func (x *exam) member(f *field, v value) {
	if !f.many {
		x.element(f, v)
	} else if x.is("", v.kind() == list, v, f.want) {
		for i := v.at + 1; i < v.nodes[v.at].next; i = v.nodes[i].next {
			x.element(f, value{v.document, i, ""})
		}
	}
}

func (x *exam) element(f *field, v value) {
	switch {
	case f.shape != nil:
		x.form(f.shape, v, f.lax)
	case x.is("", f.leaf.fits(v), v, f.want) && f.leaf.plausible != nil:
		x.is("value/plausible", f.leaf.plausible(v), v, f.want)
	}
	for _, same := range f.same {
		if same.op[x.op] {
			x.same(same, v.get(same.below...))
		}
	}
}
