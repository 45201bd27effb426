// Package openapi compares the sandbox's control API with its OpenAPI file, by a validator
// that is not ours. It is a module of its own, because nothing else needs that validator.
package openapi
