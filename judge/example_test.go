package judge_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/judge"
)

// In a staging environment findings go to your log.
func Example() {
	j := judge.New(&judge.Options{Sample: 0.1, OnFinding: func(f judge.Finding) {
		if f.Grade == judge.Violation {
			fmt.Println(f.Grade, f.Name, f.Path, "expected", f.Want, "got", f.Type)
		}
	}})
	client := &http.Client{Transport: j.Transport(testkit.Transport(func(*http.Request) (*http.Response, error) {
		return testkit.Reply(400, `{"code":7,"msg":"no","data":{"secret":1}}`), nil
	}))}
	resp, err := client.Post("https://test.example/api/trade/cancel", "application/json", strings.NewReader("{}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body) // a body that is not read to its end is not judged
	resp.Body.Close()
	j.Wait()
	fmt.Println("dropped:", j.Dropped())
	// Output:
	// violation envelope/failure data expected no data got object
	// dropped: 0
}
