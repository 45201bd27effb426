//go:build !hotelstays_stdjson && !race

// The generated decoder reads what encoding/json reads: every type of answer, with everything
// that can be wrong or unusual about it. No goroutines run here, and the race detector would
// take too long.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// document is an answer, or a webhook, which has no envelope.
type document struct {
	name string
	body []byte
	bare bool
	into reflect.Type
}

// documents has every type of answer, with every documented field.
func documents() []document {
	var docs []document
	for name, into := range answerTypes() {
		if into.NumField() == 1 { // Meta alone
			continue
		}
		data, err := json.Marshal(filled(into).Interface())
		if err != nil {
			panic(err)
		}
		d := document{name: name, body: data, bare: name == recordedWebhooks, into: into}
		if !d.bare {
			d.body = slices.Concat([]byte(`{"code":0,"msg":"success","data":`), data, []byte("}"))
		}
		docs = append(docs, d)
	}
	return docs
}

var anyName = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"\s*:`)

// fieldNames has the names of all fields, by themselves in upper case.
var fieldNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for _, d := range documents() {
		for _, match := range anyName.FindAllSubmatch(d.body, -1) {
			names[strings.ToUpper(string(match[1]))] = string(match[1])
		}
	}
	return names
})

func (d document) fresh() any { return reflect.New(d.into).Interface() }

func (d document) with(body string) document {
	d.body = []byte(body)
	return d
}

// fast reads the document by the generated functions alone, and destroys the memory
// that it was read from.
func (d document) fast() (env wire.Envelope, got any, taken bool) {
	got = d.fresh()
	target, input := hotelstays.DecodeTarget(got, true), bytes.Clone(d.body)
	if d.bare {
		taken = wire.FastBare(context.Background(), input, target)
	} else {
		env, taken = wire.Fast(context.Background(), input, target)
	}
	clear(input)
	return env, got, taken
}

// standard reads the document without the generated functions. What has no mismatch must be what
// encoding/json alone makes of it.
func (d document) standard(t testing.TB, lenient bool) (wire.Envelope, any, error) {
	into, want := d.fresh(), d.fresh()
	env, err := d.decode(wire.Target{Into: into}, lenient)
	if err == nil && env.Count == 0 && (env.HasData || d.bare) && !respelled(d.body) {
		var alone any = want
		if !d.bare {
			alone = &struct{ Data any }{want}
		}
		if err := json.Unmarshal(d.body, alone); err != nil || !reflect.DeepEqual(want, into) {
			t.Fatalf("%s: %q is read as\n%+v, and by encoding/json as\n%+v, %v", d.name, d.body, into, want, err)
		}
	}
	return env, into, err
}

// respelled reports whether a name may be that of a field in other letter case, or escaped:
// encoding/json takes it for the field.
func respelled(body []byte) bool {
	fold := func(name []byte) string { return strings.ToUpper(strings.ToLower(string(name))) }
	for _, match := range anyName.FindAllSubmatch(body, -1) {
		if name, ok := fieldNames()[fold(match[1])]; ok && name != string(match[1]) || bytes.Contains(match[1], []byte(`\`)) {
			return true
		}
	}
	return false
}

func (d document) decode(target wire.Target, lenient bool) (env wire.Envelope, err error) {
	if d.bare {
		env.Mismatches, err = wire.DecodeBare(context.Background(), d.body, target, lenient)
		return env, err
	}
	return wire.Decode(context.Background(), d.body, target, lenient)
}

// agree reports whether the generated functions took the document. What they take
// must be what encoding/json makes of it; what they leave must be left untouched.
func (d document) agree(t testing.TB) bool {
	env, got, taken := d.fast()
	if !taken {
		if !reflect.ValueOf(got).Elem().IsZero() {
			t.Fatalf("%s: %q is given up and something is left behind: %+v", d.name, d.body, got)
		}
		return false
	}
	wantEnv, want, err := d.standard(t, false)
	if err != nil || !reflect.DeepEqual(wantEnv, env) || !reflect.DeepEqual(want, got) {
		t.Fatalf("%s: %q is read as\n%+v %+v, and by encoding/json as\n%+v %+v, %v", d.name, d.body, env, got, wantEnv, want, err)
	}
	return true
}

// agreeWhole compares what the client makes of the document: value, mismatches, error.
func (d document) agreeWhole(t testing.TB) {
	for _, lenient := range []bool{false, true} {
		got := d.fresh()
		env, err := d.decode(hotelstays.DecodeTarget(got, true), lenient)
		wantEnv, want, wantErr := d.standard(t, lenient)
		if !reflect.DeepEqual(wantErr, err) || !reflect.DeepEqual(wantEnv, env) || !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: %q is read as\n%+v %+v, %v, and by encoding/json as\n%+v %+v, %v", d.name, d.body, env, got, err, wantEnv, want, wantErr)
		}
	}
}

// What is documented is taken, however it is spaced and in whatever order.
func TestDecodeTakesWhatIsDocumented(t *testing.T) {
	for _, d := range documents() {
		assert.True(t, d.agree(t), d.name)
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, d.body, "\t", "\r\n "))
		assert.True(t, d.with(" \n"+indented.String()+"\t").agree(t), "%s, indented", d.name)
		var sorted any
		decoder := json.NewDecoder(bytes.NewReader(d.body))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&sorted))
		text, err := json.Marshal(sorted)
		require.NoError(t, err)
		assert.True(t, d.with(string(text)).agree(t), "%s, sorted by key", d.name)
		empty := d.with(`{"data":{},"code":0}`)
		assert.True(t, empty.agree(t), "%s, empty", d.name)
	}
}

// Every byte replaced by each of these, and every end.
func TestDecodeAgreesOnMutations(t *testing.T) {
	for _, d := range documents() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			taken, left, chosen := 0, 0, portionOf(t, 43, 211)
			for i := range d.body {
				for c := range testkit.SomeOf(chosen, []byte("\"\\{]},:0x-.\n\x00\xff")) {
					mutant := d.with(string(d.body))
					mutant.body[i] = c
					if mutant.agree(t) {
						taken++
					} else {
						left++
					}
				}
				if chosen.Next() {
					require.False(t, d.with(string(d.body[:i])).agree(t), "cut at %d", i)
				}
			}
			assert.Positive(t, taken)
			assert.Positive(t, left)
		})
	}
}

// oddValues are values of every type, at every edge; some are no JSON.
var oddValues = []string{
	`null`, `true`, `false`, `nul`, `nullx`, `True`,
	`0`, `-0`, `-`, `1`, `-1`, `01`, `-01`, `1.`, `.5`, `+1`, `1.5`, `-0.0`, `1e3`, `1E+2`, `1e-2`, `1e`, `1e+`, `0x1`, `NaN`, `1_0`,
	`2147483648`, `999999999999999999`, `1000000000000000000`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775808`,
	`-9223372036854775809`, `1e308`, `1e309`, `-1e400`, `1e-400`, `1e999999999999`,
	`0.1000000000000000055511151231257827021181583404541015625`,
	`""`, `"x"`, `"12"`, `"1.50"`, `"null"`, `"a\"b\\c\/d\b\f\n\r\t"`, `"\u00e9\u0000\uffff"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\ud83d"`,
	`"\ude00"`, `"\ud83d\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `"\u12"`, `"\u12g4"`, `"\x"`, `"\`, `"`, `"é漢😀"`,
	"\"a\xffb\"", "\"\xed\xa0\x80\"", "\"a\x01b\"",
	"\"a\nb\"", `'x'`, `"` + strings.Repeat("long ", 30) + `"`,
	`{}`, `{"a":1}`, `{"a":null}`, `{"a":1,"a":2}`, `{"a":1,"b":"2"}`, `{"":[]}`, `{"en":"a","EN":"b"}`, `{"\u0065n":"a"}`, `{"amount":"1"}`,
	`{"a" : [ 1 , { } ] }`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1`, "{\"a\xff\":1}", `{"ſtatuſ":1}`,
	`[]`, `[null]`, `[{}]`, `[[]]`, `[1,2]`, `["a",null]`, `[1,]`, `[,1]`, `[`, `[}`, `[1 2]`, `[{"currency":"EUR","amount":1.50},null,{}]`,
	strings.Repeat("[", 400) + strings.Repeat("]", 400), strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600),
	strings.Repeat("[", 9990) + strings.Repeat("]", 9990), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
}

// Every value replaced by each of these; every key written otherwise, repeated, and
// preceded by an unknown one; or a portion of that.
func TestDecodeAgreesOnValuesAndKeys(t *testing.T) {
	for _, d := range documents() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			taken, chosen := 0, portionOf(t, 17, 83)
			for _, m := range members(t, d.body) {
				before, after := string(d.body[:m.Key]), string(d.body[m.End:])
				key, value := string(d.body[m.Key:m.Value]), string(d.body[m.Value:m.End])
				name := key[1 : len(key)-2]
				for v := range testkit.SomeOf(chosen, oddValues) {
					if d.with(before + key + v + after).agree(t) {
						taken++
					}
				}
				for v := range testkit.SomeOf(chosen, []string{`null`, `[{"x":1}]`, `"x"`, `"12"`, `[7,null,"x",{"a":1}]`, `{"en":7,"EN":"b"}`, `1.5`,
					`{"eur":[],"usd":1}`}) {
					d.with(before + key + v + after).agreeWhole(t)
				}
				for other := range testkit.SomeOf(chosen, []string{strings.ToUpper(name), strings.ToLower(name), name + " ", " " + name, name[1:], "",
					strings.ReplaceAll(name, "s", "ſ"), strings.ReplaceAll(name, "k", "K"), fmt.Sprintf(`\u%04x`, name[0]) + name[1:], name + `\n`, name +
						"\xff"}) {
					d.with(before + `"` + other + `":` + value + after).agreeWhole(t)
					d.with(before + `"` + other + `":` + value + `,` + key + value + after).agreeWhole(t)
				}
				for twice := range testkit.SomeOf(chosen, []string{value, `null`, `{}`, `[]`, `1`}) {
					d.with(before + key + value + `,` + key + twice + after).agreeWhole(t)
					d.with(before + key + twice + `,` + key + value + after).agreeWhole(t)
				}
			}
			assert.Positive(t, taken)
		})
	}
}

// Unknown fields of any kind are passed over, in every object but the rates of
// exchange, which have no other.
func TestDecodeTakesUnknownFields(t *testing.T) {
	chosen := portionOf(t, 5, 11)
	for _, d := range documents() {
		for _, m := range members(t, d.body) {
			if key := string(d.body[m.Key:m.Value]); key == `"eur":` || key == `"kwd":` {
				continue
			}
			for v := range testkit.SomeOf(chosen, []string{`null`, `true`, `-1.5E+3`, `"\ud83d\ude00 é\n"`, `{"a":[{"b":null},"c"],"\u0061":0.0}`,
				`[]`, `{}`, strings.Repeat("[", 400) + strings.Repeat("]", 400)}) {
				more := d.with(string(d.body[:m.Key]) + `"brandNew":` + v + `,` + string(d.body[m.Key:]))
				_, _, taken := more.fast()
				require.True(t, taken, "%s: %s", d.name, more.body)
			}
		}
	}
}

func TestDecodeAgreesOnEnvelopes(t *testing.T) {
	chosen := portionOf(t, 5, 11)
	for _, d := range documents() {
		if d.bare {
			continue
		}
		data := strings.TrimSuffix(strings.TrimPrefix(string(d.body), `{"code":0,"msg":"success","data":`), "}")
		parts := []string{`"data":` + data, `"data":null`, `"data":{}`, `"data":[]`, `"data":1`, `"Data":` + data, `"code":0`, `"code":7`,
			`"code":-0`, `"code":null`,
			`"code":"0"`, `"code":0.0`, `"CODE":0`, `"code":99999999999999999999`, `"msg":"m"`, `"msg":null`, `"msg":5`,
			`"msg":{}`, `"Msg":"n"`, `"more":[1]`, `"more"`}
		for _, a := range parts {
			d.with(`{` + a + `}`).agreeWhole(t)
			for b := range testkit.SomeOf(chosen, parts) {
				d.with(`{` + a + `,` + b + `}`).agreeWhole(t)
				d.with(`{` + a + `,` + b + `} x`).agreeWhole(t)
			}
		}
		for _, twice := range []string{`"code":0`, `"msg":"m"`, `"msg":null`, `"data":` +
			strings.ReplaceAll(strings.ReplaceAll(data, `"en":`, `"zh":`), `"currency":`, `"other":`)} {
			assert.False(t, d.with(`{"msg":"m","code":0,"data":`+data+`,`+twice+`}`).agree(t), "%s: %s", d.name, twice)
		}
		for _, ordinary := range []string{`{"data":%s,"code":0}`, `{"msg":null,"data":%s,"code":0,"more":[{"data":1}]}`} {
			assert.True(t, d.with(fmt.Sprintf(ordinary, data)).agree(t), "%s: %s", d.name, ordinary)
		}
		for _, whole := range []string{``, ` `, `null`, `[]`, `1`, `"x"`, `{`, `}`, `{}`, `{}{}`, "\xef\xbb\xbf{}", `<html>`, "\x00"} {
			d.with(whole).agreeWhole(t)
		}
	}
}

// Nothing of a result lies in memory that is used again: not in the body, and not in
// what the lexer and the lists keep.
func TestDecodeSharesNoMemory(t *testing.T) {
	docs := documents()
	for _, d := range docs {
		_, got, taken := d.fast()
		require.True(t, taken)
		for _, other := range docs {
			text := bytes.ToUpper(bytes.ReplaceAll(other.body, []byte(`"`), []byte(`" `)))
			other.with(string(text)).fast()
			other.with(strings.ReplaceAll(string(other.body), "e", "E")).fast()
		}
		_, want, _ := d.standard(t, false)
		assert.Equal(t, want, got, d.name)
	}
}

// Both readers refuse an answer from the same element on.
func TestMemoryIsCountedAlike(t *testing.T) {
	const longest = 2 * mib // more than fits
	for tc := range testkit.SomeOf(portionOf(t, 2, 4), []struct {
		resp                    any
		before, element, behind string
	}{
		{&hotelstays.QueryOrdersResponse{}, `{"orders":[{}`, `,{"hotel":{"name":{}},"netRate":{},"rooms":[{},{}],"refundedPrice":null}`, `]}`},
		{&hotelstays.CheckAvailResponse{}, `{"roomRatePkg":{"tax":{"items":[{}`, `,{"amount":{}}`, `]}}}`},
		{&hotelstays.CheckAvailResponse{}, `{"exchangeRateSnapshot":{"usd":{"eur":1`, `,"%06d":1`, `}}}`},
		{&hotelstays.HotelListResponse{}, `{"list":[{"isAvailable":true,"minPricesByCurrency":[{}`, `,{}`, `]}]}`},
	}) {
		text := &strings.Builder{}
		text.WriteString(`{"code":0,"data":` + tc.before)
		var ends []int // of so many elements
		for i := 0; text.Len() < longest; i++ {
			ends = append(ends, text.Len())
			if strings.Contains(tc.element, "%") {
				fmt.Fprintf(text, tc.element, i)
			} else {
				text.WriteString(tc.element)
			}
		}
		body := []byte(text.String())
		whole := func(n int) []byte { return append(body[:ends[n]:ends[n]], tc.behind+"}"...) }
		most := sort.Search(len(ends), func(n int) bool {
			_, taken := wire.Fast(t.Context(), whole(n), bothTargets(tc.resp)[0])
			return !taken
		})
		require.Less(t, most, len(ends), tc.before)
		_, err := wire.Decode(t.Context(), whole(most-1), bothTargets(tc.resp)[1], false)
		assert.NoError(t, err, tc.before)
		_, err = wire.Decode(t.Context(), whole(most), bothTargets(tc.resp)[1], false)
		assert.Error(t, err, tc.before)
	}
}

// FuzzDecodeAgrees takes a whole answer and reads it as each type.
func FuzzDecodeAgrees(f *testing.F) {
	docs := documents()
	for _, d := range docs {
		f.Add(d.body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range docs {
			d.with(string(body)).agree(t)
			d.with(string(body)).agreeWhole(t)
		}
	})
}

func TestDecodeNeverGivesUpOnOrdinaryAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t, hotelstaystest.Config{Notices: []string{"a supplier was slow"}})
		docs, read := documents(), map[string]bool{}
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithHTTPClient(&http.Client{
			Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
				resp, err := srv.Client().Transport.RoundTrip(r)
				if err != nil || resp.StatusCode != http.StatusOK {
					return resp, err
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body = io.NopCloser(bytes.NewReader(body))
				for _, d := range docs {
					if path := strings.ReplaceAll(r.URL.Path, "/", ""); strings.HasSuffix(strings.ToLower(path), strings.ToLower(d.name)) {
						assert.True(t, d.with(string(body)).agree(t), "%s: %.300s", d.name, body)
						read[d.name] = true
					}
				}
				return resp, err
			})}))
		offer := findOffer(t, srv, client, 0, types.RefundableFull)
		_, err := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: offer.Session, RatePkgID: offer.RatePkgID})
		require.NoError(t, err)
		order := offer.Book(t, client, "ref-1")
		time.Sleep(time.Hour)
		_, err = client.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: srv.ClientID,
			ClientSecret: types.NewSecret(srv.ClientSecret)})
		require.NoError(t, err)
		_, err = client.Destinations(t.Context(), &hotelstays.DestinationsRequest{Include: types.DestinationsIncludeDetails})
		require.NoError(t, err)
		_, err = client.HotelList(t.Context(), searchCity(srv))
		require.NoError(t, err)
		for _, call := range operationCalls { // of other orders and places
			_ = call(t.Context(), client)
		}
		_, err = client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1", IncludeDocument: true})
		require.NoError(t, err)
		_, err = client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: offer.Session, CustomerReferenceNo: "ref-1",
			SupplierReferenceNo: order.SupplierReferenceNo})
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(read), 13)
	})
}

func TestWebhooksShareNoTexts(t *testing.T) {
	first, err := hookVerify(hookPaid)
	require.NoError(t, err)
	second, err := hookVerify(hookPaid)
	require.NoError(t, err)
	assert.NotSame(t, unsafe.StringData(first.HotelConfirmNo), unsafe.StringData(second.HotelConfirmNo))
}
