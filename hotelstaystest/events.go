// Server-Sent Events: the ledger's entries as they happen.

package hotelstaystest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	heartbeat    = 15 * time.Second
	eventsAtOnce = 200
)

// stream sends a client the entries after a sequence number, until the connection ends. It reads the entries from the ledger
// and does not store them, so a slow client costs no memory. If the ledger replaces or drops an entry before stream reads
// the entry, the client does not get it.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, after int64) {
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(w)
	send := func(text []byte) bool {
		_, err := w.Write(text)
		return err == nil && out.Flush() == nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for text := []byte(": connected\n\n"); send(text); {
		entries, news := s.ledger.read(after, eventsAtOnce)
		text = eventText(entries)
		if len(entries) > 0 {
			after = entries[len(entries)-1].Seq
			continue
		}
		select {
		case <-news:
		case <-beat.C:
			text = []byte(": still here\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

func eventText(entries []Entry) []byte {
	var text bytes.Buffer
	for _, e := range entries {
		data, err := json.Marshal(e)
		if err != nil {
			panic("hotelstaystest: cannot encode an entry: " + err.Error())
		}
		fmt.Fprintf(&text, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, data)
	}
	return text.Bytes()
}
