// Evidence: requests and answers, masked before they are kept.

package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	mask       = "[masked]"
	maxBody    = 64 << 20 // bytes of an answer that are judged
	maxExcerpt = 4 << 10  // bytes of a body that are kept
)

// Exchange is a request and its answer, masked.
type Exchange struct {
	Time          time.Time         `json:"time"`
	Method        string            `json:"method"`
	URL           string            `json:"url"`
	RequestHeader map[string]string `json:"requestHeader"`
	RequestBody   string            `json:"requestBody"`
	// Status is 0 if no answer came; Error says why.
	Status  int               `json:"status"`
	Header  map[string]string `json:"header,omitempty"`
	Body    string            `json:"body,omitempty"` // its first 4 KiB
	Elapsed time.Duration     `json:"elapsed"`
	Error   string            `json:"error,omitempty"`

	raw *rawAnswer
}

// rawAnswer is what rules judge. It is never kept longer than they need it.
type rawAnswer struct {
	header http.Header
	body   []byte
}

// Curl is a command that repeats the request, with the token in the shell variable TOKEN and a secret
// of the body in SECRET.
func (e Exchange) Curl() string {
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS -i -X %s", e.Method)
	for _, name := range slices.Sorted(maps.Keys(e.RequestHeader)) {
		value := e.RequestHeader[name]
		switch name {
		case "Request-Id": // none may be used twice
		case "Authorization":
			fmt.Fprintf(&b, ` -H "Authorization: %s"`, strings.ReplaceAll(value, mask, "$TOKEN"))
		case "Content-Type", "Session-Id", "Currency", "Language", "Market", "Test", "User-Ref":
			fmt.Fprintf(&b, " -H %s", quoted(name+": "+value))
		}
	}
	fmt.Fprintf(&b, " -d %s %s", strings.ReplaceAll(quoted(e.RequestBody), mask, `'"$SECRET"'`), quoted(e.URL))
	return b.String()
}

// quoted returns a text as a word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// recorded is the key of a call's tape in its context; edits, of a change of its requests.
type (
	recorded struct{}
	edits    struct{}
)

// tape is what one call sent and got. A token may still be renewed when the call has ended.
type tape struct {
	mu   sync.Mutex
	list []*Exchange
}

// taken returns what is on the tape now.
func (t *tape) taken() []*Exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.list)
}

// recorder keeps what calls with a tape send and get.
type recorder struct {
	base   http.RoundTripper
	masker *masker
}

func (rec *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	to, _ := req.Context().Value(recorded{}).(*tape)
	if to == nil {
		return rec.base.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	var sent []byte
	if req.Body != nil {
		var err error
		sent, err = io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	if edit, ok := req.Context().Value(edits{}).(func(http.Header)); ok {
		edit(req.Header)
	}
	if token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok {
		rec.masker.add(token)
	}
	ex := &Exchange{Time: time.Now(), Method: req.Method, URL: req.URL.String(),
		RequestHeader: rec.masker.header(req.Header), RequestBody: rec.masker.body(sent)}
	resp, err := rec.base.RoundTrip(req)
	if err == nil {
		var body []byte
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(body))
		ex.Status, ex.Header, ex.Body = resp.StatusCode, rec.masker.header(resp.Header), rec.masker.body(body)
		ex.raw = &rawAnswer{resp.Header, body}
	}
	ex.Elapsed = time.Since(ex.Time)
	if err != nil {
		ex.Error, resp = rec.masker.text(err.Error()), nil
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	to.list = append(to.list, ex)
	return resp, err
}

// masker replaces what must not leave: the values that it knows, and values by their place.
type masker struct {
	mu     sync.Mutex
	values []string
}

func (m *masker) add(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(value) >= 4 && !slices.Contains(m.values, value) {
		m.values = append(m.values, value)
	}
}

func (m *masker) text(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, value := range m.values {
		text = strings.ReplaceAll(text, value, mask)
	}
	return text
}

func (m *masker) header(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		out[name] = m.text(strings.Join(values, ", "))
		if slices.Contains([]string{"Cookie", "Set-Cookie", "Ip", "User-Ref"}, name) {
			out[name] = mask
		}
	}
	return out
}

// Places whose values are masked, with all that is below them.
var maskedNames = []string{"ticket", "access_token", "refresh_token", "appsecret", "client_secret", "firstname", "lastname", "email",
	"phone", "passportnumber", "dateofbirth", "holder", "guests", "downloadurl", "verifyurl", "base64", "signature"}

// body masks a JSON text, in which all else stays as it came. Of another text only the beginning is kept.
func (m *masker) body(body []byte) string {
	var out bytes.Buffer
	end := m.copyMasked(&out, body)
	switch rest := bytes.TrimSpace(body[end:]); {
	case out.Len() > maxExcerpt:
		text := m.text(out.String())
		return strings.ToValidUTF8(text[:min(len(text), maxExcerpt)], "") + "…"
	case end == 0:
		out.Write(rest[:min(len(rest), 300)])
	case len(rest) > 0:
		out.WriteString("[not JSON]") // it may begin in the middle of a value
	}
	return m.text(out.String())
}

// copyMasked copies what is kept of a JSON text, with its masked values replaced, and returns where it
// ended, or where the text ends to be JSON.
func (m *masker) copyMasked(out *bytes.Buffer, body []byte) (end int) {
	type level struct{ object, key, hidden bool }
	var stack []level
	hide := false // the next value
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	for out.Len() <= maxExcerpt {
		tok, err := dec.Token()
		if err != nil {
			return end
		}
		token := body[end:dec.InputOffset()]
		value := bytes.TrimLeft(token, " \t\r\n,:")
		out.Write(token[:len(token)-len(value)])
		end = int(dec.InputOffset())
		top := level{}
		if n := len(stack); n > 0 {
			top = stack[n-1]
		}
		delim, isDelim := tok.(json.Delim)
		name, isText := tok.(string)
		switch {
		case isDelim && (delim == '{' || delim == '['):
			stack = append(stack, level{delim == '{', delim == '{', top.hidden || hide})
		case isDelim:
			stack = stack[:len(stack)-1]
		case top.object && top.key && isText:
			stack[len(stack)-1].key = false
			hide = slices.Contains(maskedNames, strings.ToLower(name))
			out.Write(value)
			continue
		case (hide || top.hidden) && tok != nil:
			value = []byte(`"` + mask + `"`)
		}
		hide = false
		out.Write(value)
		if n := len(stack); n > 0 && (!isDelim || delim == '}' || delim == ']') {
			stack[n-1].key = stack[n-1].object
		}
	}
	return end
}
