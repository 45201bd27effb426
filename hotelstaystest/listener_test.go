// In-memory connections end and time out like sockets.

package hotelstaystest

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestInMemoryConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemListener()
		var server io.ReadWriteCloser
		go func() { c, _ := l.Accept(); server = c }()
		client, err := l.dial(t.Context(), "127.0.0.1:1")
		stopIf(t, err != nil, "%v", err)
		synctest.Wait()
		client.SetReadDeadline(time.Now().Add(time.Minute))
		began := time.Now()
		if _, err := client.Read(make([]byte, 1)); err == nil || time.Since(began) != time.Minute {
			t.Errorf("a read deadline of a minute: %v after %v", err, time.Since(began))
		}
		client.SetReadDeadline(time.Time{})
		server.Write([]byte("last words"))
		server.Close()
		if b, err := io.ReadAll(client); string(b) != "last words" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		if _, err := client.Write([]byte("x")); err == nil {
			t.Error("a write to a closed peer succeeds")
		}
		client.Close()
		l.Close()
		if _, err := l.dial(context.Background(), "127.0.0.1:1"); err == nil {
			t.Error("a closed listener can be dialled")
		}
	})
}
