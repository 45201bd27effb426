// Package oapiclient is the client that oapi-codegen generates from openapi.yaml. `go generate
// ./...` in the root of the module writes the other file. Because of the imports here, go.mod is the
// same with and without that file.
package oapiclient

import _ "github.com/oapi-codegen/runtime"
