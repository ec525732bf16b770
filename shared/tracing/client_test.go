package tracing

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestARedirectIsNotFollowed: what is sent holds a token, and goes to the URL of the settings only.
func TestARedirectIsNotFollowed(t *testing.T) {
	asked := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header.Get("X-Key") }))
	defer other.Close()
	r := newRig(t, http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	must(t, r.Sender("source", &kept{}, func(string) (Fence, bool) { return Fence{Node: "a"}, true }).Send(t.Context(), unhealthy()))
	r.Flush(t.Context())
	select {
	case key := <-asked:
		t.Errorf("another server was asked, with header %q", key)
	default:
	}
	if n, log := counter(t, r, "dropped"), r.log.String(); n != 1 || !strings.Contains(log, "the collector answered 307 Temporary Redirect") {
		t.Errorf("%v spans are dropped: %s", n, log)
	}
}
