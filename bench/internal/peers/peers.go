// Package peers has the compared clients. Each makes the same calls with the same headers, and
// returns the decoded data.
package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	goccy "github.com/goccy/go-json"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/types"
)

// Token is the bearer token of all calls. No client fetches a token, because token fetches are not compared.
const Token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJiZW5jaCJ9.c2lnbmF0dXJlLW9mLXRoZS1iZW5jaG1hcms"

// Call makes one call and returns the decoded data.
type Call func(context.Context) (any, error)

// Peer is a compared client. It is safe for concurrent use.
type Peer struct {
	Calls map[hotelstays.Operation]Call
	Close func()
}

// Kind is a kind of client in the comparison. New creates a client for a base URL.
type Kind struct {
	Name string
	New  func(baseURL string) (Peer, error)
}

// Names of clients in the tables and promises.
const (
	Ours         = "hotelstays"
	EncodingJSON = "encoding/json"
	Goccy        = "goccy"
	Resty        = "resty"
)

// All returns every kind of client in this build, the SDK first. The generated clients need go generate and the
// build tag generated.
func All() []Kind {
	return append(append(HandWritten(), Kind{Resty, newResty}), generated()...)
}

// HandWritten returns the SDK and two clients written by hand. The two differ only in their JSON package.
func HandWritten() []Kind {
	return []Kind{
		{Ours, newOurs},
		{EncodingJSON, newHandwritten(codec{json.Marshal, json.Unmarshal})},
		{Goccy, newHandwritten(codec{goccy.Marshal, goccy.Unmarshal})},
	}
}

// The requests are the same for all peers. The session is a header of the request.
var (
	hotelList = &hotelstays.HotelListRequest{
		HotelIDs: answers.HotelIDs(), CheckIn: "2027-02-20", CheckOut: "2027-02-23",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2, ChildrenAges: []int{7}}},
		NationalityCode: "AE", PageSize: 200, SortBy: types.SortPriceAsc,
	}
	checkAvail = &hotelstays.CheckAvailRequest{RatePkgID: answers.RatePkgID}
)

// timeout bounds a call. The service receives a limit that is one second shorter, in milliseconds.
const (
	timeout     = 60 * time.Second
	timeoutHint = int64((timeout - time.Second) / time.Millisecond)
)

func bounded[T any](call func(context.Context) (T, error)) Call {
	return func(ctx context.Context) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return call(ctx)
	}
}

type post func(ctx context.Context, path string, in, answer any) (status int, err error)

const hotelListPath = "/api/search/hotelList"

// callsThrough returns the calls of a client that sends its requests with p, and decodes into the SDK's types.
func callsThrough(p post) map[hotelstays.Operation]Call {
	return map[hotelstays.Operation]Call{
		hotelstays.OpHotelList:  through[hotelstays.HotelListResponse](p, hotelListPath, hotelList),
		hotelstays.OpCheckAvail: through[hotelstays.CheckAvailResponse](p, "/api/search/checkAvail", checkAvail),
	}
}

func through[T any](p post, path string, in any) Call {
	return bounded(func(ctx context.Context) (*T, error) {
		var answer struct {
			Code *int   `json:"code"`
			Msg  string `json:"msg"`
			Data *T     `json:"data"`
		}
		status, err := p(ctx, path, in, &answer)
		if err == nil && (status != http.StatusOK || answer.Code == nil || *answer.Code != 0 || answer.Data == nil) {
			err = fmt.Errorf("%s answered HTTP %d: %s", path, status, answer.Msg)
		}
		return answer.Data, err
	})
}
