// Package openapi compares the sandbox with its OpenAPI file, by a validator
// that is not ours. It is a module of its own, because nothing else needs that validator.
package openapi
