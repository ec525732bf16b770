package tracing

import (
	"context"
	"sync"

	"github.com/cloudevents/sdk-go/v2/event"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/run"
)

// Sender makes a span of each event about a fence that next sends, and has the event name it.
// fence, if set, says which fence of a node is open, or would be opened next. Without it, only events
// that name their fence get a span. Of the events at which a fence may open, only the first that is taken
// gets one: for a node that no policy selects they come for ever, and all before the same fence.
func (t *Tracer) Sender(program string, next run.Sender, fence func(node string) (f Fence, open bool)) run.Sender {
	if t == nil || next == nil {
		return next
	}
	return &sender{Tracer: t, program: program, next: next, fence: fence, asked: map[string]Fence{}}
}

type sender struct {
	*Tracer
	program string
	next    run.Sender
	fence   func(node string) (Fence, bool)

	mu sync.Mutex
	// asked has by node the fence for which an event has been sent before it is open.
	asked map[string]Fence
}

// Send implements run.Sender.
func (s *sender) Send(ctx context.Context, e event.Event) error {
	var span trace.Span
	var f Fence
	s.guard.do(func() {
		var is bool
		if f, is = s.about(e); is {
			named := e.Clone() // the caller may send it again
			span = s.begin(f, named)
			e = named
		}
	})
	err := s.next.Send(ctx, e)
	if span != nil {
		s.guard.do(func() {
			if err != nil {
				failed(span, err)
			} else if opens[e.Type()] {
				s.ask(f)
			}
			span.End()
		})
	}
	return err
}

// begin begins the span that sends an event, and has the event name it.
func (s *sender) begin(f Fence, e event.Event) trace.Span {
	root := f.root(s.cluster)
	made := withID(trace.ContextWithRemoteSpanContext(context.Background(), root), root.TraceID(), newSpanID())
	_, span := s.tracer.Start(made, text(s.program+" sends "+shortType(e.Type())), trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(ofEvent(e)...), trace.WithAttributes(say("nodefence.function", s.program), attribute.Int64("nodefence.fence.number", f.Number)))
	sentBy(&e, span.SpanContext())
	return span
}

// mostAsked is for more nodes than one cluster has.
const mostAsked = 10_000

// opens are the types at which a fence may open.
var opens = map[string]bool{events.NodeUnhealthy: true, events.NodeSuspect: true, events.NodeProblem: true}

// about is the fence that an event is about, or that it may open.
func (s *sender) about(e event.Event) (f Fence, is bool) {
	if f, is := namedBy(e); is {
		return f, true
	}
	var p events.Payload
	if e.DataAs(&p) != nil || p.Node == "" || s.fence == nil {
		return f, false
	}
	f, open := s.fence(p.Node)
	if !open {
		f.NodeUID = types.UID(p.NodeUID)
	}
	return f, open || opens[e.Type()] && !s.hasAsked(f)
}

func (s *sender) hasAsked(f Fence) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[f.Node] == f
}

// ask notes that an event has been sent. Nodes come and go, so all is forgotten from time to time.
func (s *sender) ask(f Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) >= mostAsked {
		clear(s.asked)
	}
	s.asked[f.Node] = f
}

// namedBy is the fence that the payload of a phase's event names.
func namedBy(e event.Event) (f Fence, is bool) {
	var p events.Payload
	_, phase := events.PhaseOf(e.Type())
	if !phase || e.DataAs(&p) != nil || p.Node == "" || p.FenceNumber <= 0 {
		return f, false
	}
	return Fence{Node: p.Node, NodeUID: types.UID(p.NodeUID), Number: p.FenceNumber}, true
}
