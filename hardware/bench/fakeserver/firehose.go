package fakeserver

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Firehose streams ready-made tokens at a fixed pace with as little work as HTTP allows, each token its own write: for measuring a client, not a
// server. The answer has as many tokens as max_tokens says, here fixed beforehand.
func Firehose(tokens int, every time.Duration) http.Handler {
	event := `data: {"id":"x","object":"text_completion","choices":[{"index":0,"text":" word","finish_reason":null}]}` + "\n\n"
	part := []byte(fmt.Sprintf("%x\r\n%s\r\n", len(event), event))
	last := "data: [DONE]\n\n"
	end := []byte(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(last), last))
	head := []byte(strings.Join([]string{"HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", "Connection: close", "", ""}, "\r\n"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // closing on unread data would reset the connection
			return
		}
		h, ok := w.(http.Hijacker)
		if !ok {
			http.Error(w, "can't take over the connection", http.StatusInternalServerError)
			return
		}
		c, _, err := h.Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err = c.Write(head); err != nil {
			return
		}
		start := time.Now()
		for i := range tokens {
			time.Sleep(time.Until(start.Add(time.Duration(i) * every)))
			if _, err = c.Write(part); err != nil {
				return
			}
		}
		if _, err = c.Write(end); err != nil {
			return
		}
	})
}
