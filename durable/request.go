// The request of a booking while it waits for Send.

package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

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
	Options     storedOptions `json:"options,omitzero"`
}

type storedGuest struct {
	types.Guest
	PassportNumber string `json:"passportNumber,omitempty"`
}

// place is where the request of a booking decrypts.
func (b Booking) place() string {
	return "booking request " + b.Recovery.Fingerprint + " " + b.Recovery.CustomerReferenceNo
}

// storedOptions are the options of a call that are data. Market and UserRef are in the recovery.
type storedOptions struct {
	Language    string            `json:"language,omitempty"`
	ClientIP    string            `json:"clientIp,omitempty"`
	Currency    string            `json:"currency,omitempty"`
	TraceID     string            `json:"traceId,omitempty"`
	TestFlags   map[string]string `json:"testFlags,omitempty"`
	Header      http.Header       `json:"header,omitempty"`
	Timeout     time.Duration     `json:"timeout,omitempty"`
	MaxAttempts int               `json:"maxAttempts,omitempty"`
}

// optionsOf returns the options to store. Those that are no data, such as functions, and those that
// also mean something to the polls, are a *hotelstays.ValidationError.
func optionsOf(opts []hotelstays.CallOption) (storedOptions, error) {
	asked, err := hotelstays.CallOptionsOf(opts...)
	if err != nil {
		return storedOptions{}, err
	}
	refused := &hotelstays.ValidationError{Func: "SealRequest"}
	for _, o := range []struct {
		name  string
		given bool
	}{
		{"WithRequestID", asked.RequestID != nil},
		{"WithClientRequestTimestamp", asked.ClientRequestTimestamp != nil},
		{"WithServiceFacts", asked.ServiceFacts != nil},
		{"WithRawData", asked.RawData},
	} {
		if o.given {
			refused.Fields = append(refused.Fields, hotelstays.FieldError{Path: o.name,
				Problem: "cannot be stored with a booking; give it to the client, or to Send"})
		}
	}
	if refused.Fields != nil {
		return storedOptions{}, refused
	}
	return storedOptions{Language: asked.Language, ClientIP: asked.ClientIP, Currency: asked.Currency, TraceID: asked.TraceID,
		TestFlags: asked.TestFlags, Header: asked.Header, Timeout: asked.Timeout, MaxAttempts: asked.MaxAttempts}, nil
}

// append appends the stored options to opts.
func (o storedOptions) append(opts []hotelstays.CallOption) []hotelstays.CallOption {
	if o.Language != "" {
		opts = append(opts, hotelstays.WithLanguage(o.Language))
	}
	if o.ClientIP != "" {
		opts = append(opts, hotelstays.WithClientIP(o.ClientIP))
	}
	if o.Currency != "" {
		opts = append(opts, hotelstays.WithCurrency(o.Currency))
	}
	if o.TraceID != "" {
		opts = append(opts, hotelstays.WithTraceID(o.TraceID))
	}
	if o.TestFlags != nil {
		opts = append(opts, hotelstays.WithTestFlags(o.TestFlags))
	}
	for name, values := range o.Header {
		for _, value := range values {
			opts = append(opts, hotelstays.WithHeader(name, value))
		}
	}
	if o.Timeout != 0 {
		opts = append(opts, hotelstays.WithTimeout(o.Timeout))
	}
	if o.MaxAttempts != 0 {
		opts = append(opts, hotelstays.WithMaxAttempts(o.MaxAttempts))
	}
	return opts
}

// SealRequest encrypts the request and the options of a waiting booking, to be stored beside it.
// They hold names and passport numbers: erase them with the commit of Start, and when the booking
// ends. WithRequestID, WithClientRequestTimestamp, WithServiceFacts and WithRawData cannot be
// stored, and are a *hotelstays.ValidationError.
func (b Booking) SealRequest(ring *keyring.Ring, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) ([]byte, error) {
	options, err := optionsOf(opts)
	if err != nil {
		return nil, err
	}
	stored := storedRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID, Holder: req.Holder, CallbackURL: req.CallbackURL,
		Options: options}
	for _, g := range req.Guests {
		stored.Guests = append(stored.Guests, storedGuest{g, g.PassportNumber.Reveal()})
	}
	plain, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be stored: %w", err)
	}
	return ring.Seal(b.place(), plain), nil
}

// OpenRequest decrypts the request and the options of a waiting booking. They decrypt beside this
// booking alone.
func (b Booking) OpenRequest(ring *keyring.Ring, sealed []byte) (*hotelstays.BookRequest, []hotelstays.CallOption, error) {
	if sealed == nil {
		return nil, nil, errors.New("its request is gone; somebody has changed what was stored by hand")
	}
	plain, err := ring.Open(b.place(), sealed)
	if err != nil {
		return nil, nil, fmt.Errorf("its stored request: %w", err)
	}
	var stored storedRequest
	if err := json.Unmarshal(plain, &stored); err != nil {
		return nil, nil, errors.New("its stored request decrypts, but is no request")
	}
	req := &hotelstays.BookRequest{CustomerReferenceNo: b.Recovery.CustomerReferenceNo, SessionID: stored.SessionID,
		RatePkgID: stored.RatePkgID, Holder: stored.Holder, CallbackURL: stored.CallbackURL, Expect: b.Recovery.Expect}
	for _, g := range stored.Guests {
		if g.PassportNumber != "" {
			g.Guest.PassportNumber = types.NewSecret(g.PassportNumber)
		}
		req.Guests = append(req.Guests, g.Guest)
	}
	return req, stored.Options.append(b.Options()), nil
}
