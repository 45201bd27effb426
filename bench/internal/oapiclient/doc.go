// Package oapiclient is the client that oapi-codegen generates from openapi.yaml. `go generate
// ./...` in the root of the module writes the other file. The imports here keep go.mod the
// same without it.
package oapiclient

import _ "github.com/oapi-codegen/runtime"
