// Wrong usage, and the curl line of the greeting.

package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestWrongUsageIsRefused(t *testing.T) {
	for name, args := range map[string][]string{
		"every address":   {"-listen", ":8080"},
		"public address":  {"-listen", "0.0.0.0:8080"},
		"other machine":   {"-listen", "192.0.2.1:80"},
		"unknown flag":    {"-port", "80"},
		"stray arguments": {"serve"},
	} {
		var stderr strings.Builder
		if got := run(t.Context(), args, io.Discard, &stderr); got != 2 || stderr.Len() == 0 {
			t.Errorf("%s: exit %d, %q", name, got, stderr.String())
		}
		if strings.Contains(name, "address") && !strings.Contains(stderr.String(), "loopback") {
			t.Errorf("%s: %q does not name the reason", name, stderr.String())
		}
	}
	if got := run(t.Context(), []string{"-h"}, io.Discard, io.Discard); got != 0 {
		t.Errorf("-h: exit %d", got)
	}
}

func TestServesUntilInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"-listen", "127.0.0.1:0", "-seed", "5", "-confirm-after", "1s"}, in, io.Discard)
		in.Close()
	}()
	text := make([]byte, 4096)
	n, err := out.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`curl -s (\S+) -H '[^']+' -d '([^']+)'`).FindSubmatch(text[:n])
	if m == nil {
		t.Fatalf("no curl line in %s", text[:n])
	}
	resp, err := http.Post(string(m[1]), "application/json", strings.NewReader(string(m[2])))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the printed line answers HTTP %d", resp.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if got := <-done; got != 0 {
		t.Errorf("exit %d", got)
	}
}
