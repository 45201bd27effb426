// Package openapi compares the sandbox with its OpenAPI file, by a third-party validator. It is a separate module,
// because nothing else needs that validator.
package openapi
