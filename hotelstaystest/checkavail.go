// The CheckAvail operation.

package hotelstaystest

import "strings"

type checkAvailRequest struct {
	RatePkgID string `json:"ratePkgId"`
}

type checkAvailResponse struct {
	Status               int                   `json:"status"`
	StatusRemark         string                `json:"statusRemark,omitempty"`
	RoomRatePkg          *roomRatePkg          `json:"roomRatePkg,omitempty"`
	ExchangeRateSnapshot *exchangeRateSnapshot `json:"exchangeRateSnapshot,omitempty"`
}

// runCheckAvail answers an offer's present price. An offer that is gone is unavailable,
// not an error.
func runCheckAvail(s *Server, c *call, req *checkAvailRequest) (*checkAvailResponse, error) {
	if req.RatePkgID == "" {
		return nil, badRequest("ratePkgId is required")
	}
	o, err := s.findOffer(req.RatePkgID, c.session)
	if err != nil {
		return nil, err
	}
	resp := &checkAvailResponse{Status: s.cfg.Variants.Available}
	switch {
	case s.market.of(o).closed || c.priced(o).code == "":
		resp.Status = 3 - s.cfg.Variants.Available
		resp.StatusRemark = "The offer is no longer available."
	default:
		if s.market.show(req.RatePkgID, o) {
			resp.StatusRemark = "The price or inventory of the offer has changed since it was shown."
		}
		pkg := s.world.ratePackage(o, req.RatePkgID, s.price(o, c.priced(o)))
		resp.RoomRatePkg = &pkg
		resp.ExchangeRateSnapshot = s.snapshot(c.priced(o))
	}
	return resp, nil
}

// priced is the currency of the Currency header, or else of the search.
func (c *call) priced(o offer) currency {
	if c.hasCurrency {
		return c.currency
	}
	shown, _ := findCurrency(o.currency)
	return shown
}

func (s *Server) snapshot(c currency) *exchangeRateSnapshot {
	return &exchangeRateSnapshot{
		Date: s.clock.now().UTC().Format(dateForm),
		USD:  map[string]micro{strings.ToLower(c.code): c.perUSD},
	}
}
