// The site: routes, security headers, and rendering.

package main

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hotelstays/hotelstays-go/durable/oncall"
)

//go:embed templates static
var files embed.FS

type site struct {
	*http.ServeMux
	*engine
	pages *template.Template
	open  context.Context // live pages end when this context ends
}

// newSite returns a site. The live pages, which stay open for updates, end with ctx.
func newSite(ctx context.Context, e *engine) *site {
	s := &site{ServeMux: http.NewServeMux(), engine: e, pages: parsePages(e.service), open: ctx}
	pages := http.NewServeMux()
	pages.Handle("GET /{$}", s.page(s.home))
	pages.Handle("GET /hotels", s.page(s.hotels))
	pages.Handle("GET /searches/{search}/hotels/{hotel}", s.page(s.hotel))
	pages.Handle("POST /offers/{offer}", s.page(s.choose))
	pages.Handle("GET /checkouts/{reference}", s.page(s.unbooked(s.checkout)))
	pages.Handle("GET /checkouts/{reference}/{form}", s.page(s.unbooked(s.checkout)))
	pages.Handle("POST /checkouts/{reference}/check", s.page(s.unbooked(s.check)))
	pages.Handle("POST /checkouts/{reference}/agree", s.page(s.unbooked(s.agree)))
	pages.Handle("POST /checkouts/{reference}/book", s.page(s.unbooked(s.book)))
	pages.Handle("GET /orders/{reference}", s.page(s.ordered(s.order)))
	pages.Handle("GET /orders/{reference}/events", s.stream(s.ordered(s.orderEvents)))
	pages.Handle("GET /orders/{reference}/voucher", s.page(s.ordered(s.voucher)))
	pages.Handle("GET /orders/{reference}/cancel", s.page(s.ordered(s.cancel)))
	pages.Handle("POST /orders/{reference}/cancel", s.page(s.ordered(s.cancel)))
	pages.Handle("GET /static/", http.FileServerFS(files))
	// A real engine must require a login for this page.
	pages.Handle("/oncall/", http.StripPrefix("/oncall", oncall.Handler(e.journal, &oncall.Options{Logger: e.log})))
	pages.Handle("/", s.refuse(errNoPage))

	// Forms of other sites must not book here. Webhooks do not need this check, because they are signed.
	sameSite := http.NewCrossOriginProtection()
	sameSite.SetDenyHandler(s.refuse(errForeign))
	s.Handle("/", s.guarded(sameSite.Handler(pages)))
	if e.webhooks != nil {
		s.Handle(eventsPath, e.webhooks)
	}
	return s
}

// guarded sets security headers. The site has no login, so it serves pages only under loopback names. Pages are not
// served under the public host name of the webhooks, or under a foreign host name that resolves to this machine.
func (s *site) guarded(pages http.Handler) http.Handler {
	elsewhere := s.refuse(errElsewhere)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
			"img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // pages contain prices and names, so browsers must not store them
		if host := (&url.URL{Host: r.Host}).Hostname(); strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback() {
			pages.ServeHTTP(w, r)
		} else {
			elsewhere.ServeHTTP(w, r)
		}
	})
}

// handler answers a request. A handler that returns an error has written no part of the answer.
type handler func(http.ResponseWriter, *http.Request) error

func (s *site) refuse(m *message) http.Handler {
	return s.page(func(http.ResponseWriter, *http.Request) error { return m })
}

// page limits a handler to half a minute and to forms of 64 KiB. Bookings run longer, outside of the handler.
func (s *site) page(h handler) http.Handler {
	return s.stream(func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		return h(w, r.WithContext(ctx))
	})
}

// stream serves a handler without a time limit. If the handler fails, the log has the error and the id of the page, and the
// guest gets a message with this id.
func (s *site) stream(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := uuid.NewString()
		ctx := context.WithValue(r.Context(), pageID{}, id)
		err := h(w, r.WithContext(ctx))
		if err == nil {
			return
		}
		told, level := messageFor(err), slog.LevelInfo
		if told.Status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		s.log.Log(ctx, level, "a page failed", "method", r.Method, "path", r.URL.Path, "error", err, "page", id)
		s.render(w, told.Status, "problem", map[string]any{"Told": told, "ID": id})
	})
}

// pageID is the context key of a page's id. The id is the Trace-Id of all calls that the page causes, so the SDK's log
// lines also contain the id.
type pageID struct{}

// pageIDOf returns the id of the page that causes a call, or "".
func pageIDOf(ctx context.Context) string {
	id, _ := ctx.Value(pageID{}).(string)
	return id
}

// render sends a page only if the whole page can be rendered.
func (s *site) render(w http.ResponseWriter, status int, page string, data any) error {
	var body bytes.Buffer
	if err := s.pages.ExecuteTemplate(&body, page+".html", data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	body.WriteTo(w) // WriteTo fails only if the browser has disconnected
	return nil
}

func parsePages(svc *service) *template.Template {
	service := template.FuncMap{"service": func() *service { return svc }}
	return template.Must(template.New("").Funcs(templateFuncs).Funcs(service).ParseFS(files, "templates/*.html"))
}

// redirect returns err if it is not nil. Otherwise it redirects with a GET, so that a reload does not send a form again.
func redirect(w http.ResponseWriter, r *http.Request, err error, address string) error {
	if err == nil {
		http.Redirect(w, r, address, http.StatusSeeOther)
	}
	return err
}
