package report

import (
	"context"
	"errors"
	"log/slog"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// Speaker posts Kubernetes Events.
type Speaker interface {
	PostEvent(ctx context.Context, e kube.Event) error
}

// Publisher is the Reporter that people read: one log line for each decision, metrics, and
// Events on the NodeFence and, if the node's owner must know, on the Node.
type Publisher struct {
	Log     *slog.Logger
	Speaker Speaker
	metrics metrics
}

type metrics struct {
	decisions, transitions, actions *prometheus.CounterVec
	phase, released                 *prometheus.HistogramVec
	refused, lost, ignored          *prometheus.CounterVec
	problems                        *aged
	merged                          prometheus.Counter
	unsaved                         *prometheus.CounterVec
}

// New registers the metrics and returns the Publisher. deciding are the functions of this process that
// decide on fences.
func New(log *slog.Logger, speaker Speaker, reg prometheus.Registerer, deciding ...string) *Publisher {
	p := &Publisher{Log: log, Speaker: speaker, metrics: metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_decisions_total", Help: "Decisions by function, phase and reason.",
		}, []string{"function", "phase", "reason"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_transitions_total", Help: "Changes of phase by function.",
		}, []string{"function", "from", "to", "reason"}),
		actions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_actions_total", Help: "Actions by function and outcome: ok, error, or conflict where somebody else wrote first and it is looked at again.",
		}, []string{"function", "action", "outcome"}),
		phase: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "nodefence_phase_seconds", Help: "How long fences stayed in a phase.",
			Buckets: phaseBuckets,
		}, []string{"phase"}),
		released: newReleased(),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_requests_refused_total", Help: "Events that asked for a fence and opened none, by reason.",
		}, []string{"reason"}),
		merged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "nodefence_requests_merged_total", Help: "Events that asked for a fence and joined the one that was open.",
		}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_dead_letters_total", Help: "Events that the broker gave up, by type; unknown: events of a misspelt type, which went to nobody.",
		}, []string{"type"}),
		ignored: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_events_ignored_total", Help: "Events that were acknowledged and not looked at, by reason.",
		}, []string{"function", "type", "reason"}),
		unsaved: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_records_unsaved_total", Help: "Writes of a fence's record that were refused, by function, but for those where somebody else wrote first.",
		}, []string{"function"}),
		problems: newAged(prometheus.CounterOpts{
			Name: "nodefence_node_problems_total", Help: "Problems that rules name and that were reported often enough, by node and reason.",
		}, []string{"node", "reason"}),
	}}
	reg.MustRegister(p.metrics.decisions, p.metrics.transitions, p.metrics.actions, p.metrics.phase, p.metrics.released, p.metrics.refused, p.metrics.lost,
		p.metrics.ignored, p.metrics.problems, p.metrics.merged, p.metrics.unsaved)
	p.metrics.born(deciding)
	return p
}

// Decided reports one decision.
func (p *Publisher) Decided(ctx context.Context, d Decision) {
	p.log(d)
	p.count(d)
	p.say(ctx, d)
	p.sayRefuted(ctx, d)
}

func (p *Publisher) log(d Decision) {
	st := d.Fence.Status
	attrs := []any{
		"function", d.Function, "fence", string(d.Fence.UID), "fenceNumber", d.Fence.Status.FenceNumber, "node", d.Fence.Spec.NodeName,
		"phase", string(st.Phase), "event", d.Cause.ID(), "reason", string(st.Reason), "message", st.Message,
	}
	if d.Action != fence.None {
		attrs = append(attrs, "action", string(d.Action))
	}
	if d.Before.Phase != st.Phase {
		attrs = append(attrs, "from", string(d.Before.Phase))
	}
	if d.Err != nil {
		p.Log.Warn("decided", append(attrs, "error", d.Err.Error())...)
		return
	}
	p.Log.Info("decided", attrs...)
}

func (p *Publisher) count(d Decision) {
	st := d.Fence.Status
	p.metrics.decisions.WithLabelValues(d.Function, string(st.Phase), string(st.Reason)).Inc()
	if d.Action != fence.None {
		p.metrics.actions.WithLabelValues(d.Function, string(d.Action), outcomeOf(d.Err)).Inc()
	}
	p.countRelease(d)
	if d.Before.Phase == st.Phase {
		return
	}
	p.metrics.transitions.WithLabelValues(d.Function, string(d.Before.Phase), string(st.Phase), string(st.Reason)).Inc()
	if d.Before.PhaseSince != nil && st.PhaseSince != nil {
		p.metrics.phase.WithLabelValues(string(d.Before.Phase)).Observe(st.PhaseSince.Sub(d.Before.PhaseSince.Time).Seconds())
	}
}

// outcomeOf is what became of an action. Where somebody else wrote first, nothing is broken: it is looked
// at again, and hundreds of fences at once do that often.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, kube.ErrConflict):
		return "conflict"
	}
	return "error"
}

// say posts an Event for people who don't read the NodeFence. The record has the whole
// story, so routine steps are not posted, and a lost post does no harm.
func (p *Publisher) say(ctx context.Context, d Decision) {
	before, after := d.Before, d.Fence.Status
	begun := before.FenceNumber != after.FenceNumber
	turned := before.Phase != after.Phase || begun
	if !turned && before.Reason == after.Reason && before.Message == after.Message {
		return
	}
	warn := warnings[after.Reason] || after.Phase == api.Failed
	news := turned || before.Reason != after.Reason
	ended := turned && (after.Phase == api.Finished || after.Phase == api.Fenced)
	e := kube.Event{Warning: warn, Reason: string(after.Reason), Message: after.Message, Reporter: d.Function}
	if warn || news && after.Phase == api.Pending && after.Reason != api.Opened {
		e.Kind, e.APIVersion, e.Name, e.UID = "NodeFence", api.GroupVersion.String(), d.Fence.Name, d.Fence.UID
		p.post(ctx, e)
	}
	if warn || begun || ended || news && milestones[after.Reason] {
		e.Kind, e.APIVersion, e.Name, e.UID = "Node", "v1", d.Fence.Spec.NodeName, d.Fence.Status.Decision.NodeUID
		p.post(ctx, e)
	}
}

// sayRefuted posts a warning once for each power cut that the boot ID refutes, wherever its fence stands.
func (p *Publisher) sayRefuted(ctx context.Context, d Decision) {
	is, was := d.Fence.Status.Refuted, d.Before.Refuted
	if is == nil || was != nil && was.At.Equal(&is.At) {
		return
	}
	e := kube.Event{Warning: true, Reason: string(api.CutRefuted), Message: is.Words(), Reporter: d.Function}
	e.Kind, e.APIVersion, e.Name, e.UID = "NodeFence", api.GroupVersion.String(), d.Fence.Name, d.Fence.UID
	p.post(ctx, e)
	e.Kind, e.APIVersion, e.Name, e.UID = "Node", "v1", d.Fence.Spec.NodeName, d.Fence.Status.Decision.NodeUID
	p.post(ctx, e)
}

// milestones are reasons that the node's owner must know, besides warnings, the beginning
// and the end: its power was cut, and its work has gone.
var milestones = map[api.Reason]bool{api.PowerOffSent: true, api.ConfirmedOff: true, api.Released: true, api.AccessCutSent: true, api.AccessRestored: true}

// post is beside the path of the fence: no decision waits for it.
func (p *Publisher) post(ctx context.Context, e kube.Event) {
	kube.Beside(ctx, func() {
		if err := p.Speaker.PostEvent(ctx, e); err != nil {
			p.Log.Debug("event not posted", "node", e.Name, "reason", e.Reason, "error", err.Error())
		}
	})
}

// warnings are the reasons that need a person's attention.
var warnings = map[api.Reason]bool{
	api.DeviceFailed: true, api.PowerOffNotSeen: true, api.PowerOnNotSeen: true, api.WrongMachine: true, api.NoIdentity: true, api.SecretNotForThisHost: true, api.SignOfLife: true,
	api.BindingInvalid: true, api.BootTimedOut: true, api.ReleaseTimedOut: true, api.TooManyUnhealthy: true,
	api.MostLeasesStale: true, api.PolicyConflict: true, api.CallLost: true, api.FlowRestarted: true,
	api.WaitingForDevice: true, api.IsolationFailed: true, api.RestoreFailed: true, api.LeftCutOff: true, api.StateWentBack: true,
	api.PolicyNotUnderstood: true, api.CutRefuted: true,
}

// Refused reports one refusal: log, metric, and an Event on the Node.
func (p *Publisher) Refused(ctx context.Context, r Refusal) {
	p.Log.Warn("refused", "function", r.Function, "node", r.Node, "event", r.Cause.ID(), "source", r.Cause.Source(),
		"type", r.Cause.Type(), "reason", string(r.Reason), "message", r.Message)
	p.metrics.refused.WithLabelValues(string(r.Reason)).Inc()
	p.sayOfNode(ctx, r, "asked for by event "+r.Cause.ID()+" of "+r.Cause.Source()+": "+r.Message, true)
}

// Merged reports one request that joins the open fence of its node: log, metric, and an
// Event on the Node.
func (p *Publisher) Merged(ctx context.Context, r Refusal) {
	p.Log.Info("merged", "function", r.Function, "node", r.Node, "event", r.Cause.ID(), "source", r.Cause.Source(),
		"type", r.Cause.Type(), "reason", string(r.Reason), "message", r.Message)
	p.metrics.merged.Inc()
	p.sayOfNode(ctx, r, "asked for by event "+r.Cause.ID()+" of "+r.Cause.Source()+": "+r.Message, false)
}

// Alerted reports one problem: log, metric, and an Event on the Node. The metric stays
// bounded: a policy names the problem, and old nodes are dropped.
func (p *Publisher) Alerted(ctx context.Context, r Refusal, problem string) {
	p.Log.Warn("node problem", "function", r.Function, "node", r.Node, "event", r.Cause.ID(), "reason", string(r.Reason), "message", r.Message)
	p.metrics.problems.inc(r.Node, problem)
	p.sayOfNode(ctx, r, r.Message, true)
}

func (p *Publisher) sayOfNode(ctx context.Context, r Refusal, message string, warning bool) {
	if r.NodeUID == "" {
		return
	}
	p.post(ctx, kube.Event{
		Kind: "Node", APIVersion: "v1", Name: r.Node, UID: r.NodeUID, Warning: warning, Reason: string(r.Reason),
		Message: message, Reporter: r.Function,
	})
}

// Ignored reports one event that was not looked at: log and metric.
func (p *Publisher) Ignored(_ context.Context, function string, e event.Event, why string) {
	p.Log.Warn("ignored", "function", function, "event", e.ID(), "type", e.Type(), "node", e.Subject(), "reason", why)
	p.metrics.ignored.WithLabelValues(function, known(e.Type()), why).Inc()
}

// other is the type under which foreign types are counted.
const other = "other"

// known keeps foreign types from adding metrics without end.
func known(eventType string) string {
	if events.Known(eventType) || eventType == events.RequestFence {
		return eventType
	}
	return other
}
