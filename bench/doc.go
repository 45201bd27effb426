// Package bench compares the SDK with others' code, in a module of its own so that
// the SDK does not depend on them. README.md says how to run it.
package bench

//go:generate go tool ogen --config ogen.yaml --target internal/ogenclient --package ogenclient --clean --loglevel warn openapi.yaml
//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
