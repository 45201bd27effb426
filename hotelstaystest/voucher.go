// OrderVoucher, and the documents behind downloadUrl and verifyUrl.

package hotelstaystest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

const (
	maxInline    = 8 << 20 // maximum size of an inline document in bytes
	downloadPath = "/vouchers/"
	verifyPath   = "/verify/"
)

type voucherState struct {
	version int       // 0: no voucher yet
	issued  time.Time // time at which the document of this version is ready
	failed  bool
}

func (o *order) voucherStatus(now time.Time) string {
	switch {
	case o.isCancelled():
		return "CANCELLED"
	case o.voucher.failed:
		return "FAILED"
	case o.voucher.version == 0:
		return "NOT_GENERATED"
	case now.Before(o.voucher.issued):
		return "PENDING"
	}
	return "GENERATED"
}

func (o *order) voucherNumber() string { return "V" + o.platformRef[2:] }

func (st *orderStore) byVoucher(number string) *order {
	if digits, ok := strings.CutPrefix(number, "V"); ok {
		return st.byPlatform["PO"+digits]
	}
	return nil
}

type orderVoucherRequest struct {
	references
	IncludeDocument bool `json:"includeDocument"`
}

type orderVoucherResponse struct {
	references
	Status  string       `json:"status"`
	Voucher *voucherBody `json:"voucher,omitempty"`
}

type voucherSignature struct {
	Alg       string `json:"alg"`
	KeyID     string `json:"keyId"`
	Digest    string `json:"digest"`
	Signature string `json:"signature"`
	SignedAt  string `json:"signedAt"`
}

type voucherContent struct {
	ContentType string `json:"contentType"`
	ByteSize    int    `json:"byteSize"`
	Base64      string `json:"base64"`
}

type voucherBody struct {
	VoucherNumber string            `json:"voucherNumber"`
	Version       int               `json:"version"`
	IssuedAt      string            `json:"issuedAt"`
	ContentType   string            `json:"contentType"`
	ByteSize      int               `json:"byteSize"`
	VerifyURL     string            `json:"verifyUrl"`
	DownloadURL   string            `json:"downloadUrl"`
	ExpiresIn     int               `json:"expiresIn"`
	Signature     *voucherSignature `json:"signature,omitempty"`
	Content       *voucherContent   `json:"content,omitempty"`
}

func runOrderVoucher(s *Server, c *call, req *orderVoucherRequest) (*orderVoucherResponse, error) {
	if req.references == (references{}) {
		return nil, badRequest("customerReferenceNo, platformReferenceNo or supplierReferenceNo is required")
	}
	now := s.lock()
	defer s.unlock()
	o := s.orders.find(c.account, req.references)
	if o == nil {
		return nil, notFound()
	}
	resp := &orderVoucherResponse{references: references{o.customerRef, o.platformRef, o.supplierRef}, Status: o.voucherStatus(now)}
	if resp.Status != "GENERATED" {
		return resp, nil
	}
	doc := s.document(o)
	if req.IncludeDocument && len(doc) > maxInline {
		return nil, fail(http.StatusBadRequest, types.CodeVoucherTooLarge,
			"the document has %d bytes, too many for inline (%d); use downloadUrl", len(doc), maxInline)
	}
	resp.Voucher = s.voucherBody(s.baseURL(c), o, doc, now, req.IncludeDocument)
	return resp, nil
}

func (s *Server) voucherBody(base string, o *order, doc []byte, now time.Time, inline bool) *voucherBody {
	life := s.cfg.VoucherLinkLifetime
	v := &voucherBody{
		VoucherNumber: o.voucherNumber(), Version: o.voucher.version, IssuedAt: stamp(o.voucher.issued),
		ContentType: "application/pdf", ByteSize: len(doc), VerifyURL: base + verifyPath + o.voucherNumber(),
		DownloadURL: base + s.signedPath(o, now.Add(life)), ExpiresIn: int(life / time.Second),
	}
	if !s.cfg.UnsignedVouchers {
		digest := sha256Hex(doc)
		v.Signature = &voucherSignature{
			Alg: "HMAC-SHA256", KeyID: "sandbox-key-1", Digest: digest,
			Signature: hex.EncodeToString(s.mac("voucher", digest)), SignedAt: stamp(o.voucher.issued),
		}
	}
	if inline {
		v.Content = &voucherContent{ContentType: "application/pdf", ByteSize: len(doc), Base64: base64.StdEncoding.EncodeToString(doc)}
	}
	return v
}

// document renders an order's voucher. The bytes are the same until the voucher has a new version.
func (s *Server) document(o *order) []byte {
	w := s.world
	lines := []string{
		"HOTEL VOUCHER " + o.voucherNumber(),
		fmt.Sprintf("Version %d, issued %s", o.voucher.version, stamp(o.voucher.issued)),
		"Booking " + o.platformRef + ", confirmation " + o.confirmNo,
		"Hotel: " + w.hotelName(o.offer.hotel).En,
		"Address: " + w.hotelAddress(o.offer.hotel).En,
		"Check-in: " + o.offer.checkIn.Format(dateForm) + "   Check-out: " + o.offer.checkOut().Format(dateForm),
		fmt.Sprintf("Rooms: %d x %s, %s",
			len(o.offer.rooms), w.roomName(o.offer.hotel, o.offer.room).En, w.board(o.offer).BoardName.En),
		"Made by a test server. Not valid for travel.",
	}
	for _, g := range o.guests {
		lines = append(lines, fmt.Sprintf("Guest, room %d: %s %s", g.RoomIndex, g.FirstName, g.LastName))
	}
	return renderPDF(lines, s.cfg.VoucherSize)
}

// baseURL returns the base URL for links in an answer: [Server.URL], or with AllowRemote the host that the client has
// used.
func (s *Server) baseURL(c *call) string {
	if s.cfg.AllowRemote && c.host != "" {
		scheme, _, _ := strings.Cut(s.URL, ":")
		return scheme + "://" + c.host
	}
	return s.URL
}

func (s *Server) signedPath(o *order, until time.Time) string {
	path := fmt.Sprintf("%s%s/%d.pdf", downloadPath, o.voucherNumber(), o.voucher.version)
	expires := strconv.FormatInt(until.UnixNano(), 10)
	q := url.Values{"expires": {expires}, "proof": {s.linkProof(path, expires)}}
	return path + "?" + q.Encode()
}

func (s *Server) linkProof(path, expires string) string {
	return hex.EncodeToString(s.mac("link", path+"\x00"+expires))
}

// documentAt returns the operation that serves the GET of a path. For an unknown path, the name of the operation is
// empty.
func documentAt(path string) *operation {
	switch {
	case strings.HasPrefix(path, downloadPath):
		return &operation{name: OpVoucherDownload}
	case strings.HasPrefix(path, verifyPath):
		return &operation{name: OpVoucherVerify}
	}
	return new(operation)
}

func (s *Server) serveDocument(r *http.Request, c *call) (any, error) {
	if c.op.name == "" {
		return nil, fail(http.StatusNotFound, codeNoSuchOperation, "no operation at path %s", r.URL.Path)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil, fail(http.StatusMethodNotAllowed, codeNoSuchOperation, "a document is read with GET, not with %s", r.Method)
	}
	if c.op.name == OpVoucherVerify {
		return s.verifyPage(strings.TrimPrefix(r.URL.Path, verifyPath))
	}
	return s.download(r, c)
}

// download serves a document. It refuses a request with a token, because the link needs no token, and
// a client that sends its token to such a link would leak it.
func (s *Server) download(r *http.Request, c *call) (any, error) {
	if c.header.Get("Authorization") != "" {
		return nil, badRequest("send no Authorization header to a downloadUrl: the link needs no token")
	}
	q := r.URL.Query()
	expires, err := strconv.ParseInt(q.Get("expires"), 10, 64)
	if err != nil || !sameText(q.Get("proof"), s.linkProof(r.URL.Path, q.Get("expires"))) {
		return nil, forbidden("the link is not valid")
	}
	now := s.lock()
	defer s.unlock()
	if !now.Before(time.Unix(0, expires)) {
		return nil, forbidden("the link has expired; call OrderVoucher for a new link")
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, downloadPath), "/")
	o := s.orders.byVoucher(number)
	if o == nil || !strings.HasSuffix(r.URL.Path, fmt.Sprintf("/%d.pdf", o.voucher.version)) {
		return nil, fail(http.StatusGone, types.CodeNotFound, "the voucher has a newer version; call OrderVoucher for a new link")
	}
	doc := s.document(o)
	return &answer{status: http.StatusOK, body: doc, header: http.Header{"Content-Type": {"application/pdf"}}}, nil
}

func (s *Server) verifyPage(number string) (any, error) {
	now := s.lock()
	defer s.unlock()
	text := "No such voucher.\n"
	if o := s.orders.byVoucher(number); o != nil {
		text = fmt.Sprintf("Voucher %s, version %d: %s\n", number, o.voucher.version, o.voucherStatus(now))
	}
	return &answer{status: http.StatusOK, body: []byte(text), header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}}, nil
}

// FailVoucher sets the status of an order's voucher to FAILED.
func (s *Server) FailVoucher(reference string) { panicOn("FailVoucher", s.failVoucher(reference)) }

func (s *Server) failVoucher(reference string) error {
	return s.withOrder(reference, func(o *order, _ time.Time) error { o.voucher.failed = true; return nil })
}

// RegenerateVoucher issues a new version of an order's voucher after [Config.VoucherDelay].
// The old version is superseded immediately. RegenerateVoucher panics if there is no voucher yet.
func (s *Server) RegenerateVoucher(reference string) {
	panicOn("RegenerateVoucher", s.regenerateVoucher(reference))
}

func (s *Server) regenerateVoucher(reference string) error {
	return s.withOrder(reference, func(o *order, now time.Time) error {
		if o.voucher.version == 0 {
			return refuse(http.StatusConflict, "reference", "reference %q: the order has no voucher yet", reference)
		}
		o.voucher = voucherState{version: o.voucher.version + 1, issued: now.Add(length(s.cfg.VoucherDelay))}
		return nil
	})
}
