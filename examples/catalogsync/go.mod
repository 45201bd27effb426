module github.com/hotelstays/hotelstays-go/examples/catalogsync

go 1.26.0

replace github.com/hotelstays/hotelstays-go => ../..

require (
	github.com/hotelstays/hotelstays-go v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.24.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/shopspring/decimal v1.6.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
