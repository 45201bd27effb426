// The request of a booking while it waits for Send.

package durable

import (
	"encoding/json"
	"errors"
	"fmt"
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
func (b booking) place() string {
	return "booking request " + b.Recovery.Fingerprint + " " + b.Recovery.CustomerReferenceNo
}

// storedOptions are the options of a call that are data. Market and UserRef of a booking are in its
// recovery.
type storedOptions struct {
	Market      string            `json:"market,omitempty"`
	UserRef     string            `json:"userRef,omitempty"`
	Language    string            `json:"language,omitempty"`
	ClientIP    string            `json:"clientIp,omitempty"`
	Currency    string            `json:"currency,omitempty"`
	TraceID     string            `json:"traceId,omitempty"`
	TestFlags   map[string]string `json:"testFlags,omitempty"`
	Timeout     time.Duration     `json:"timeout,omitempty"`
	MaxAttempts int               `json:"maxAttempts,omitempty"`

	Priority hotelstays.Priority `json:"priority,omitempty"`
}

// unfit is an option that a booking cannot have.
type unfit struct {
	option  string
	given   bool
	problem string
}

func refuse(method string, options ...unfit) error {
	refused := &hotelstays.ValidationError{Func: method}
	for _, o := range options {
		if o.given {
			refused.Fields = append(refused.Fields, hotelstays.FieldError{Path: o.option, Problem: o.problem})
		}
	}
	if refused.Fields == nil {
		return nil
	}
	return refused
}

const ofEveryPoll = "is not stored, so that workers would poll without it; give it to hotelstays.New"

// checkOptions refuses options of Book that make a difference to polls: those of a worker lack them.
func (b booking) checkOptions(opts []hotelstays.CallOption) error {
	asked, err := hotelstays.CallOptionsOf(opts...)
	if err != nil {
		return err
	}
	const other = "is not the one that the booking was stored with, and that workers poll with; give it when you store the booking"
	return refuse("Send",
		unfit{"WithMarket", asked.Market != "" && asked.Market != b.Recovery.Market, other},
		unfit{"WithUserRef", asked.UserRef != "" && asked.UserRef != b.Recovery.UserRef, other},
		unfit{"WithHeader", asked.Header != nil, ofEveryPoll})
}

// optionsOf returns the options to store. Those that are no data, such as functions, and those that
// polls need as well as Book, are a *hotelstays.ValidationError.
func optionsOf(method string, opts []hotelstays.CallOption) (storedOptions, error) {
	asked, err := hotelstays.CallOptionsOf(opts...)
	if err != nil {
		return storedOptions{}, err
	}
	const noData = "cannot be stored with a booking; give it to "
	err = refuse(method,
		unfit{"WithRequestID", asked.RequestID != nil, noData + "the client, or to Send"},
		unfit{"WithClientRequestTimestamp", asked.ClientRequestTimestamp != nil, noData + "the client, or to Send"},
		unfit{"WithWakeup", asked.Wakeup != nil, noData + "Send"},
		unfit{"WithSaveRecovery", asked.SaveRecovery != nil, noData + "Send"},
		unfit{"WithRawData", asked.RawData, "has no effect on a booking that is sent later; leave it out"},
		unfit{"WithServiceFacts", asked.ServiceFacts != nil, ofEveryPoll},
		unfit{"WithHeader", asked.Header != nil, ofEveryPoll})
	return storedOptions{Market: asked.Market, UserRef: asked.UserRef, Language: asked.Language, ClientIP: asked.ClientIP,
		Currency: asked.Currency, TraceID: asked.TraceID, TestFlags: asked.TestFlags, Timeout: asked.Timeout, MaxAttempts: asked.MaxAttempts,
		Priority: asked.Priority}, err
}

// raw is what a Cancellation keeps; readOptions reads it. None is nil.
func (o storedOptions) raw() json.RawMessage {
	text, _ := json.Marshal(o) // texts and numbers alone
	if string(text) == "{}" {
		return nil
	}
	return text
}

func readOptions(raw json.RawMessage) (o storedOptions) {
	_ = json.Unmarshal(raw, &o)
	return o
}

// append appends the stored options to opts.
func (o storedOptions) append(opts []hotelstays.CallOption) []hotelstays.CallOption {
	for _, text := range []struct {
		value  string
		option func(string) hotelstays.SharedOption
	}{{o.Market, hotelstays.WithMarket}, {o.UserRef, hotelstays.WithUserRef}, {o.Language, hotelstays.WithLanguage},
		{o.ClientIP, hotelstays.WithClientIP}, {o.Currency, hotelstays.WithCurrency}} {
		if text.value != "" {
			opts = append(opts, text.option(text.value))
		}
	}
	if o.TraceID != "" {
		opts = append(opts, hotelstays.WithTraceID(o.TraceID))
	}
	if o.TestFlags != nil {
		opts = append(opts, hotelstays.WithTestFlags(o.TestFlags))
	}
	if o.Timeout != 0 {
		opts = append(opts, hotelstays.WithTimeout(o.Timeout))
	}
	if o.MaxAttempts != 0 {
		opts = append(opts, hotelstays.WithMaxAttempts(o.MaxAttempts))
	}
	if o.Priority != 0 {
		opts = append(opts, hotelstays.WithPriority(o.Priority))
	}
	return opts
}

// sealRequest encrypts the request and the options of a waiting booking, to be stored beside it.
// They hold names and passport numbers: erase them with the commit of start, and when the booking
// ends. Options that are no data, and WithHeader and WithServiceFacts, which polls need, too, are a
// *hotelstays.ValidationError.
func (b booking) sealRequest(ring *keyring.Ring, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) ([]byte, error) {
	options, err := optionsOf("BeginTx", opts)
	if err != nil {
		return nil, err
	}
	options.Market, options.UserRef = "", "" // in the recovery
	stored := storedRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID, Holder: req.Holder, CallbackURL: req.CallbackURL,
		Options: options}
	for _, g := range req.Guests {
		stored.Guests = append(stored.Guests, storedGuest{g, g.PassportNumber.Reveal()})
	}
	plain, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be stored: %w", err)
	}
	return ring.Seal(b.place(), plain)
}

// openRequest decrypts the request and the options of a waiting booking. They decrypt beside this
// booking alone.
func (b booking) openRequest(ring *keyring.Ring, sealed []byte) (*hotelstays.BookRequest, []hotelstays.CallOption, error) {
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
	return req, stored.Options.append(b.options()), nil
}
