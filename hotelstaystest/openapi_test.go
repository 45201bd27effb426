// openapi.json beside what the server serves. internal/openapi compares its schemas with answers.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestOpenAPIListsEveryPathAndFault(t *testing.T) {
	var file struct {
		Paths map[string]map[string]struct {
			Summary    string
			Parameters []struct{ Name, In string }
		}
		Components struct {
			Schemas struct {
				FaultKind struct {
					OneOf []struct {
						Enum        []FaultKind
						Description string
					}
				}
			}
		}
	}
	err := json.Unmarshal(must(json.Marshal(must(getOpenAPI(nil)))), &file)
	stopIf(t, err != nil, "%v", err)
	var listed, served []string
	add := func(to *[]string, method, path string, query ...string) {
		slices.Sort(query)
		*to = append(*to, fmt.Sprintln(strings.ToUpper(method), path, query))
	}
	for path, methods := range file.Paths {
		for method, operation := range methods {
			var query []string
			for _, p := range operation.Parameters {
				if p.In == "query" {
					query = append(query, p.Name)
				}
			}
			add(&listed, method, path, query...)
			failIf(t, operation.Summary == "", "%s %s has no summary", method, path)
		}
	}
	for _, op := range operations() {
		add(&served, "POST", op.path)
	}
	add(&served, "GET", downloadPath+"{voucherNumber}/{document}", "expires", "proof")
	add(&served, "GET", verifyPath+"{voucherNumber}")
	for _, route := range controlRoutes {
		add(&served, route.method, route.path, slices.Clone(route.query)...)
	}
	slices.Sort(listed)
	slices.Sort(served)
	failIf(t, !slices.Equal(listed, served), "listed\n%s\nserved\n%s", listed, served)

	var described []FaultKind
	for _, kind := range file.Components.Schemas.FaultKind.OneOf {
		described = append(described, kind.Enum...)
		failIf(t, kind.Description == "", "fault %s has no description", kind.Enum)
	}
	failIf(t, !slices.Equal(described, faultKinds), "described %q, known %q", described, faultKinds)
}
