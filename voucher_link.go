// Links of vouchers: the hosts that a document may come from, and its download.

package hotelstays

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/hosts"
	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

const maxVoucherRedirects = 3

// getDocument requests the document of v, and follows redirects. The result links has the URLs of the document and of
// the redirects. These URLs are secret, so no error may contain them.
func (c *Client) getDocument(ctx context.Context, v *types.Voucher) (resp *http.Response, links redact.Links, err error) {
	next := v.DownloadURL
	links = redact.Links{next}
	var u *url.URL
	for {
		if u, err = c.voucherLink(u, next); err != nil {
			return nil, nil, voucherError(v, err, "")
		}
		links = append(links, u.String())
		resp, err = c.requestDocument(ctx, u)
		if err != nil {
			return nil, nil, voucherError(v, links.Clean(transport.WithoutCause(ctx, err)),
				"the document could not be downloaded%s", adviceAfter(err))
		}
		if resp.StatusCode == http.StatusOK {
			return resp, links, nil
		}
		resp.Body.Close()
		next = resp.Header.Get("Location")
		if !isRedirect(resp.StatusCode) || next == "" || v.Signature == nil || v.Signature.Digest == "" || len(links) > 1+maxVoucherRedirects {
			return nil, nil, documentRefused(v, resp.StatusCode)
		}
	}
}

// voucherLink parses a link and checks its host. If the parameter from is not nil, the document at that URL redirects
// to this link.
func (c *Client) voucherLink(from *url.URL, link string) (*url.URL, error) {
	what, parse := "its link", url.Parse
	if from != nil {
		what, parse = "a redirect of its link", from.Parse
	}
	u, err := parse(link)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, fmt.Errorf("%s is not a URL", what)
	}
	host := u.Hostname()
	switch {
	case c.loopback && u.Scheme == "http" && hosts.IsLoopback(host) && (from == nil || from.Host == u.Host):
		return u, nil
	case u.Scheme != "https":
		return nil, fmt.Errorf("%s is not https", what)
	case !c.trustsHost(host) && hosts.Problem(host) != "":
		return nil, fmt.Errorf("%s leads to %.100q, which is not a public host; %s", what, host, trustHost)
	}
	return u, nil
}

// trustsHost reports whether documents may come from a host even if the host is private.
func (c *Client) trustsHost(host string) bool {
	return c.loopback || slices.ContainsFunc(c.voucherHosts, func(h string) bool { return strings.EqualFold(h, host) })
}

func (c *Client) requestDocument(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(userAgent, cmp.Or(c.defaults.Header.Get(userAgent), defaultUserAgent))
	req.Header.Set("Accept-Encoding", "identity") // asks for no compression, because the voucher's digest is for the uncompressed document
	// RoundTrip follows no redirect and has no cookies.
	resp, err := c.documentTransport(req).RoundTrip(req)
	if err == nil && (resp == nil || resp.Body == nil) {
		err = errors.New("the RoundTripper returned neither an answer nor an error")
	}
	return resp, err
}

const trustHost = "if you trust this host, name it in WithVoucherHosts"

// adviceAfter returns the advice after a failed download, or "" if nothing helps.
func adviceAfter(err error) string {
	var certificate *tls.CertificateVerificationError
	var file *fs.PathError
	var inline base64.CorruptInputError
	switch {
	case errors.Is(err, hosts.ErrPrivate):
		return "; " + trustHost
	case errors.As(err, &certificate), errors.As(err, &file), errors.As(err, &inline):
		return ""
	}
	return "; " + tryLater
}

func isRedirect(status int) bool {
	return slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, status)
}

func documentRefused(v *types.Voucher, status int) error {
	err := errors.New("the document could not be downloaded")
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		err = ErrVoucherLinkExpired
	}
	next := ""
	switch {
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		next = "; " + tryLater
	case isRedirect(status):
		next = "; at most three redirects are followed, and none if the voucher has no digest"
	}
	return voucherError(v, err, "HTTP %d%s", status, next)
}

// documentTransport returns a transport that connects only to public addresses. If a proxy or a RoundTripper other than
// *http.Transport connects, it returns the client's transport.
func (c *Client) documentTransport(req *http.Request) http.RoundTripper {
	rt := c.http.Transport
	if _, ok := rt.(defaultTransport); ok {
		rt = http.DefaultTransport
	}
	t, ok := rt.(*http.Transport)
	if !ok || c.trustsHost(req.URL.Hostname()) {
		return rt
	}
	if t.Proxy != nil {
		if proxy, err := t.Proxy(req); proxy != nil || err != nil {
			return rt
		}
	}
	return hosts.Transport(t)
}
