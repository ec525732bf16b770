package devicetest

import (
	"io"
	"net/http"
)

// Words are an error's; none if there is none.
func Words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Silence keeps a request without an answer, until its client has gone or the test has
// ended. What writes no answer after it is a success to who is just hanging up.
func Silence(r *http.Request, ended <-chan struct{}) {
	_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the client has gone
	select {
	case <-r.Context().Done():
	case <-ended:
	}
}
