// The OpenAPI document: openapi.json, completed from the table of operations.

package hotelstaystest

import (
	_ "embed"
	"encoding/json"
)

//go:embed openapi.json
var openAPIFile []byte

func getOpenAPI(*controlCall) (any, error) {
	var doc map[string]any
	if err := json.Unmarshal(openAPIFile, &doc); err != nil {
		return nil, err
	}
	paths, schemas := doc["paths"].(map[string]any), doc["components"].(map[string]any)["schemas"].(map[string]any)
	for _, op := range operations() {
		paths[op.name.Path()] = map[string]any{"post": op.document()}
	}
	schemas["FaultOperation"].(map[string]any)["enum"] = append([]Operation{""}, Operations()...)
	return doc, nil
}

// document returns the description of the operation for openapi.json. It omits the fields of the bodies, because the
// API document lists them.
func (o operation) document() map[string]any {
	component := func(name string) map[string]string { return map[string]string{"$ref": "#/components/" + name} }
	envelope, security, parameters := component("responses/Envelope"), []map[string][]string{}, []map[string]string{}
	if o.scope != "" {
		security = append(security, map[string][]string{"account": {}})
	}
	switch o.session {
	case sessionOptional:
		parameters = append(parameters, component("parameters/OptionalSessionId"))
	case sessionRequired:
		parameters = append(parameters, component("parameters/SessionId"))
	}
	return map[string]any{
		"tags": []string{"service"}, "summary": o.summary, "security": security, "parameters": parameters,
		"requestBody": component("requestBodies/Fields"), "responses": map[string]any{"200": envelope, "default": envelope},
	}
}
