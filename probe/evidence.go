// Evidence: requests and answers. They are masked when a result takes them as evidence.

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
	"unicode"

	"github.com/hotelstays/hotelstays-go/judge"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	mask       = "[masked]"
	maxBody    = 64 << 20 // maximum bytes of an answer that is judged
	maxExcerpt = 4 << 10  // maximum bytes of a body in the evidence
	maxText    = 2 << 10  // maximum bytes of a finding or of a reason

	maxEvidence = 10 // maximum number of exchanges in the evidence of a rule; the last exchanges are kept
)

// Exchange is a request and its answer, without secrets and personal data.
type Exchange struct {
	Time          time.Time         `json:"time"`
	Method        string            `json:"method"`
	URL           string            `json:"url"`
	RequestHeader map[string]string `json:"requestHeader"`
	RequestBody   string            `json:"requestBody"`
	// Status is 0 if no answer came; Error says why.
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"` // the beginning of the answer's body, at most 4 KiB
	// Element is the JSON of the list element that breaks the rule. It is set only if Body is cut off.
	Element string `json:"element,omitempty"`
	Took    int64  `json:"milliseconds"`
	Error   string `json:"error,omitempty"`
}

// exchange is an unmasked request and its answer, which the rules judge. A report has only masked exchanges.
type exchange struct {
	judge.Exchange

	began  time.Time
	method string
	err    error     // why no complete answer came
	masked *Exchange // what the report shows, or nil if no result needed it yet
}

// curl returns a command that repeats the request. The command reads the token from the shell variable TOKEN, the secrets
// of the body from SECRET, and the user's reference from USER_REF. For Book and Cancel curl returns "", because only a run
// with a journal may send them.
func (e *Exchange) curl() string {
	if op := types.OperationAt(e.URL); op == opBook || op == opCancel || e.Method != http.MethodPost {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS -i -X %s", e.Method)
	for _, name := range slices.Sorted(maps.Keys(e.RequestHeader)) {
		value := e.RequestHeader[name]
		switch name {
		case "Request-Id": // left out, because the service refuses a second request with the same Request-Id
		case "Authorization":
			if value == "Bearer "+mask {
				b.WriteString(` -H "Authorization: Bearer $TOKEN"`)
			} else {
				fmt.Fprintf(&b, " -H %s", quoted(name+": "+value))
			}
		case "User-Ref":
			b.WriteString(` -H "User-Ref: $USER_REF"`)
		case "Content-Type", "Session-Id", "Currency", "Language", "Market", "Test":
			fmt.Fprintf(&b, " -H %s", quoted(name+": "+value))
		}
	}
	fmt.Fprintf(&b, " -d %s %s", strings.ReplaceAll(quoted(e.RequestBody), mask, `'"$SECRET"'`), quoted(e.URL))
	return b.String()
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// recorded is the context key under which the tape of a call is stored.
type recorded struct{}

// tape records the requests and answers of one call. It has a mutex because the client may still renew its token after the
// call has ended.
type tape struct {
	edit func(http.Header) // if set, changes each request
	mu   sync.Mutex
	list []*exchange
}

func (t *tape) taken() []*exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.list)
}

// recorder is a RoundTripper that gives each exchange to the judge, and records it if the context has a tape.
type recorder struct {
	base   http.RoundTripper
	masker *masker
	bench  *bench
}

func (rec *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	to, _ := req.Context().Value(recorded{}).(*tape)
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
	if to != nil && to.edit != nil {
		to.edit(req.Header)
	}
	if token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok {
		rec.masker.add(token)
	}
	// Config.HTTPClient may add a secret of a gateway to req.Header, so the report gets a copy.
	ex := &exchange{began: time.Now(), method: req.Method,
		Exchange: judge.Exchange{URL: req.URL.String(), Request: req.Header.Clone(), RequestBody: sent}}
	resp, err := rec.base.RoundTrip(req)
	if err == nil {
		ex.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(ex.Body))
		ex.Status, ex.Header = resp.StatusCode, resp.Header
	}
	ex.Time, ex.err = time.Now(), err
	if err == nil {
		rec.bench.judges(ex)
	} else {
		resp = nil
	}
	if to == nil {
		return resp, err
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	to.list = append(to.list, ex)
	return resp, err
}

// masker hides secrets and personal data: the values given to add, and the values whose JSON name is in maskedNames.
type masker struct {
	mu     sync.Mutex
	values []string // longest first, because a value may contain a shorter value
}

func (m *masker) add(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(value) >= 4 && !isBait(value) && !slices.Contains(m.values, value) {
		m.values = append(m.values, value)
		slices.SortFunc(m.values, func(a, b string) int { return len(b) - len(a) })
	}
}

// isBait reports whether a value is a wrong credential that the service must refuse. Such a value is not secret.
func isBait(value string) bool { return value == unknownTicket || value == wrongSecret }

// exchange returns an exchange without secrets and personal data.
func (m *masker) exchange(of *exchange) Exchange {
	if of.masked != nil {
		return *of.masked
	}
	path, _, _ := strings.Cut(of.URL, "?")
	op := types.OperationAt(path)
	ex := Exchange{Time: of.began, Method: of.method, URL: m.text(of.URL),
		RequestHeader: m.header(of.Request), RequestBody: m.body(of.RequestBody, false),
		Status: of.Status, Header: m.header(of.Header), Body: m.body(of.Body, op == opTicket || op == opOAuthToken),
		Took: of.Time.Sub(of.began).Milliseconds()}
	if of.err != nil {
		ex.Error = m.text(of.err.Error())
	}
	of.masked = &ex
	return ex
}

// text masks a text, and replaces control characters, which a terminal could execute.
func (m *masker) text(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, value := range m.values {
		text = strings.ReplaceAll(text, value, mask)
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return '\uFFFD'
	}, text)
}

// short is like text, but keeps at most maxText bytes.
func (m *masker) short(text string) string { return cut(m.text(text), maxText) }

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func (m *masker) header(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		out[name] = m.text(strings.Join(values, ", "))
		if name == "Authorization" && out[name] != "Bearer "+unknownTicket {
			out[name] = "Bearer " + mask
		}
		if slices.Contains([]string{"Cookie", "Set-Cookie", "Ip", "User-Ref"}, name) {
			out[name] = mask
		}
	}
	return out
}

// maskedNames are the JSON names whose values are masked, nested values too, in the form in which isMasked compares names.
var maskedNames = []string{"ticket", "token", "accesstoken", "refreshtoken", "appsecret", "clientsecret", "firstname", "lastname", "email",
	"phone", "passportnumber", "dateofbirth", "holder", "guests", "downloadurl", "verifyurl", "base64", "signature"}

// body masks a JSON text and cuts it to maxExcerpt bytes. For a text that is not JSON, it returns only the length. In an
// answer with credentials, it masks every member except code, msg and error.
func (m *masker) body(body []byte, credentials bool) string {
	var compact bytes.Buffer
	if len(body) == 0 {
		return ""
	} else if json.Compact(&compact, body) != nil {
		return fmt.Sprintf("[%d bytes that are not JSON]", len(body))
	}
	var out strings.Builder
	depth, hidden := 0, 0 // hidden is the depth of the object whose member is masked, or 0
	for in := compact.Bytes(); len(in) > 0 && out.Len() <= maxExcerpt; {
		if size := scalar(in); size > 0 {
			text := string(in[:size])
			if strings.Contains(text, `\`) {
				_ = json.Unmarshal(in[:size], &text)
				text = encoded(m.text(text))
			}
			in = in[size:]
			value, isName := strings.Trim(text, `"`), len(in) > 0 && in[0] == ':'
			if isName && hidden == 0 && (isMasked(value) || credentials && depth == 1 && value != "code" && value != "msg" && value != "error") {
				hidden = depth
			} else if !isName && hidden > 0 && text != "null" && !isBait(value) {
				text = encoded(mask)
			}
			out.WriteString(text)
			continue
		}
		switch in[0] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth < hidden || depth == hidden && in[0] == ',' {
			hidden = 0 // the masked member has ended
		}
		out.WriteByte(in[0])
		in = in[1:]
	}
	return cut(m.text(out.String()), maxExcerpt)
}

// scalar returns the length of the string, number or word with which a compact JSON text begins, or 0 if it begins with punctuation.
func scalar(text []byte) (size int) {
	if text[0] != '"' {
		return len(text) - len(bytes.TrimLeft(text, "0123456789+-.eEtrufalsn"))
	}
	for size = 1; text[size] != '"'; size++ {
		if text[size] == '\\' {
			size++
		}
	}
	return size + 1
}

func isMasked(name string) bool {
	return slices.Contains(maskedNames, strings.ToLower(strings.ReplaceAll(name, "_", "")))
}

func encoded(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // Encode cannot fail, because v holds only texts and decoded JSON
	return strings.TrimSuffix(out.String(), "\n")
}
