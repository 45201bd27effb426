// The request of a booking while it waits for Send.

package hotelstayssql

import (
	"encoding/json"
	"errors"
	"fmt"

	hotelstays "github.com/hotelstays/hotelstays-go"
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

func (j *Journal) place(reference string) string {
	return "hotelstays_journal.request " + string(j.account) + " " + reference
}

func (j *Journal) sealRequest(req *hotelstays.BookRequest) ([]byte, error) {
	stored := storedRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID, Holder: req.Holder, CallbackURL: req.CallbackURL}
	for _, g := range req.Guests {
		stored.Guests = append(stored.Guests, storedGuest{g, g.PassportNumber.Reveal()})
	}
	plain, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be stored: %w", err)
	}
	return j.keys.seal(j.place(req.CustomerReferenceNo), plain), nil
}

// openRequest decrypts the request of an entry that waits for Send.
func (j *Journal) openRequest(e *entry) (*hotelstays.BookRequest, error) {
	if e.sealed == nil {
		return nil, errors.New("its request is gone; somebody has changed the row by hand")
	}
	plain, err := j.keys.open(j.place(e.reference), e.sealed)
	if err != nil {
		return nil, fmt.Errorf("its stored request: %w", err)
	}
	var stored storedRequest
	if err := json.Unmarshal(plain, &stored); err != nil {
		return nil, errors.New("its stored request decrypts, but is no request")
	}
	req := &hotelstays.BookRequest{CustomerReferenceNo: e.reference, SessionID: stored.SessionID, RatePkgID: stored.RatePkgID,
		Holder: stored.Holder, CallbackURL: stored.CallbackURL, Expect: e.Recovery.Expect}
	for _, g := range stored.Guests {
		if g.PassportNumber != "" {
			g.Guest.PassportNumber = types.NewSecret(g.PassportNumber)
		}
		req.Guests = append(req.Guests, g.Guest)
	}
	return req, nil
}
