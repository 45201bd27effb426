package oncall_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/hotelstays/hotelstays-go/durable/oncall"
)

// requireLogin stands for the authentication of your service.
func requireLogin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "secret" {
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// The login of your service protects the page, and names the person for the log.
func ExampleHandler() {
	var journal work // the Journal of contrib/hotelstayssql, or the Bookings of contrib/hotelstaysriver
	page := oncall.Handler[any](&journal, &oncall.Options{User: func(r *http.Request) string {
		name, _, _ := r.BasicAuth()
		return name
	}})
	mux := http.NewServeMux()
	mux.Handle("/oncall/", requireLogin(http.StripPrefix("/oncall", page)))

	server := httptest.NewServer(mux)
	defer server.Close()
	for _, user := range []string{"", "ada:secret@"} {
		resp, err := http.Get(strings.Replace(server.URL, "://", "://"+user, 1) + "/oncall/")
		if err != nil {
			fmt.Println(err)
			return
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode, strings.Contains(string(text), "Nothing is open."))
	}
	// Output:
	// 401 false
	// 200 true
}
