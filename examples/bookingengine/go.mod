module github.com/hotelstays/hotelstays-go/examples/bookingengine

go 1.26.0

replace (
	github.com/hotelstays/hotelstays-go => ../..
	github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox/browsertest => ../../cmd/hotelstays-sandbox/browsertest
	github.com/hotelstays/hotelstays-go/contrib/hotelstayssql => ../../contrib/hotelstayssql
)

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.22.1
	github.com/google/uuid v1.6.0
	github.com/hashicorp/golang-lru/v2 v2.0.7
	github.com/hotelstays/hotelstays-go v0.0.0-00010101000000-000000000000
	github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox/browsertest v0.0.0-00010101000000-000000000000
	github.com/hotelstays/hotelstays-go/contrib/hotelstayssql v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	modernc.org/sqlite v1.60.1
)

require (
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/shopspring/decimal v1.6.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.48.0 // indirect
	modernc.org/libc v1.77.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
