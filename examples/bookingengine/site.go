// The site: addresses, what every answer has in common, and how pages are made.

package main

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

//go:embed templates
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// patience is how long a guest waits for a page. Bookings do not end with it: they
// are the engine's.
const patience = 30 * time.Second

// maxForm bounds a form, in bytes.
const maxForm = 64 << 10

// site shows the engine to browsers.
type site struct {
	engine  *engine
	log     *slog.Logger
	pages   map[string]*template.Template
	handler http.Handler

	streams    context.Context // of live pages
	endStreams context.CancelFunc
}

func newSite(e *engine, log *slog.Logger) *site {
	s := &site{engine: e, log: log, pages: parsePages()}
	s.streams, s.endStreams = context.WithCancel(context.Background())

	pages := http.NewServeMux()
	pages.Handle("GET /{$}", s.page(s.home))
	pages.Handle("GET /hotels", s.page(s.hotels))
	pages.Handle("GET /searches/{search}/hotels/{hotel}", s.page(s.hotel))
	pages.Handle("POST /searches/{search}/checkout", s.page(s.choose))
	pages.Handle("GET /checkouts/{reference}", s.page(s.checkout))
	pages.Handle("GET /checkouts/{reference}/{form}", s.page(s.returned))
	pages.Handle("POST /checkouts/{reference}/check", s.page(s.checkAgain))
	pages.Handle("POST /checkouts/{reference}/agree", s.page(s.agree))
	pages.Handle("POST /checkouts/{reference}/book", s.page(s.book))
	pages.Handle("GET /orders/{reference}", s.page(s.order))
	pages.Handle("GET /orders/{reference}/events", s.stream(s.orderEvents))
	pages.Handle("GET /orders/{reference}/voucher", s.page(s.voucher))
	pages.Handle("GET /orders/{reference}/cancel", s.page(s.askCancel))
	pages.Handle("POST /orders/{reference}/cancel", s.page(s.cancel))
	pages.Handle("/", s.page(func(http.ResponseWriter, *http.Request) error { return errNoPage }))

	static, err := fs.Sub(staticFiles, "static")
	if err != nil {
		panic(err) // the directory is in the program
	}
	pages.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static)))

	// A form on another site must not book here. Requests that no browser makes, such
	// as webhooks, carry nothing to tell by and pass; those are signed.
	sameSite := http.NewCrossOriginProtection()
	sameSite.SetDenyHandler(s.page(func(http.ResponseWriter, *http.Request) error { return errForeign }))

	mux := http.NewServeMux()
	mux.Handle("/", guarded(s.local(sameSite.Handler(pages))))
	if e.webhooks != nil {
		mux.Handle(eventsPath, e.webhooks)
	}
	s.handler = mux
	return s
}

// ServeHTTP answers one request.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// guarded sets what keeps a browser from doing more than these pages mean to.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
			"img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // pages hold prices and names
		next.ServeHTTP(w, r)
	})
}

// local opens the pages under names of this machine alone. The site has no login: a
// name that another site made to lead here must not open it, and neither must the
// public one that webhooks come by.
func (s *site) local(next http.Handler) http.Handler {
	elsewhere := s.page(func(http.ResponseWriter, *http.Request) error { return errElsewhere })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked := (&url.URL{Host: r.Host}); isLoopback(asked.Hostname()) {
			next.ServeHTTP(w, r)
		} else {
			elsewhere.ServeHTTP(w, r)
		}
	})
}

// handler answers a request, or returns an error and has written nothing.
type handler func(http.ResponseWriter, *http.Request) error

// page is a handler that is done within a guest's patience.
func (s *site) page(h handler) http.Handler {
	return s.stream(func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		return h(w, r.WithContext(ctx))
	})
}

// stream is a handler that may take any time. An error goes to the log as it is,
// and to the guest as a message with the number that finds it there.
func (s *site) stream(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil {
			return
		}
		number, told := uuid.NewString(), messageFor(err)
		level := slog.LevelInfo
		if told.Status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		s.log.Log(r.Context(), level, "a page was not shown", "number", number, "method", r.Method, "path", r.URL.Path, "error", err)
		s.render(w, told.Status, "problem", problemPage{told, number, r.Method == http.MethodGet && told == busy})
	})
}

// problemPage tells what went wrong.
type problemPage struct {
	message
	Number string // in the log
	Reload bool
}

// view is what a template gets.
type view struct {
	Sandbox bool
	Page    any
}

// render answers with a page. It is made whole before anything is sent.
func (s *site) render(w http.ResponseWriter, status int, page string, data any) error {
	var body bytes.Buffer
	if err := s.pages[page].ExecuteTemplate(&body, "layout", view{s.engine.service.sandbox, data}); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	body.WriteTo(w) // a browser that is gone is no error
	return nil
}

// parsePages makes a template of each page, within the layout and with the parts.
func parsePages() map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(templateFuncs).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	pages := make(map[string]*template.Template)
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is right
	}
	for _, name := range names {
		page := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		pages[page] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, name))
	}
	return pages
}

// redirect sends the browser on with a GET, so that a reload sends no form again.
func redirect(w http.ResponseWriter, r *http.Request, address string) error {
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}
