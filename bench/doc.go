// Package bench compares the SDK with other clients. It is a separate module, so that the SDK does not
// depend on these clients. See README.md.
package bench

//go:generate go tool ogen --config ogen.yaml --target internal/ogenclient --package ogenclient --clean --loglevel warn openapi.yaml
//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
