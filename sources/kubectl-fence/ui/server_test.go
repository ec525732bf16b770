package ui

import (
	"context"
	"io"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// TestTheInvitationIsForgotten: what opened the browser is told when a browser was let in, and else at
// the end.
func TestTheInvitationIsForgotten(t *testing.T) {
	c, err := cluster.New(&rest.Config{Host: "https://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, enters := range []bool{true, false} {
		ctx, end := context.WithCancel(t.Context())
		opened, forgotten, ended := make(chan string, 1), make(chan bool, 2), make(chan error, 1)
		go func() {
			ended <- Serve(ctx, Options{Client: c, Out: io.Discard, Open: func(url string) func() {
				opened <- url
				return func() { forgotten <- true }
			}})
		}()
		if url := <-opened; enters {
			r, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			<-forgotten // or the test does not end
		}
		end()
		if err := <-ended; err != nil || len(forgotten) != 1 {
			t.Errorf("enters %v: forgotten %d times at the end: %v", enters, len(forgotten), err)
		}
	}
}
