module github.com/hotelstays/hotelstays-go/contrib/sql

go 1.26.0

replace github.com/hotelstays/hotelstays-go => ../../

require github.com/hotelstays/hotelstays-go v0.0.0-00010101000000-000000000000

require github.com/shopspring/decimal v1.6.0 // indirect
