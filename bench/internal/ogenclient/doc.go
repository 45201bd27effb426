// Package ogenclient is the client that ogen makes from openapi.yaml. Only this file
// is kept: `go generate ./...` in the module's root writes the others. Its imports are
// those of the generated files, so that go.mod is the same with and without them.
package ogenclient

import (
	_ "github.com/go-faster/errors"
	_ "github.com/go-faster/jx"
	_ "github.com/ogen-go/ogen/conv"
	_ "github.com/ogen-go/ogen/http"
	_ "github.com/ogen-go/ogen/ogenerrors"
	_ "github.com/ogen-go/ogen/uri"
	_ "github.com/ogen-go/ogen/validate"
)
