//go:build !hotelstays_stdjson

package wire

func init() { readHotel = ReadHotel } //nolint:gochecknoinits // the build tag leaves ReadHotel out
