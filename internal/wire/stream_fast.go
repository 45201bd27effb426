//go:build !hotelstays_stdjson

package wire

func init() { readHotel = ReadHotel }
