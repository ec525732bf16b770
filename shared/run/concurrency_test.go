package run_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/nodefence/nodefence/shared/run"
)

func TestTwoHundredAtOnce(t *testing.T) {
	const n = 200
	var arrived sync.WaitGroup
	arrived.Add(n)
	s := httptest.NewServer(run.HTTP(func(_ context.Context, e event.Event) (*event.Event, error) {
		arrived.Done()
		arrived.Wait() // returns only if all of them run at the same time
		e.SetType("io.nodefence.fence.releasing.v1")
		return &e, nil
	}, quiet()))
	defer s.Close()
	answers := make(chan error, n)
	for i := range n {
		go func() { answers <- exchange(s, fmt.Sprintf("node-%d", i)) }()
	}
	for range n {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

// exchange sends an event and checks that the reply is of the same one.
func exchange(s *httptest.Server, id string) error {
	e := event.New()
	e.SetID(id)
	e.SetSource("/clusters/one")
	e.SetType("io.nodefence.fence.fencing.v1")
	if err := e.SetData("application/json", map[string]string{"node": id}); err != nil {
		return err
	}
	r, err := cehttp.NewHTTPRequestFromEvent(context.Background(), s.URL, e)
	if err != nil {
		return err
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		return err
	}
	defer func() { _, _ = io.Copy(io.Discard, resp.Body); _ = resp.Body.Close() }()
	reply, err := binding.ToEvent(context.Background(), cehttp.NewMessageFromHttpResponse(resp))
	if err != nil {
		return fmt.Errorf("status %d: %w", resp.StatusCode, err)
	}
	if reply.ID() != id || string(reply.Data()) != fmt.Sprintf(`{"node":%q}`, id) {
		return fmt.Errorf("sent %s, got %s %s", id, reply.ID(), reply.Data())
	}
	return nil
}
