// The times of a story.

package sandboxpage

import (
	"testing"
	"time"
)

func TestSince(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "+0.0 s", 1250 * time.Millisecond: "+1.2 s", 61 * time.Second: "+1 m 1 s", 25*time.Hour + 2*time.Minute: "+25 h 2 m",
	} {
		if got := since(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
