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
	if err := json.Unmarshal(must(json.Marshal(must(getOpenAPI(nil)))), &file); err != nil {
		t.Fatal(err)
	}
	line := func(method, path string, query []string) string {
		return fmt.Sprint(strings.ToUpper(method), " ", path, slices.Sorted(slices.Values(query)))
	}
	served := []string{
		line("GET", downloadPath+"{voucherNumber}/{document}", []string{"expires", "proof"}),
		line("GET", verifyPath+"{voucherNumber}", nil),
	}
	for _, op := range operations() {
		served = append(served, line("POST", op.path, nil))
	}
	for _, route := range controlRoutes {
		served = append(served, line(route.method, route.path, route.query))
	}
	var listed []string
	for path, methods := range file.Paths {
		for method, operation := range methods {
			var query []string
			for _, p := range operation.Parameters {
				if p.In == "query" {
					query = append(query, p.Name)
				}
			}
			if listed = append(listed, line(method, path, query)); operation.Summary == "" {
				t.Errorf("%s %s has no summary", method, path)
			}
		}
	}
	for _, one := range served {
		failIf(t, !slices.Contains(listed, one), "openapi.json does not list %s", one)
	}
	for _, one := range listed {
		failIf(t, !slices.Contains(served, one), "openapi.json lists %s, which is not served", one)
	}
	var described []FaultKind
	for _, kind := range file.Components.Schemas.FaultKind.OneOf {
		if described = append(described, kind.Enum...); kind.Description == "" {
			t.Errorf("fault %s has no description", kind.Enum)
		}
	}
	failIf(t, !slices.Equal(described, faultKinds), "described %q, known %q", described, faultKinds)
}
