module github.com/hotelstays/hotelstays-go/examples/fleet

go 1.26.0

replace (
	github.com/hotelstays/hotelstays-go => ../..
	github.com/hotelstays/hotelstays-go/contrib/hotelstaysredis => ../../contrib/hotelstaysredis
	github.com/hotelstays/hotelstays-go/contrib/hotelstayssql => ../../contrib/hotelstayssql
)

require (
	github.com/hotelstays/hotelstays-go v0.0.0-00010101000000-000000000000
	github.com/hotelstays/hotelstays-go/contrib/hotelstaysredis v0.0.0-00010101000000-000000000000
	github.com/hotelstays/hotelstays-go/contrib/hotelstayssql v0.0.0-00010101000000-000000000000
	github.com/jackc/pgx/v5 v5.11.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	modernc.org/sqlite v1.60.1
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/shopspring/decimal v1.6.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	modernc.org/libc v1.77.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
