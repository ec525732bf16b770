package sink

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/run"
)

// phaseEvent is one as the source sends it.
func phaseEvent() event.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return events.SourceOf("c").Phase(&api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "fence-a"},
		Spec:       api.NodeFenceSpec{NodeName: "a"},
		Status:     api.NodeFenceStatus{Decision: api.Decision{NodeUID: "node-a"}, FenceNumber: 1, Phase: api.Fencing},
	}, at, at)
}

func TestASentEventIsReadByAFunctionsEndpoint(t *testing.T) {
	var got event.Event
	s := httptest.NewServer(run.HTTP(func(_ context.Context, e event.Event) (*event.Event, error) { got = e; return nil, nil },
		run.HTTPOptions{}))
	defer s.Close()
	h, err := New(Options{Sink: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	want := phaseEvent()
	if err := h.Send(context.Background(), want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.String(), got.String()); d != "" {
		t.Error(d)
	}
}

func TestOnly2xxCountsForHavingIt(t *testing.T) {
	status, header := 0, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Get("Ce-Type")
		if status == http.StatusTemporaryRedirect {
			w.Header().Set("Location", "/elsewhere")
		}
		if r.URL.Path == "/elsewhere" {
			status = http.StatusOK
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, map[bool]string{true: "no\nroom"}[status == 503])
	}))
	defer s.Close()
	h, err := New(Options{Sink: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[int]string{
		200: "", 202: "", 307: "post event: 307 Temporary Redirect ",
		400: "post event: 400 Bad Request ", 503: "post event: 503 Service Unavailable no room",
	} {
		status = code
		got := ""
		if err := h.Send(context.Background(), phaseEvent()); err != nil {
			got = err.Error()
		}
		if got != want || header != events.OfPhase(api.Fencing) {
			t.Errorf("%d: got %q, want %q (ce-type %s)", code, got, want, header)
		}
	}
}
