// The request of a booking while it waits for Send.

package durable

import (
	"encoding/json"
	"errors"
	"fmt"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

// storedRequest is a BookRequest in full, which its own JSON is not. Its Expect is in the
// recovery.
type storedRequest struct {
	SessionID   string        `json:"sessionId"`
	RatePkgID   string        `json:"ratePkgId"`
	Holder      types.Holder  `json:"holder"`
	Guests      []storedGuest `json:"guests"`
	CallbackURL string        `json:"callbackUrl,omitempty"`
}

type storedGuest struct {
	types.Guest
	PassportNumber string `json:"passportNumber,omitempty"`
}

// place is where the request of a booking decrypts.
func (b Booking) place() string {
	return "booking request " + b.Recovery.Fingerprint + " " + b.Recovery.CustomerReferenceNo
}

// SealRequest encrypts the request of a waiting booking, to be stored beside it. It holds names
// and passport numbers: erase it with the commit of Start, and when the booking ends.
func (b Booking) SealRequest(ring *keyring.Ring, req *hotelstays.BookRequest) ([]byte, error) {
	stored := storedRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID, Holder: req.Holder, CallbackURL: req.CallbackURL}
	for _, g := range req.Guests {
		stored.Guests = append(stored.Guests, storedGuest{g, g.PassportNumber.Reveal()})
	}
	plain, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be stored: %w", err)
	}
	return ring.Seal(b.place(), plain), nil
}

// OpenRequest decrypts the request of a waiting booking. It decrypts beside this booking alone.
func (b Booking) OpenRequest(ring *keyring.Ring, sealed []byte) (*hotelstays.BookRequest, error) {
	if sealed == nil {
		return nil, errors.New("its request is gone; somebody has changed what was stored by hand")
	}
	plain, err := ring.Open(b.place(), sealed)
	if err != nil {
		return nil, fmt.Errorf("its stored request: %w", err)
	}
	var stored storedRequest
	if err := json.Unmarshal(plain, &stored); err != nil {
		return nil, errors.New("its stored request decrypts, but is no request")
	}
	req := &hotelstays.BookRequest{CustomerReferenceNo: b.Recovery.CustomerReferenceNo, SessionID: stored.SessionID,
		RatePkgID: stored.RatePkgID, Holder: stored.Holder, CallbackURL: stored.CallbackURL, Expect: b.Recovery.Expect}
	for _, g := range stored.Guests {
		if g.PassportNumber != "" {
			g.Guest.PassportNumber = types.NewSecret(g.PassportNumber)
		}
		req.Guests = append(req.Guests, g.Guest)
	}
	return req, nil
}
