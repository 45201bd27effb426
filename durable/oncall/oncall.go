// Package oncall is a web page for people on call. It lists the open bookings, cancellations and orders of a
// durable.Bookings: since when, why, and what happens next. A person can retry or abandon a booking there.
//
// Everyone who can open the page can abandon bookings. The page has no login: mount it behind the authentication of
// your service.
//
// The page shows references, order numbers and times, but no secret and no guest. It uses no script.
package oncall

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"html/template"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hotelstays/hotelstays-go/durable"
)

// lists has the methods of durable.Bookings whose results the page shows.
type lists interface {
	List(ctx context.Context) iter.Seq2[durable.Booking, error]
	Cancellations(ctx context.Context) iter.Seq2[durable.Cancellation, error]
	Orders(ctx context.Context) iter.Seq2[durable.FollowedOrder, error]
	Hanging() []string
}

// actions has the methods of durable.Bookings that a person can call on the page.
type actions interface {
	Retry(ctx context.Context, customerReferenceNo string) error
	Wake(ctx context.Context, customerReferenceNo string) error
	Abandon(ctx context.Context, customerReferenceNo string) error
}

// Options are the settings of Handler.
type Options struct {
	// Logger receives each action with its reason, as a warning. Default: slog.Default().
	Logger *slog.Logger
	// User returns the name of the person who sent a request, for the log. Default: no name.
	User func(*http.Request) string
}

const (
	perPage = 50
	// maxReason bounds the reason of an action, in characters.
	maxReason = 500
	// maxForm is the maximum size of a form in bytes.
	maxForm = 16 << 10
	// timeout bounds how long the page works on a request.
	timeout = 30 * time.Second
)

//go:embed page.html
var pageFile string

//go:embed static
var static embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"tab": func(kind durable.Kind) string { return titles[kind].tab },
	"rfc": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}).Parse(pageFile))

// Handler returns the page. The parameter bookings is the Journal of contrib/hotelstayssql, or the Bookings of
// contrib/hotelstaysriver. Mount the page behind your own authentication, because everyone who reaches it can abandon
// bookings. If opts is nil, the defaults apply.
//
//	http.Handle("/oncall/", requireLogin(http.StripPrefix("/oncall", oncall.Handler(journal, nil))))
//
// All links of the page are relative. The page refuses forms from other sites, and sets a strict
// Content-Security-Policy. Each view reads all open rows of one kind: bookings, cancellations or orders.
func Handler[Tx any](bookings durable.Bookings[Tx], opts *Options) http.Handler {
	h := &handler{lists: bookings, of: func(account string) actions {
		if account == "" { // the request names no account, because the person did not choose the row from a list
			return bookings
		}
		return bookings.ForAccount(account)
	}}
	if opts != nil {
		h.Options = *opts
	}
	h.Logger = cmp.Or(h.Logger, slog.Default())
	if h.User == nil {
		h.User = func(*http.Request) string { return "" }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.list)
	mux.HandleFunc("GET /act", h.ask)
	mux.HandleFunc("POST /act", h.act)
	mux.Handle("GET /static/", http.FileServerFS(static))
	return guarded(http.NewCrossOriginProtection().Handler(mux))
}

// guarded sets security headers, and limits the time and the body size of each request.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "+
			"base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

type handler struct {
	lists
	Options
	of func(account string) actions
}

// list shows the page with the open rows of a kind.
func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	v := h.view(r.Context(), kindOf(query.Get("kind")), query.Get("q"), query.Get("page"))
	v.Done = done[query.Get("done")]
	status := http.StatusOK
	if len(v.Problems) > 0 {
		h.Logger.ErrorContext(r.Context(), "the page for people on call is incomplete", slog.String("error", v.Problems[0]))
		if v.All == 0 {
			status = http.StatusInternalServerError
		}
	}
	h.render(w, status, "list", v)
}

// question is the page that asks a person to confirm an action.
type question struct {
	Kind      durable.Kind
	Account   string
	Reference string
	Abandons  bool
	Row       *row // the open row under the reference; nil if no row of this kind is open
	Reason    string
	Missing   bool   // whether the reason is missing or too long
	Problem   string // text of the error, if the action was refused
	MaxReason int
}

// Title is the heading of the question, and the name of its button.
func (q question) Title() string {
	action := "Retry"
	if q.Abandons {
		action = "Abandon"
	}
	return action + " " + titles[q.Kind].one + " " + q.Reference
}

// ask shows the form in which a person enters the reason of an action.
func (h *handler) ask(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	h.question(w, r, http.StatusOK, question{
		Kind: kindOf(query.Get("kind")), Account: query.Get("account"), Reference: query.Get("reference"), Abandons: query.Get("do") == "abandon"})
}

func (h *handler) question(w http.ResponseWriter, r *http.Request, status int, q question) {
	if q.Reference == "" {
		http.NotFound(w, r)
		return
	}
	q.MaxReason = maxReason
	rows, _ := h.rows(r.Context(), q.Kind)
	for i := range rows {
		if rows[i].Reference == q.Reference && (rows[i].Account == q.Account || q.Account == "") {
			q.Row = &rows[i]
		}
	}
	h.render(w, status, "question", q)
}

// act executes and logs a confirmed action. The method of durable.Bookings returns an error if the state of the booking
// forbids the action.
func (h *handler) act(w http.ResponseWriter, r *http.Request) {
	q := question{Kind: kindOf(r.PostFormValue("kind")), Account: r.PostFormValue("account"), Reference: r.PostFormValue("reference"),
		Abandons: r.PostFormValue("do") == "abandon", Reason: strings.TrimSpace(r.PostFormValue("reason"))}
	if q.Missing = q.Reason == "" || utf8.RuneCountInString(q.Reason) > maxReason; q.Missing || q.Reference == "" {
		h.question(w, r, http.StatusUnprocessableEntity, q)
		return
	}
	bookings := h.of(q.Account)
	action, do := "retry", bookings.Retry
	switch {
	case q.Abandons:
		q.Kind, action, do = durable.KindBooking, "abandon", bookings.Abandon
	case q.Kind != durable.KindBooking:
		action, do = "wake", bookings.Wake
	}
	err := do(r.Context(), q.Reference)
	attrs := []slog.Attr{slog.String("action", action), slog.String("kind", string(q.Kind)), slog.String("account", q.Account),
		slog.String("reference", q.Reference), slog.String("reason", q.Reason), slog.String("user", h.User(r))}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	h.Logger.LogAttrs(r.Context(), slog.LevelWarn, "a person used the page for people on call", attrs...)
	if err != nil {
		q.Problem = err.Error()
		h.question(w, r, http.StatusConflict, q)
		return
	}
	w.Header().Set("Location", "./?"+url.Values{"kind": {string(q.Kind)}, "q": {q.Reference}, "done": {action}}.Encode())
	w.WriteHeader(http.StatusSeeOther)
}

// done maps an action to the message that the page shows after it.
var done = map[string]string{
	"retry":   "A worker polls for this booking now.",
	"wake":    "A worker reads the order now.",
	"abandon": "This booking is abandoned. It will not be sent, and no worker polls for its order.",
}

// kindOf returns the kind of rows that a request asks for. If the text names no kind, it returns the kind of bookings.
func kindOf(text string) durable.Kind {
	if kind := durable.Kind(text); kind == durable.KindCancel || kind == durable.KindOrder {
		return kind
	}
	return durable.KindBooking
}

// render executes the template completely before it sends anything, so that a failure sends no part of the page.
func (h *handler) render(w http.ResponseWriter, status int, page string, data any) {
	var body bytes.Buffer
	if err := pages.ExecuteTemplate(&body, page, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // WriteTo fails only if the browser has disconnected
}
