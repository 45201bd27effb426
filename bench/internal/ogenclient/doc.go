// Package ogenclient is the client that ogen generates from openapi.yaml. `go generate ./...`
// in the root of the module writes the other files. Because of the imports here, go.mod is the same
// with and without these files.
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
