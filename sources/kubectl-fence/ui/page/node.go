package page

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Node is the page of one node.
type Node struct {
	*Look
	Line   Line
	Answer view.Answer
	Facts  []Fact
	// Verbs are what the person can do now.
	Verbs []Verb
	// Latest is the node's open fence, or its last one; nil if it was never fenced.
	Latest *Fence
	Asked  []Asked
	// Devices are those of its FenceTarget.
	Devices []api.TargetDevice
	// Could says why the node could not be fenced, or that it could.
	Could string
	// Pods are those on the node, and those that have gone since its page was opened. PodsGap says
	// why they are not seen; empty if they are.
	Pods    []Pod
	PodsGap *Gap
	// Earlier are its fences before the latest, the latest first.
	Earlier []view.Past
}

// Fact is one thing about the node.
type Fact struct {
	Name, Value string
	At          any
}

// Pod is one pod of the node.
type Pod struct {
	Name, Owner string
	// Stands says how: Running, AskedToLeave, Gone.
	Stands string
	Since  any
}

// NewPod is a pod with how it stands; gone is when it was seen to be gone, or zero.
func NewPod(p *corev1.Pod, gone time.Time) Pod {
	out := Pod{Name: p.Namespace + "/" + p.Name, Owner: "–", Stands: string(p.Status.Phase), Since: p.CreationTimestamp.Time}
	if c := metav1.GetControllerOf(p); c != nil {
		out.Owner = c.Kind + " " + c.Name
	}
	switch {
	case !gone.IsZero():
		out.Stands, out.Since = "Gone", gone
	case p.DeletionTimestamp != nil:
		out.Stands, out.Since = "Asked to leave", p.DeletionTimestamp.Time
		if s := p.DeletionGracePeriodSeconds; s != nil {
			out.Since = p.DeletionTimestamp.Add(-time.Duration(*s) * time.Second)
		}
	}
	return out
}

// Asked is one thing that a person asked of the fence, and nodefence's answer.
type Asked struct {
	Request    api.RequestName
	By, Reason string
	At         any
	// Result is nodefence's answer; empty while there is none.
	Result, Message string
}

// NewNode is the page of one node. An error says that there is no such node, or that
// this is NotKnown.
func NewNode(l *Look, name string) (*Node, error) {
	why, err := l.why(name)
	if err != nil {
		return nil, err
	}
	n := &Node{Look: l, Answer: why, Line: Line{Row: view.Row{Node: name}, State: State{"No node", "unwatched"}}}
	for _, x := range l.lines() {
		if x.Node == name {
			n.Line = x
		}
	}
	n.Facts = l.facts(n.Line)
	if f := l.Fence(name); f != nil && f.Status.FenceNumber > 0 {
		n.Latest, n.Asked = fenceOf(l, f), asked(f)
	}
	n.Earlier = l.earlier(name)
	if t := l.Target(name); t != nil {
		n.Devices = t.Status.Devices
		for _, c := range t.Status.Conditions {
			if c.Type == api.Fenceable {
				n.Could = c.Reason + ": " + c.Message
			}
		}
	}
	n.Verbs = verbs(l, name)
	return n, nil
}

// facts are what Kubernetes says of the node.
func (l *Look) facts(x Line) []Fact {
	out := []Fact{{Name: "Policy", Value: cmp.Or(x.Policy, "none selects it")}}
	if x.Policy == "" && l.Lacks(policies) {
		out[0].Value = "not known"
	}
	n := l.Node(x.Node)
	if n == nil {
		return append(out, Fact{Name: "Node object", Value: "there is none"})
	}
	out = append(out, Fact{Name: "Ready", Value: ready(n), At: readySince(n)})
	if still := l.still()[x.Node]; still != nil {
		out = append(out, Fact{Name: "Lease", Value: "stands still", At: still.Since})
	}
	if x.Zone != "" {
		out = append(out, Fact{Name: "Zone", Value: x.Zone})
	}
	if n.Spec.Unschedulable {
		out = append(out, Fact{Name: "Cordoned", Value: "it takes no new pods"})
	}
	var taints []string
	for _, t := range n.Spec.Taints {
		if t.Key != corev1.TaintNodeUnschedulable {
			taints = append(taints, strings.TrimSuffix(t.Key+"="+t.Value, "=")+":"+string(t.Effect))
		}
	}
	if len(taints) > 0 {
		out = append(out, Fact{Name: "Taints", Value: strings.Join(taints, ", ")})
	}
	return out
}

// asked are the requests of people to the fence of now, with their answers.
func asked(f *api.NodeFence) []Asked {
	var out []Asked
	add := func(name api.RequestName, r *api.Request) {
		if r == nil {
			return
		}
		x := Asked{Request: name, By: r.By, Reason: r.Reason, At: r.At.Time}
		if a := f.Status.Answer(name); a != nil && a.IsTo(r.At) {
			x.Result, x.Message = string(a.Result), a.Message
		}
		out = append(out, x)
	}
	rs := f.Requests()
	add(api.AskedApprove, rs.Approve)
	if a := rs.Abort; a != nil {
		add(api.AskedAbort, &api.Request{By: a.By, At: a.At, Reason: a.Reason})
	}
	add(api.AskedRetry, rs.Retry)
	add(api.AskedUncordon, rs.Uncordon)
	if c := rs.ConfirmOff; c != nil {
		add(api.AskedConfirmOff, &c.Request)
	}
	return out
}

// Verb is one thing that a person can do, with the page that asks for it.
type Verb struct{ Name, Label, Path string }

// Verbs of a fence, by the name that the plugin's command has.
var fenceVerbs = []struct {
	name, label string
	build       func(*api.NodeFence, act.Person) (act.Change, error)
}{
	{"approve", "Approve", act.Approve}, {"abort", "Abort", act.Abort}, {"retry", "Retry", act.Retry}, {"lift", "Give back", act.Lift},
	{"confirm-off", "Confirm off", func(f *api.NodeFence, p act.Person) (act.Change, error) { return act.ConfirmOff(f, p, "") }},
}

// verbs are what can be done about a node now. Whether the person may, the API server says.
func verbs(l *Look, node string) []Verb {
	var out []Verb
	f := l.Fence(node)
	if f.Refuted() != nil {
		out = append(out, Verb{"trust", "Trust device", "/do/trust/" + node})
	}
	if f == nil || !f.Open() {
		if l.Node(node) != nil {
			out = append(out, Verb{"ask", "Ask for a fence", "/do/ask/" + node})
		}
		return out
	}
	for _, v := range fenceVerbs {
		if _, err := v.build(f, act.Person{}); err == nil && sensible(f, v.name) {
			out = append(out, Verb{v.name, v.label, "/do/" + v.name + "/" + node})
		}
	}
	return out
}

// sensible leaves out what nodefence would answer with NotNeeded, and an approval that begins nothing.
func sensible(f *api.NodeFence, verb string) bool {
	phase, why := f.CurrentPhase(), f.Status.Reason
	switch verb {
	case "approve":
		return phase == api.Pending || why == api.WaitingForApproval
	case "lift":
		return phase == api.Recovering
	case "retry":
		return phase == api.Failed || phase == api.Fenced || f.Status.Awaited != nil || why == api.WaitingForDevice || why == api.DeviceDenied
	case "confirm-off":
		return act.HearsConfirm(f)
	}
	return true
}

// Live tells it of the node's pods too.
func (n *Node) Live() bool { return n.Look.Live() && (n.PodsGap == nil || n.PodsGap.Unread) }

// Title says in a few words how the node stands.
func (n *Node) Title() string { return n.Line.Node + ": " + n.Line.State.Word + " – nodefence" }

// Saying is the sentence that is read out when it changes.
func (n *Node) Saying() string {
	words := fmt.Sprintf("%s: %s.", n.Line.Node, n.Line.State.Word)
	if n.Line.Reason != "" {
		words += fmt.Sprintf(" %s: %s.", n.Line.Reason, n.Line.Message)
	}
	return words
}
