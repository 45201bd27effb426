// openapi.json beside what the server serves. internal/openapi compares its schemas with answers.

package hotelstaystest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestOpenAPIListsEveryPathAndFault(t *testing.T) {
	var file struct {
		Paths      map[string]map[string]struct{ Summary string }
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
	if err := json.Unmarshal(openAPI, &file); err != nil {
		t.Fatal(err)
	}
	served := []string{"get " + downloadPath + "{voucherNumber}/{document}", "get " + verifyPath + "{voucherNumber}"}
	for _, op := range operations() {
		served = append(served, "post "+op.path)
	}
	for _, route := range controlRoutes {
		served = append(served, strings.ToLower(route.method)+" "+route.path)
	}
	var listed []string
	for path, methods := range file.Paths {
		for method, operation := range methods {
			if listed = append(listed, method+" "+path); operation.Summary == "" {
				t.Errorf("%s %s has no summary", method, path)
			}
		}
	}
	slices.Sort(served)
	slices.Sort(listed)
	if !slices.Equal(listed, served) {
		t.Errorf("listed\n%q\nserved\n%q", listed, served)
	}
	var described []FaultKind
	for _, kind := range file.Components.Schemas.FaultKind.OneOf {
		if described = append(described, kind.Enum...); kind.Description == "" {
			t.Errorf("fault %s has no description", kind.Enum)
		}
	}
	if !slices.Equal(described, faultKinds) {
		t.Errorf("described %q, known %q", described, faultKinds)
	}
}
