package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Fence says which fence a span is of. The source knows the same of a fence before it is opened.
type Fence struct {
	Node string
	// NodeUID is that of the Node object that failed; empty where there is none.
	NodeUID types.UID
	Number  int64
}

// Of is the fence of a record.
func Of(f *api.NodeFence) Fence {
	return Fence{Node: f.Spec.NodeName, NodeUID: f.Status.Decision.NodeUID, Number: f.Status.FenceNumber}
}

// root is the span over the whole fence in one cluster, which its other spans come under. If a
// NodeFence is deleted by hand, its numbers begin at 1 again, and the next fence of the same Node
// object goes on with an old trace.
func (f Fence) root(cluster string) trace.SpanContext {
	text, _ := json.Marshal([]any{"nodefence trace", cluster, f.Node, f.NodeUID, f.Number}) // texts and a number always encode
	sum := sha256.Sum256(text)
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(sum[:16]), SpanID: trace.SpanID(sum[16:24]), TraceFlags: trace.FlagsSampled, Remote: true,
	})
}

// newSpanID is that of a span which is not made yet.
func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		fill(id[:])
	}
	return id
}

// newTraceID is that of a trace which is of no fence.
func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		fill(id[:])
	}
	return id
}

func fill(id []byte) {
	for i := range id {
		id[i] = byte(rand.Uint32())
	}
}

type idKey struct{}

// withID has the next span of ctx get this ID, and this trace if it has no parent.
func withID(ctx context.Context, t trace.TraceID, s trace.SpanID) context.Context {
	return context.WithValue(ctx, idKey{}, trace.SpanContextConfig{TraceID: t, SpanID: s})
}

// ids gives spans the IDs that withID says. Every span of this package has one.
type ids struct{}

// NewIDs implements the SDK's IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	c, _ := ctx.Value(idKey{}).(trace.SpanContextConfig)
	return c.TraceID, c.SpanID
}

// NewSpanID implements the SDK's IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	c, _ := ctx.Value(idKey{}).(trace.SpanContextConfig)
	return c.SpanID
}
