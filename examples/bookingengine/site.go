// The site: routes, security headers, and rendering.

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
)

//go:embed templates
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// patience is how long a page may take. Bookings do not end with it.
const patience = 30 * time.Second

// maxForm is the maximum size of a form, in bytes.
const maxForm = 64 << 10

type site struct {
	engine  *engine
	log     *slog.Logger
	pages   map[string]*template.Template
	handler http.Handler

	streams    context.Context // of live pages
	endStreams context.CancelFunc
}

func newSite(e *engine) *site {
	s := &site{engine: e, log: e.log, pages: parsePages()}
	s.streams, s.endStreams = context.WithCancel(context.Background())

	pages := http.NewServeMux()
	pages.Handle("GET /{$}", s.page(s.home))
	pages.Handle("GET /hotels", s.page(s.hotels))
	pages.Handle("GET /searches/{search}/hotels/{hotel}", s.page(s.hotel))
	pages.Handle("POST /searches/{search}/checkout", s.page(s.choose))
	pages.Handle("GET /checkouts/{reference}", s.unbooked(s.checkout))
	pages.Handle("GET /checkouts/{reference}/{form}", s.unbooked(s.returned))
	pages.Handle("POST /checkouts/{reference}/check", s.unbooked(s.checkAgain))
	pages.Handle("POST /checkouts/{reference}/agree", s.unbooked(s.agree))
	pages.Handle("POST /checkouts/{reference}/book", s.unbooked(s.book))
	pages.Handle("GET /orders/{reference}", s.page(s.order))
	pages.Handle("GET /orders/{reference}/events", s.stream(s.orderEvents))
	pages.Handle("GET /orders/{reference}/voucher", s.page(s.voucher))
	pages.Handle("GET /orders/{reference}/cancel", s.page(s.askCancel))
	pages.Handle("POST /orders/{reference}/cancel", s.page(s.cancel))
	pages.Handle("/", s.page(func(http.ResponseWriter, *http.Request) error { return errNoPage }))

	static, err := fs.Sub(staticFiles, "static")
	if err != nil {
		panic(err) // it is embedded
	}
	pages.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static)))

	// Forms of other sites must not book here. Webhooks carry no origin and pass; they are
	// signed.
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

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// guarded sets security headers.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
			"img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // pages contain prices and names
		next.ServeHTTP(w, r)
	})
}

// local serves pages only under loopback names, because the site has no login. Neither a name
// that another site points here nor the public name of the webhooks opens it.
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

// handler answers a request, or returns an error without having written anything.
type handler func(http.ResponseWriter, *http.Request) error

// page is a handler that ends within patience.
func (s *site) page(h handler) http.Handler {
	return s.stream(func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		return h(w, r.WithContext(ctx))
	})
}

// stream is a handler without a time limit. Its error goes to the log, and the guest gets a
// message with the number of the page in the log.
func (s *site) stream(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = withPageID(r)
		err := h(w, r)
		if err == nil {
			return
		}
		told := messageFor(err)
		level := slog.LevelInfo
		if told.Status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		s.log.Log(r.Context(), level, "a page failed", "method", r.Method, "path", r.URL.Path, "error", err)
		s.render(w, told.Status, "problem", problemPage{told, pageIDOf(r.Context()), r.Method == http.MethodGet && told.Text == busy.Text})
	})
}

type problemPage struct {
	message
	Number string // in the log
	Reload bool
}

// view is the data of a template.
type view struct {
	Sandbox, MayBook bool
	Service          string // its base URL
	Page             any
}

func (s *site) view(page any) view {
	svc := s.engine.service
	return view{svc.sandbox, svc.mayBook, svc.baseURL, page}
}

// render renders the whole page before it sends anything.
func (s *site) render(w http.ResponseWriter, status int, page string, data any) error {
	var body bytes.Buffer
	if err := s.pages[page].ExecuteTemplate(&body, "layout", s.view(data)); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	body.WriteTo(w) // the browser may be gone
	return nil
}

// renderArriving sends the page while its data arrives.
func (s *site) renderArriving(w http.ResponseWriter, page string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := s.pages[page].ExecuteTemplate(w, "layout", s.view(data)); err != nil {
		s.log.Info("a page was not sent to its end", "page", page, "error", err)
	}
}

// parsePages parses each page with the layout and the parts.
func parsePages() map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(templateFuncs).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	pages := make(map[string]*template.Template)
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, name := range names {
		page := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		pages[page] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, name))
	}
	return pages
}

// redirect redirects with a GET, so that a reload sends no form again.
func redirect(w http.ResponseWriter, r *http.Request, address string) error {
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}
