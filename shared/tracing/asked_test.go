package tracing

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
)

// TestATraceGetsNoSpansForEver: the source sends what is unhealthy again at each resync, and for a node that
// no policy selects the number of the next fence never comes. The first event that is taken has a span, and
// so has the first after a fence, or of another Node object of this name; while a fence is open, each has.
func TestATraceGetsNoSpansForEver(t *testing.T) {
	r := newRig(t, nil)
	out := &kept{}
	f, open := Fence{Node: "a", Number: 1}, false
	s := r.Sender("source", out, func(string) (Fence, bool) { return f, open })
	sends := func() (named int) {
		t.Helper()
		out.events = nil
		for range 3 {
			if err := s.Send(t.Context(), unhealthy()); !errors.Is(err, out.err) {
				t.Fatal(err)
			}
		}
		for _, e := range out.events {
			if e.Extensions()[events.TraceParent] != nil {
				named++
			}
		}
		return named
	}
	var got []int
	out.err = errors.New("the broker is away")
	got = append(got, sends())
	out.err = nil
	got = append(got, sends(), sends())
	f.Number, open = 2, true
	got = append(got, sends())
	f.Number, open = 3, false
	got = append(got, sends())
	if d := cmp.Diff([]int{3, 1, 0, 3, 1}, got); d != "" {
		t.Error(d)
	}
	r.Flush(t.Context())
	if n := len(r.received.All()); n != 3+1+3+1 {
		t.Errorf("%d spans", n)
	}
}

// TestNodesThatComeAndGoFillNoMemory.
func TestNodesThatComeAndGoFillNoMemory(t *testing.T) {
	s := newRig(t, nil).Sender("source", &kept{}, next).(*sender)
	for n := range mostAsked + 10 {
		s.ask(Fence{Node: fmt.Sprint("n", n), Number: 1})
	}
	if n := len(s.asked); n > mostAsked || n == 0 || !s.hasAsked(Fence{Node: fmt.Sprint("n", mostAsked+9), Number: 1}) {
		t.Errorf("%d nodes are remembered", n)
	}
}
