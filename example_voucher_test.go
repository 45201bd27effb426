// Examples of vouchers and their documents.

package hotelstays_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// AwaitVoucher polls until the status of the voucher is final. SaveVoucher writes a complete, verified
// file, or no file.
func ExampleClient_SaveVoucher() {
	ctx := context.Background()
	srv, client, order := bookedWithVoucher(ctx)
	defer srv.Close()
	dir, err := os.MkdirTemp("", "vouchers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	req := &hotelstays.OrderVoucherRequest{PlatformReferenceNo: order.PlatformReferenceNo}
	state, err := client.AwaitVoucher(ctx, req)
	if err != nil || state.Status != types.VoucherGenerated {
		fmt.Println("no document:", err)
		return
	}
	path := filepath.Join(dir, order.PlatformReferenceNo+".pdf")
	voucher, err := client.SaveVoucher(ctx, req, path)
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.Stat(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Name(), "whole:", file.Size() == voucher.ByteSize)
	// Output: PO000000001.pdf whole: true
}

// OpenVoucher returns a document that http.ServeContent can serve. A browser may ask for parts of the document.
func ExampleClient_OpenVoucher() {
	srv, client, _ := bookedWithVoucher(context.Background())
	defer srv.Close()

	serve := func(w http.ResponseWriter, r *http.Request) {
		document, err := client.OpenVoucher(r.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"})
		if err != nil {
			http.Error(w, "there is no voucher", http.StatusBadGateway)
			return
		}
		defer document.Close()
		w.Header().Set("Content-Type", document.Voucher.ContentType)
		http.ServeContent(w, r, "", time.Time{}, document)
	}
	answer := httptest.NewRecorder()
	serve(answer, httptest.NewRequest(http.MethodGet, "/orders/ref-1/voucher", nil))
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"), answer.Body.String()[:5])
	// Output: 200 application/pdf %PDF-
}

// DownloadVoucher writes nothing until the document is verified. Here the first document arrives with altered bytes.
func ExampleClient_DownloadVoucher() {
	ctx := context.Background()
	srv, client, order := bookedWithVoucher(ctx)
	defer srv.Close()
	resp, err := client.OrderVoucher(ctx, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: order.PlatformReferenceNo})
	if err != nil {
		log.Fatal(err)
	}
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpVoucherDownload, Kind: hotelstaystest.FaultAlteredBody})

	var document bytes.Buffer
	err = client.DownloadVoucher(ctx, resp.Voucher, &document)
	fmt.Println("altered:", errors.Is(err, hotelstays.ErrVoucherAltered), "bytes:", document.Len())

	if err := client.DownloadVoucher(ctx, resp.Voucher, &document); err != nil {
		log.Fatal(err)
	}
	fmt.Println("again:", string(document.Bytes()[:5]))
	// Output:
	// altered: true bytes: 0
	// again: %PDF-
}

// VerifyVoucher verifies a document that you did not download with the client.
func ExampleVerifyVoucher() {
	document := []byte("the document of a voucher")
	voucher := &types.Voucher{
		ByteSize:  25,
		Signature: &types.VoucherSignature{Digest: "449bdee19d8c267964596069f9eca2ae7018b956af9146ac1a2f9932f04e1a05"},
	}
	fmt.Println(hotelstays.VerifyVoucher(document, voucher))
	fmt.Println(errors.Is(hotelstays.VerifyVoucher(document[1:], voucher), hotelstays.ErrVoucherAltered))
	// Output:
	// <nil>
	// true
}

// bookedWithVoucher starts a sandbox with an order whose voucher is ready.
func bookedWithVoucher(ctx context.Context, config ...hotelstaystest.Config) (*hotelstaystest.Server, *hotelstays.Client, *types.Order) {
	c := append(config, hotelstaystest.Config{})[0]
	c.ConfirmAfter, c.VoucherDelay = hotelstaystest.AtOnce, hotelstaystest.AtOnce
	srv, client := startSandbox(c)
	_, order := bookRoom(ctx, srv, client, "ref-1")
	return srv, client, order
}
