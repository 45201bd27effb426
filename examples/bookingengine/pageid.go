// The id of a page's request: in each line of the log, and sent with the calls that the page
// causes.

package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/google/uuid"
)

type pageID struct{} // a context key

// withPageID gives a request its id: that of a proxy, or a new one.
func withPageID(r *http.Request) *http.Request {
	id := r.Header.Get("X-Request-Id")
	if !plainID.MatchString(id) {
		id = uuid.NewString()
	}
	return r.WithContext(context.WithValue(r.Context(), pageID{}, id))
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// pageIDOf returns the id, or "" if no page causes this.
func pageIDOf(ctx context.Context) string {
	id, _ := ctx.Value(pageID{}).(string)
	return id
}

// requestIDOfPage makes the id of a request to the service: that of the page that causes it,
// with a new end, because the service accepts an id only once.
func requestIDOfPage(ctx context.Context) string {
	return strings.TrimPrefix(pageIDOf(ctx)+"-"+rand.Text(), "-")
}

// pageLog adds the id to each line of the log.
type pageLog struct{ slog.Handler }

func (h pageLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return pageLog{h.Handler.WithAttrs(attrs)}
}

func (h pageLog) WithGroup(name string) slog.Handler { return pageLog{h.Handler.WithGroup(name)} }

func (h pageLog) Handle(ctx context.Context, line slog.Record) error {
	if id := pageIDOf(ctx); id != "" {
		line.AddAttrs(slog.String("page", id))
	}
	return h.Handler.Handle(ctx, line)
}
