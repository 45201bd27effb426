module github.com/hotelstays/hotelstays-go

go 1.26

require (
	github.com/google/uuid v1.6.0
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/shopspring/decimal v1.6.0
	golang.org/x/sync v0.24.0
)

require github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
