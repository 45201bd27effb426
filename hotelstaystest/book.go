// The Book operation.

package hotelstaystest

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

const maxPassport = 50 // characters

type bookRequest struct {
	CustomerReferenceNo string         `json:"customerReferenceNo"`
	RatePkgID           string         `json:"ratePkgId"`
	Holder              *holder        `json:"holder"`
	Guests              []guestRequest `json:"guests"`
	CallbackURL         string         `json:"callbackUrl"`
}

type guestRequest struct {
	RoomIndex *int `json:"roomIndex"`
	guest
}

type bookResponse struct {
	HotelOrder *orderBody `json:"hotelOrder"`
}

// runBook makes an order, or returns the order that the reference already has.
func runBook(s *Server, c *call, req *bookRequest) (*bookResponse, error) {
	if err := s.checkBook(c, req); err != nil {
		return nil, err
	}
	now := s.lock()
	defer s.unlock()
	if o := s.orders.byReference(c.account, req.CustomerReferenceNo); o != nil {
		s.ledger.reused.Add(1)
		return &bookResponse{s.orderBody(o)}, nil
	}
	off, err := s.findOffer(req.RatePkgID, c.session)
	if err != nil {
		return nil, err
	}
	guests, err := s.readGuests(req.Guests, len(off.rooms))
	if err != nil {
		return nil, err
	}
	if c.priced(off).code == "" {
		return nil, badRequest("no prices in currency %s", c.header.Get("Currency"))
	}
	content := contentKey(off, guests)
	if twin := s.orders.activeContent(c.account, content); twin != nil {
		s.ledger.duplicates.Add(1)
		return nil, s.businessFailure(types.CodeDuplicateBooking, "active booking with the same content: platformReferenceNo %s, "+
			"customerReferenceNo %s", twin.platformRef, twin.customerRef)
	}
	if s.market.stale(req.RatePkgID, off) || s.market.of(off).closed {
		return nil, s.businessFailure(types.CodeRateChanged, "ARI changed since the rate was last checked; call CheckAvail again")
	}
	o := s.orders.create(c, req, off, guests, content, now)
	return &bookResponse{s.orderBody(o)}, nil
}

// businessFailure returns a refusal with the HTTP status in [Variants.BusinessFailureStatus].
func (s *Server) businessFailure(code int, format string, args ...any) *failure {
	return fail(s.cfg.Variants.BusinessFailureStatus, code, format, args...)
}

// checkBook refuses a request that lacks a required field or has a forbidden callback URL.
func (s *Server) checkBook(c *call, req *bookRequest) error {
	switch {
	case req.CustomerReferenceNo == "":
		return badRequest("customerReferenceNo is required")
	case req.RatePkgID == "":
		return badRequest("ratePkgId is required")
	case req.Holder == nil:
		return badRequest("holder is required")
	case req.Holder.FirstName == "" || req.Holder.LastName == "":
		return badRequest("holder.firstName and holder.lastName are required")
	case len(req.Guests) == 0:
		return badRequest("guests is required")
	}
	if req.CallbackURL == "" {
		return nil
	}
	if c.oauth {
		return badRequest("callbackUrl requires a ticket; an OAuth access token cannot register callbacks")
	}
	if why := s.refusedCallback(req.CallbackURL); why != "" {
		return badRequest("callbackUrl %s", why)
	}
	return nil
}

// refusedCallback returns why a callback URL is refused, or "".
func (s *Server) refusedCallback(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return "is not an absolute URL"
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, ipErr := netip.ParseAddr(host)
	loopback := host == "localhost" || (ipErr == nil && ip.Unmap().IsLoopback())
	taken := s.cfg.Webhooks.allowsHost(host) || loopback && !s.cfg.Webhooks.StrictCallbacks
	if taken && (u.Scheme == "http" || u.Scheme == "https") {
		return ""
	}
	switch {
	case u.Scheme != "https":
		return "must be https"
	case ipErr == nil && !public(ip.Unmap()):
		return "must not be a private, loopback or shared address"
	case ipErr != nil && privateName(host):
		return "must not be a private host name"
	}
	return ""
}

func privateName(host string) bool {
	suffix := host[strings.LastIndexByte(host, '.')+1:]
	return suffix == host || slices.Contains([]string{"internal", "local", "localhost"}, suffix)
}

// carrierNAT is the shared address space of carrier-grade NAT (RFC 6598).
var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")

func public(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !carrierNAT.Contains(ip)
}

// readGuests checks the guests. It keeps only the last four characters of a passport number.
func (s *Server) readGuests(reqs []guestRequest, rooms int) ([]orderGuest, error) {
	var guests []orderGuest
	for i, g := range reqs {
		if err := s.checkGuest(fmt.Sprintf("guests[%d].", i), g, rooms); err != nil {
			return nil, err
		}
		g.PassportNumber = lastFour(g.PassportNumber)
		guests = append(guests, orderGuest{*g.RoomIndex, g.guest})
	}
	return guests, nil
}

var genders = []string{"MALE", "FEMALE", "OTHER", "UNSPECIFIED", "M", "F"}

func (s *Server) checkGuest(at string, g guestRequest, rooms int) error {
	switch {
	case g.RoomIndex == nil:
		return badRequest("%sroomIndex is required", at)
	case *g.RoomIndex < 1 || *g.RoomIndex > rooms:
		return badRequest("%sroomIndex must be between 1 and %d, not %d", at, rooms, *g.RoomIndex)
	case g.FirstName == "" || g.LastName == "":
		return badRequest("%sfirstName and %slastName are required", at, at)
	case g.Age != nil && *g.Age < 0:
		return badRequest("%sage cannot be negative", at)
	case g.Gender != "" && !slices.Contains(genders, strings.ToUpper(g.Gender)):
		return badRequest("%sgender must be MALE, FEMALE, OTHER or UNSPECIFIED, not %q", at, g.Gender)
	case len([]rune(g.PassportNumber)) > maxPassport:
		return badRequest("%spassportNumber can have at most %d characters", at, maxPassport)
	case g.IsChild && g.DateOfBirth == "" && g.Age == nil:
		return badRequest("%sdateOfBirth (or age) is required for a child", at)
	}
	if g.DateOfBirth != "" {
		if _, err := time.Parse(dateForm, g.DateOfBirth); err != nil {
			return badRequest("%sdateOfBirth must be a date YYYY-MM-DD", at)
		}
	}
	for field, value := range map[string]string{"gender": g.Gender, "dateOfBirth": g.DateOfBirth, "passportNumber": g.PassportNumber} {
		if value == "" && slices.Contains(s.cfg.RequiredGuestFields, field) {
			return badRequest("%s%s is required by the supplier contract", at, field)
		}
	}
	return checkCountry(at+"nationalityCode", g.NationalityCode)
}

func lastFour(passport string) string {
	r := []rune(passport)
	return string(r[max(0, len(r)-4):])
}

// contentKey returns the same key for bookings with the same hotel, dates, rooms and guests.
func contentKey(o offer, guests []orderGuest) string {
	names := make([]string, len(guests))
	for i, g := range guests {
		names[i] = strings.ToLower(fmt.Sprintf("%d|%s|%s", g.RoomIndex, strings.TrimSpace(g.FirstName), strings.TrimSpace(g.LastName)))
	}
	slices.Sort(names)
	text := fmt.Sprintf("%d;%s;%d;%d;%s;%s",
		o.hotel, o.checkIn.Format(dateForm), o.nights, o.room, o.roomText(), strings.Join(names, ";"))
	return sha256Hex([]byte(text))[:32]
}
