// Rules for everything that the module exports.

package conformance_test

import (
	"encoding/json"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/redact"
	values "github.com/hotelstays/hotelstays-go/types"
)

// If a constant were the zero value, a field that nobody has set would have a meaning. Exceptions are values of the
// service, and the default priority.
func TestNoConstantIsTheZeroValue(t *testing.T) {
	var found []string
	for name, object := range exported(t) {
		value, ok := object.(*types.Const)
		if !ok {
			continue
		}
		kind, ok := value.Type().(*types.Named)
		if text := value.Val().ExactString(); ok && kind.Obj().Pkg() == value.Pkg() && (text == "0" || text == `""`) {
			found = append(found, name)
		}
	}
	assert.ElementsMatch(t, []string{"types.DestinationUnknown", "types.OrderUnknown", "hotelstays.PriorityDefault"}, found)
}

// reasons lists the fields that the JSON of an exported struct leaves out, with the reason. JSON also leaves out the
// Meta of each response, because encoding/json must not read Meta from the data.
func TestJSONLeavesOutOnlyListedFields(t *testing.T) {
	const storeHasIt, ofControlAPI, function = "the row of a Store has it", "the control API has its own form", "no data"
	reasons := map[string]string{
		"hotelstays.BookResponse.Changes":               "CompareOrder makes it again",
		"hotelstays.TicketCredential.AppSecretFrom":     function,
		"hotelstays.OAuthCredential.ClientSecretFrom":   function,
		"hotelstays.CallOptions.Header":                 "its values may be secret",
		"hotelstays.CallOptions.RequestID":              function,
		"hotelstays.CallOptions.ClientRequestTimestamp": function,
		"hotelstays.CallOptions.Wakeup":                 function,
		"hotelstays.CallOptions.SaveRecovery":           function,
		"durable.Booking.Due":                           storeHasIt,
		"hotelstaystest.Request.Header":                 ofControlAPI,
		"hotelstaystest.Request.Body":                   ofControlAPI,
		"hotelstaystest.Request.BodySHA256":             ofControlAPI,
		"hotelstaystest.Request.Answer":                 ofControlAPI,
		"hotelstaystest.LedgerOrder.ContentKey":         ofControlAPI,
		"hotelstaystest.WebhookAttempt.Signature":       ofControlAPI,
		"hotelstaystest.WebhookConfig.CallbackHandler":  function,
		"hotelstaystest.ControlConfig.Page":             function,
	}
	var found []string
	for name, object := range exported(t) {
		fields, ok := object.Type().Underlying().(*types.Struct)
		if _, isType := object.(*types.TypeName); !ok || !isType {
			continue
		}
		for i := range fields.NumFields() {
			field := fields.Field(i).Name()
			if reflect.StructTag(fields.Tag(i)).Get("json") == "-" && (field != "Meta" || !strings.HasSuffix(name, "Response")) {
				found = append(found, name+"."+field)
			}
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(reasons)), found)
}

// A request that is decoded from JSON sends the same body as the original. If the original has a secret, the JSON has a
// mask in place of the secret, and the client refuses the decoded request.
func TestRequestFromJSONSendsTheSameBody(t *testing.T) {
	var names, known []string
	for name := range exported(t) {
		if kind, ok := strings.CutPrefix(name, "hotelstays."); ok && strings.HasSuffix(kind, "Request") {
			names = append(names, kind)
		}
	}
	eachOperation(t, func(t *testing.T, op *operation) {
		known = append(known, reflect.TypeOf(op.full.req).Elem().Name())
		for _, call := range []struct {
			apiCall
			body, session string
		}{{op.minimal, op.minimalBody, op.minimalSession}, {op.full, op.fullBody, op.fullSession}} {
			req := reflect.ValueOf(call.req)
			if expect := req.Elem().FieldByName("Expect"); expect.IsValid() {
				require.NoError(t, json.Unmarshal([]byte(pkgJSON), expect.Addr().Interface()))
			}
			text, err := json.Marshal(call.req)
			require.NoError(t, err)
			queued := callWith(op.name, string(text), "")
			if strings.Contains(string(text), redact.Marker) {
				_, err := queued.send(t.Context(), clientThrough(t, saying(`{}`)))
				invalid := new(hotelstays.ValidationError)
				require.ErrorAs(t, err, &invalid)
				assert.ErrorContains(t, err, redact.Marker)
			} else {
				sent, _ := exchange(t, queued, op.data, nil)
				op.checkSent(t, sent, call.body)
				assert.Equal(t, call.session, sent.header["Session-Id"])
			}
			withoutSecrets(req)
			withoutSecrets(reflect.ValueOf(queued.req))
			assert.Equal(t, call.req, queued.req)
		}
	})
	_, err := json.Marshal(hotelstays.DoRequest{Path: "/api/x"})
	require.ErrorContains(t, err, "DoRequest has no JSON")
	assert.ElementsMatch(t, names, append(known, "DoRequest", "RateLimitRequest")) // a RateLimitRequest only describes a call to a RateLimiter
}

func withoutSecrets(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[values.Secret]():
		v.SetZero()
	case v.Kind() == reflect.Pointer && !v.IsNil():
		withoutSecrets(v.Elem())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			withoutSecrets(v.Index(i))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			withoutSecrets(v.Field(i))
		}
	}
}

// exported returns the exported objects of the module's packages, by names such as hotelstays.Client.
func exported(t *testing.T) map[string]types.Object {
	t.Helper()
	all, err := exportedNames()
	require.NoError(t, err)
	return all
}

var exportedNames = sync.OnceValues(func() (map[string]types.Object, error) {
	const module = "github.com/hotelstays/hotelstays-go"
	files, err := exportData()
	if err != nil {
		return nil, err
	}
	all, packages := map[string]types.Object{}, compiled(token.NewFileSet())
	for path := range files {
		if !strings.HasPrefix(path, module) || strings.Contains(path, "/internal/") || strings.Contains(path, "/cmd/") {
			continue
		}
		pkg, err := packages.Import(path)
		if err != nil {
			return nil, err
		}
		for _, name := range pkg.Scope().Names() {
			if object := pkg.Scope().Lookup(name); object.Exported() {
				all[pkg.Name()+"."+name] = object
			}
		}
	}
	return all, nil
})

// exportData returns the files with the compiler's export data of the module's packages and of their dependencies, by import path.
var exportData = sync.OnceValues(func() (map[string]string, error) {
	lines, err := linked("-export", "-f", "{{.ImportPath}}={{.Export}}", "./...")
	files := map[string]string{}
	for _, line := range lines {
		path, file, _ := strings.Cut(line, "=")
		files[path] = file
	}
	return files, err
})

// compiled returns an importer that reads the compiler's export data.
func compiled(fset *token.FileSet) types.Importer {
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		files, err := exportData()
		if err != nil {
			return nil, err
		}
		return os.Open(files[path])
	})
}
