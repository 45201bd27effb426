package hosts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/redact"
)

// Documents gets documents from links of the service. It connects only to public hosts, and to the trusted hosts.
type Documents struct {
	Transport http.RoundTripper
	UserAgent string
	Trusted   []string // private hosts that may have documents
	// Loopback is for a service on this machine, as in tests: then every host is trusted, and loopback needs no https.
	Loopback bool
}

// LinkError reports a link that must not be followed.
type LinkError struct {
	problem   string
	NotPublic bool
}

func (e *LinkError) Error() string { return e.problem }

// Get requests the document at a link, and follows redirects. The last answer may still be a redirect. The result links
// has the URLs of the document and of the redirects. These URLs are secret, and an error of the transport may contain them.
// A *LinkError contains no URL, so links is then nil.
func (d *Documents) Get(ctx context.Context, link string, redirects int) (resp *http.Response, links redact.Links, err error) {
	links = redact.Links{link}
	var u *url.URL
	for next := link; ; redirects-- {
		if u, err = d.parse(u, next); err != nil {
			return nil, nil, err
		}
		links = append(links, u.String())
		if resp, err = d.request(ctx, u); err != nil {
			return nil, links, err
		}
		if next = resp.Header.Get("Location"); !IsRedirect(resp.StatusCode) || next == "" || redirects == 0 {
			return resp, links, nil
		}
		_ = resp.Body.Close()
	}
}

// IsRedirect reports whether an answer with this status names another link.
func IsRedirect(status int) bool {
	return slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, status)
}

// parse parses a link and checks its host. If the parameter from is not nil, the document at that URL redirects to this
// link.
func (d *Documents) parse(from *url.URL, link string) (*url.URL, error) {
	what, parse := "its link", url.Parse
	if from != nil {
		what, parse = "a redirect of its link", from.Parse
	}
	u, err := parse(link)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, &LinkError{problem: what + " is not a URL"}
	}
	host := u.Hostname()
	switch {
	case d.Loopback && u.Scheme == "http" && IsLoopback(host) && (from == nil || from.Host == u.Host):
		return u, nil
	case u.Scheme != "https":
		return nil, &LinkError{problem: what + " is not https"}
	case !d.trusts(host) && Problem(host) != "":
		return nil, &LinkError{fmt.Sprintf("%s leads to %.100q, which is not a public host", what, host), true}
	}
	return u, nil
}

// trusts reports whether documents may come from a host even if the host is private.
func (d *Documents) trusts(host string) bool {
	return d.Loopback || slices.ContainsFunc(d.Trusted, func(h string) bool { return strings.EqualFold(h, host) })
}

func (d *Documents) request(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", d.UserAgent)
	req.Header.Set("Accept-Encoding", "identity") // asks for no compression, because a digest is for the uncompressed document
	resp, err := d.transport(req).RoundTrip(req)  // an http.Client would follow redirects, and quote the link in its errors
	if err == nil && (resp == nil || resp.Body == nil) {
		err = errors.New("the RoundTripper returned neither an answer nor an error")
	}
	return resp, err
}

// transport returns a transport that connects only to public addresses. If a proxy or a RoundTripper other than
// *http.Transport connects, it returns d.Transport.
func (d *Documents) transport(req *http.Request) http.RoundTripper {
	t, ok := d.Transport.(*http.Transport)
	if !ok || d.trusts(req.URL.Hostname()) {
		return d.Transport
	}
	if t.Proxy != nil {
		if proxy, err := t.Proxy(req); proxy != nil || err != nil {
			return t
		}
	}
	return Transport(t)
}
