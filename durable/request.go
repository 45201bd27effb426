// The request of a booking while it waits for Send.

package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

// storedRequest is the JSON of a BookRequest that is encrypted and stored. Unlike the JSON of BookRequest, it contains
// passport numbers. CustomerReferenceNo and Expect are in the booking's recovery.
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

// place returns the name of a booking to which its encrypted request is bound. The request decrypts only with this
// name.
func (b booking) place() string {
	return "booking request " + b.Recovery.Fingerprint + " " + b.Recovery.CustomerReferenceNo
}

// storedOptions has the fields of hotelstays.CallOptions. A field is stored if it has a JSON name. Market and
// UserRef of a booking are in its recovery.
type storedOptions struct {
	Language string `json:"language,omitempty"`
	Market   string `json:"market,omitempty"`
	UserRef  string `json:"userRef,omitempty"`
	ClientIP string `json:"clientIp,omitempty"`
	Currency string `json:"currency,omitempty"`
	TraceID  string `json:"traceId,omitempty"`

	TestFlags              map[string]string                                `json:"testFlags,omitempty"`
	Header                 http.Header                                      `json:"-"`
	RequestID              func(context.Context) string                     `json:"-"`
	ClientRequestTimestamp func(ctx context.Context, sent time.Time) string `json:"-"`
	Timeout                time.Duration                                    `json:"timeout,omitempty"`
	MaxAttempts            int                                              `json:"maxAttempts,omitempty"`
	Priority               hotelstays.Priority                              `json:"priority,omitempty"`
	ServiceFacts           *hotelstays.ServiceFacts                         `json:"-"`
	RawData                bool                                             `json:"-"`
	// The fields from here on are options of other methods.
	Parallelism      int                                                      `json:"-"`
	BatchSize        int                                                      `json:"-"`
	Wakeup           <-chan struct{}                                          `json:"-"`
	SaveRecovery     func(context.Context, *hotelstays.BookingRecovery) error `json:"-"`
	UnsignedVouchers bool                                                     `json:"-"`
	MaxVoucherBytes  int64                                                    `json:"-"`
}

// unfit is an option that a method does not accept. If the field given is true, the caller has used the option, and the
// function refuse returns an error with the problem.
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

const ofEveryPoll = "is not stored, so workers would poll without it; give it to hotelstays.New"

// checkOptions refuses options of Send that polls would need, too, because workers poll without them.
func (b booking) checkOptions(opts []hotelstays.CallOption) error {
	asked, err := hotelstays.CallOptionsOf(opts...)
	if err != nil {
		return err
	}
	const other = "differs from the stored option, with which workers poll; give it to BeginTx"
	return refuse("Send",
		unfit{"WithMarket", asked.Market != "" && asked.Market != b.Recovery.Market, other},
		unfit{"WithUserRef", asked.UserRef != "" && asked.UserRef != b.Recovery.UserRef, other},
		unfit{"WithHeader", asked.Header != nil, ofEveryPoll})
}

// optionsOf returns the options to store. The error is a *hotelstays.ValidationError for options that are not data,
// such as functions, and for options that every poll needs.
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
	return storedOptions(asked), err
}

func (o storedOptions) append(opts []hotelstays.CallOption) []hotelstays.CallOption {
	opts = withGiven(opts, o.Language, hotelstays.WithLanguage)
	opts = withGiven(opts, o.Market, hotelstays.WithMarket)
	opts = withGiven(opts, o.UserRef, hotelstays.WithUserRef)
	opts = withGiven(opts, o.ClientIP, hotelstays.WithClientIP)
	opts = withGiven(opts, o.Currency, hotelstays.WithCurrency)
	opts = withGiven(opts, o.TraceID, hotelstays.WithTraceID)
	opts = withGiven(opts, o.Timeout, hotelstays.WithTimeout)
	opts = withGiven(opts, o.MaxAttempts, hotelstays.WithMaxAttempts)
	opts = withGiven(opts, o.Priority, hotelstays.WithPriority)
	if o.TestFlags != nil {
		opts = append(opts, hotelstays.WithTestFlags(o.TestFlags))
	}
	return opts
}

func withGiven[V comparable, O hotelstays.CallOption](opts []hotelstays.CallOption, value V, option func(V) O) []hotelstays.CallOption {
	if value == *new(V) {
		return opts
	}
	return append(opts, option(value))
}

// sealRequest encrypts the request and the options of a waiting booking, to be stored with the booking. Because they
// hold names and passport numbers, both are erased before Book is sent, and when the booking ends. For options that
// cannot be stored, see optionsOf.
func (b booking) sealRequest(ring *keyring.Ring, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) ([]byte, error) {
	options, err := optionsOf("BeginTx", opts)
	if err != nil {
		return nil, err
	}
	options.Market, options.UserRef = "", "" // the recovery has Market and UserRef
	stored := storedRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID, Holder: req.Holder, CallbackURL: req.CallbackURL,
		Options: options}
	for _, g := range req.Guests {
		stored.Guests = append(stored.Guests, storedGuest{g, g.PassportNumber.Reveal()})
	}
	plain, _ := json.Marshal(stored) // Marshal cannot fail, because stored holds only texts and numbers
	return ring.Seal(b.place(), plain)
}

// openRequest decrypts the request and the options of a waiting booking. A request that was encrypted for another
// booking cannot be decrypted.
func (b booking) openRequest(ring *keyring.Ring, sealed []byte) (*hotelstays.BookRequest, []hotelstays.CallOption, error) {
	if sealed == nil {
		return nil, nil, errors.New("the booking's stored request is gone: the row was changed by hand")
	}
	plain, err := ring.Open(b.place(), sealed)
	if err != nil {
		return nil, nil, fmt.Errorf("the booking's stored request cannot be decrypted: %w", err)
	}
	var stored storedRequest
	if err := json.Unmarshal(plain, &stored); err != nil {
		return nil, nil, errors.New("the booking's stored request decrypts, but is not a valid request")
	}
	req := &hotelstays.BookRequest{CustomerReferenceNo: b.Recovery.CustomerReferenceNo, SessionID: stored.SessionID,
		RatePkgID: stored.RatePkgID, Holder: stored.Holder, CallbackURL: stored.CallbackURL, Expect: b.Recovery.Expect}
	for _, g := range stored.Guests {
		g.Guest.PassportNumber = types.NewSecret(g.PassportNumber)
		req.Guests = append(req.Guests, g.Guest)
	}
	return req, stored.Options.append(b.options()), nil
}
