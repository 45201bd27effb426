// Bodies that are refused.

package hotelstaystest

import (
	"testing"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestStrictDecoding(t *testing.T) {
	u := login(t, start(t, Config{NoRateLimits: true}))
	for name, tc := range map[string]struct{ path, body, msg string }{
		"unknown field":        {destinationsPath, `{"countrycode":"AE"}`, "unknown field countrycode"},
		"unknown nested field": {metadataPath, `{"destinationId":"x","page":{"pagesize":1}}`, "unknown field page.pagesize"},
		"unknown in a list":    {listPath, `{"roomOccupancies":[{"adults":2}]}`, "unknown field roomOccupancies[0].adults"},
		"string for integer":   {destinationsPath, `{"minHotelCount":"1"}`, "minHotelCount must be integer, not string"},
		"fraction":             {destinationsPath, `{"minHotelCount":1.5}`, "minHotelCount must be integer"},
		"number for string":    {detailPath, `{"hotelId":5}`, "hotelId must be string, not number"},
		"array for string":     {destinationsPath, `{"countryCode":["AE"]}`, "countryCode must be string, not array"},
		"scalar for object":    {metadataPath, `{"page":1}`, "page must be object"},
		"null":                 {destinationsPath, `{"countryCode":null}`, "countryCode is null"},
		"twice":                {destinationsPath, `{"countryCode":"AE","countryCode":"FR"}`, "countryCode appears twice"},
		"two values":           {destinationsPath, `{}{}`, "data after its JSON object"},
		"array":                {destinationsPath, `[]`, "the body must be object"},
		"empty":                {destinationsPath, ``, "empty"},
		"cut off":              {destinationsPath, `{"countryCode":"A`, "not valid JSON"},
		"old order query":      {queryPath, `{"orderIds":["1"]}`, "unknown field orderIds"},
	} {
		t.Run(name, func(t *testing.T) {
			u.refused(tc.path, tc.body, 400, types.CodeParam, tc.msg)
		})
	}
}
