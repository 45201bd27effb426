// Package oapiclient is the client that oapi-codegen makes from openapi.yaml. Only
// this file is kept: `go generate ./...` in the module's root writes the other. Its
// import is that of the generated file, so that go.mod is the same with and without it.
package oapiclient

import _ "github.com/oapi-codegen/runtime"
