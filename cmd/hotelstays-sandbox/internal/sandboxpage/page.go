// Package sandboxpage serves the web page of the sandbox. The page shows what happens in the sandbox,
// and its buttons call the control API.
//
// The server renders the page. When an event arrives, the page's script fetches the page again, and
// replaces the parts that changed.
package sandboxpage

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// control is the path of the sandbox page. The paths of the control API begin with it.
const control = "/_sandbox/"

//go:embed page.html
var pageFile string

//go:embed static
var static embed.FS

var page = template.Must(template.New("").Funcs(template.FuncMap{
	"rfc":   func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"pager": func(f filter, list string, at pages) pager { return pager{f, list, at} },
	"button": func(method, base, path, label string, body ...string) button {
		return button{method, base + path, label, strings.Join(body, "")}
	},
}).Parse(pageFile))

// pager is the template data for the links to the newer and older pages of a list.
type pager struct {
	Filter filter
	List   string
	At     pages
}

type button struct{ Method, Path, Label, JSON string }

// Handler serves the web page of a sandbox. Set it as [hotelstaystest.ControlConfig].Page.
func Handler(srv *hotelstaystest.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+control+"page/static/", http.StripPrefix(control+"page/", http.FileServerFS(static)))
	mux.HandleFunc("GET "+control+"{$}", func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if err := page.ExecuteTemplate(&body, "page", newView(srv, r.URL.Query())); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = body.WriteTo(w) // WriteTo fails only if the browser has disconnected
	})
	return guarded(mux)
}

// guarded adds security headers, because the page shows texts from clients, such as names of guests.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
			"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
