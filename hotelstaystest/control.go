// The control API under /_sandbox/: its guards, and how it reads and writes JSON.

package hotelstaystest

import (
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"math"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	controlPath    = "/_sandbox/"
	healthPath     = "/healthz"
	controlCookie  = "sandbox_control"
	maxControlBody = 64 << 10 // bytes
)

var crossOrigin = http.NewCrossOriginProtection()

type controlCall struct {
	*http.Request
	s       *Server
	query   map[string]string
	numbers map[string]int
}

// numbers describes the query parameters that are integers: the default, and the allowed range.
var numbers = map[string]struct{ absent, least, most int }{
	"limit": {100, 1, 1000}, "after": {-1, 0, math.MaxInt},
}

type controlRoute struct {
	method, path string
	query        []string // the names of the allowed query parameters
	run          func(c *controlCall) (any, error)
}

// input returns a route's function that decodes the JSON body and calls fn. It treats a missing body as {}.
func input[Req any](fn func(c *controlCall, req *Req) (any, error)) func(*controlCall) (any, error) {
	return func(c *controlCall) (any, error) {
		body, err := io.ReadAll(http.MaxBytesReader(nil, c.Body, maxControlBody))
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			return nil, refuse(http.StatusRequestEntityTooLarge, "", "the body exceeds %d bytes", maxControlBody)
		}
		if err != nil {
			return nil, badField("", "reading the body: %v", err)
		}
		if len(body) == 0 {
			body = []byte("{}")
		} else if media, _, err := mime.ParseMediaType(c.Header.Get("Content-Type")); err != nil || media != "application/json" {
			return nil, refuse(http.StatusUnsupportedMediaType, "Content-Type",
				"Content-Type must be application/json, not %q", c.Header.Get("Content-Type"))
		}
		req := new(Req)
		if err := decodeStrict(body, req); err != nil {
			return nil, err
		}
		return fn(c, req)
	}
}

// action is like [input], for a route that takes no fields in its body.
func action(fn func(c *controlCall) (any, error)) func(*controlCall) (any, error) {
	return input(func(c *controlCall, _ *struct{}) (any, error) { return fn(c) })
}

// do returns a route's function that calls a method of the server. The answer has no body.
func do(method func(*Server)) func(*controlCall) (any, error) {
	return action(func(c *controlCall) (any, error) { method(c.s); return nil, nil })
}

func isControl(path string) bool {
	return path == healthPath || path+"/" == controlPath || strings.HasPrefix(path, controlPath)
}

// serveControl answers a control request. The ledger does not record it.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	controlHandler(s.control).ServeHTTP(w, r)
}

// controlHandler is a function that handles a control request. Its method ServeHTTP writes the result of the function
// as JSON. If the result is an http.Handler, that handler writes the answer. If the result is nil, the answer has no
// body. Every error of the function is an inputError.
type controlHandler func(w http.ResponseWriter, r *http.Request) (any, error)

func (h controlHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result, err := h(w, r)
	if refused, ok := errors.AsType[*inputError](err); ok {
		text := map[string]string{"field": refused.field, "message": refused.msg} // empty field: the error is about the whole request
		jsonAnswer(refused.status, 0, map[string]any{"error": text}).write(w)
		return
	}
	switch result := result.(type) {
	case nil:
		w.WriteHeader(http.StatusNoContent)
	case http.Handler:
		result.ServeHTTP(w, r)
	default:
		jsonAnswer(http.StatusOK, 0, result).write(w)
	}
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) (any, error) {
	if r.URL.Path == healthPath {
		return s.routes, nil
	}
	if err := s.guard(r); err != nil {
		return nil, err
	}
	if s.loggedIn(r) {
		return http.HandlerFunc(s.logIn), nil
	}
	if err := s.checkControlToken(w, r); err != nil {
		return nil, err
	}
	if s.pages != nil && (r.URL.Path == controlPath || strings.HasPrefix(r.URL.Path, controlPath+"page/")) {
		return s.pages, nil
	}
	return s.routes, nil
}

func (s *Server) newRoutes() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{} // maps a path to its methods
	for _, route := range controlRoutes {
		methods[route.path] = append(methods[route.path], route.method)
		mux.Handle(route.method+" "+route.path, controlHandler(func(_ http.ResponseWriter, r *http.Request) (any, error) {
			c := &controlCall{Request: r, s: s}
			if err := c.readQuery(route.query); err != nil {
				return nil, err
			}
			return route.run(c)
		}))
	}
	for path, allowed := range methods {
		mux.Handle(path, controlHandler(func(w http.ResponseWriter, r *http.Request) (any, error) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			return nil, refuse(http.StatusMethodNotAllowed, "", "%s accepts %s, not %s", r.URL.Path, strings.Join(allowed, " or "), r.Method)
		}))
	}
	mux.Handle("/", controlHandler(func(_ http.ResponseWriter, r *http.Request) (any, error) { return nil, noRoute(r) }))
	return mux
}

// guard refuses a request whose Host header does not name this server. If a page of another site sends a request that can
// change something, such as a POST, guard refuses this request, too.
func (s *Server) guard(r *http.Request) error {
	if !s.ownHost(r.Host) {
		return refuse(http.StatusForbidden, "Host", "the control API is not served under host name %q; see control.hosts (-control-host)", r.Host)
	}
	if err := crossOrigin.Check(r); err != nil {
		return refuse(http.StatusForbidden, "Origin", "a page of another site cannot use the control API")
	}
	return nil
}

// ownHost reports whether the Host of a request names this server. A page of another site could
// reach this server under another name (DNS rebinding).
func (s *Server) ownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	_, notIP := netip.ParseAddr(host) // an IP address is safe, because DNS rebinding works only with a host name
	own := func(name string) bool { return strings.EqualFold(name, host) }
	return loopbackHost(host) || s.cfg.AllowRemote && notIP == nil || slices.ContainsFunc(s.cfg.Control.Hosts, own) ||
		slices.ContainsFunc(s.cfg.TLSNames, own)
}

func noRoute(r *http.Request) error {
	return refuse(http.StatusNotFound, "", "no control route at path %q; see %sopenapi.json", r.URL.Path, controlPath)
}

// checkControlToken requires the token of [ControlConfig] as a bearer token, or the cookie that logIn
// has set.
func (s *Server) checkControlToken(w http.ResponseWriter, r *http.Request) error {
	token := s.cfg.Control.Token
	if token == "" {
		return nil
	}
	sent, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if bearer && sameText(sent, token) {
		return nil
	}
	if cookie, err := r.Cookie(controlCookie); err == nil && sameText(cookie.Value, s.cookieValue()) {
		return nil
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	return refuse(http.StatusUnauthorized, "Authorization",
		"the control API needs the header Authorization: Bearer <control token>; in a browser, open %s?token=<control token> first", controlPath)
}

// cookieValue returns the value of the control cookie: a signature of the token, from which nobody can calculate the token.
// Browsers send cookies to all ports of a host, so another server on the host sees the value. The value is valid only until
// this server ends.
func (s *Server) cookieValue() string {
	return hex.EncodeToString(s.mac("control", s.cfg.Control.Token))
}

// loggedIn reports whether a request for the page has the right token in its URL.
func (s *Server) loggedIn(r *http.Request) bool {
	token := s.cfg.Control.Token
	return token != "" && r.Method == http.MethodGet && r.URL.Path == controlPath && sameText(r.URL.Query().Get("token"), token)
}

// logIn moves the token from the URL, which browsers and proxies record, into a cookie.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: controlCookie, Value: s.cookieValue(), Path: controlPath,
		HttpOnly: true, Secure: s.cfg.TLS, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, controlPath, http.StatusSeeOther)
}

// sameText compares two secrets. The comparison takes the same time for each wrong guess, so the time reveals nothing.
func sameText(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// readQuery reads the parameters of a request. It refuses unknown and repeated parameters.
func (c *controlCall) readQuery(names []string) error {
	values, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return badField("", "the query is malformed: %v", err)
	}
	c.query, c.numbers = map[string]string{}, map[string]int{}
	for name, n := range numbers {
		c.numbers[name] = n.absent
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.Contains(names, name):
			return badField(name, "unknown parameter %s", name)
		case len(values[name]) > 1:
			return badField(name, "parameter %s appears twice", name)
		}
		c.query[name] = values[name][0]
		if n, ok := numbers[name]; ok {
			c.numbers[name], err = strconv.Atoi(values[name][0])
			if err != nil || c.numbers[name] < n.least || c.numbers[name] > n.most {
				return badField(name, "%s must be an integer from %d to %d, not %q", name, n.least, n.most, values[name][0])
			}
		}
	}
	return nil
}
