module github.com/hotelstays/hotelstays-go

go 1.26.0

require (
	github.com/google/uuid v1.6.0
	github.com/shopspring/decimal v1.6.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	gopkg.in/h2non/gock.v1 v1.1.2
)

require (
	github.com/h2non/parth v0.0.0-20190131123155-b4df798d6542 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
