// The sandbox in a separate process, with faults of every kind.

package main

import (
	"encoding/pem"
	"time"

	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const roleSandbox = "sandbox"

// sandboxPlace is the address of the sandbox.
type sandboxPlace struct {
	URL                    string
	AppKey, AppSecret      string
	ClientID, ClientSecret string
	Cities                 []string
	Certificate            []byte
}

// faults are drawn for each request in this order. About one request in five fails.
var faults = []hotelstaystest.Fault{
	{Kind: hotelstaystest.FaultDelay, Delay: 200 * time.Millisecond, Probability: 0.05},
	{Kind: hotelstaystest.FaultSlowBody, Delay: 300 * time.Millisecond, Probability: 0.03},
	{Kind: hotelstaystest.FaultStatus, Status: 503, Probability: 0.03},
	{Kind: hotelstaystest.FaultStatus, Status: 500, Probability: 0.01, Commit: true},
	{Kind: hotelstaystest.FaultStatus, Status: 429, RetryAfter: "1", Probability: 0.003},
	{Kind: hotelstaystest.FaultStatus, Status: 403, Probability: 0.005},
	{Kind: hotelstaystest.FaultCut, Probability: 0.02},
	{Kind: hotelstaystest.FaultCut, Probability: 0.01, Commit: true},
	{Kind: hotelstaystest.FaultCutBeforeRead, Probability: 0.01},
	{Kind: hotelstaystest.FaultCutMidResponse, Probability: 0.02},
	{Kind: hotelstaystest.FaultResetStream, Probability: 0.02},
	{Kind: hotelstaystest.FaultTruncatedBody, Probability: 0.01},
	{Kind: hotelstaystest.FaultGarbage, Probability: 0.01},
	{Kind: hotelstaystest.FaultEmptyBody, Probability: 0.005},
	{Kind: hotelstaystest.FaultWrongType, Probability: 0.005},
	{Kind: hotelstaystest.FaultAlteredBody, Operation: hotelstaystest.OpVoucherDownload, Probability: 0.1},
	{Kind: hotelstaystest.FaultWrongDigest, Operation: hotelstaystest.OpOrderVoucher, Probability: 0.05},
}

// revocation is how often all tokens are revoked.
const revocation = 25 * time.Second

func serveSandbox() error {
	srv := hotelstaystest.NewServer(hotelstaystest.WithTLS(), hotelstaystest.WithCompression(),
		hotelstaystest.WithConfirmAfter(time.Second), hotelstaystest.WithVoucherDelay(100*time.Millisecond), hotelstaystest.WithLedgerLimit(1000))
	defer srv.Close()
	for _, fault := range faults {
		fault.Times = -1 // without end
		srv.Inject(fault)
	}
	place := sandboxPlace{URL: srv.URL, AppKey: srv.AppKey, AppSecret: srv.AppSecret, ClientID: srv.ClientID, ClientSecret: srv.ClientSecret,
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})}
	for i := range srv.CityCount() {
		place.Cities = append(place.Cities, srv.CityID(i))
	}
	go func() {
		for range time.Tick(revocation) {
			srv.RevokeTokens()
		}
	}()
	return origin.Serve(place)
}
