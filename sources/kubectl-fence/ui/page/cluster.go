package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Cluster is the page of all nodes.
type Cluster struct {
	*Look
	Counts []Count
	// Nodes are all of them, by number.
	Nodes int
	// Attention are the nodes that are not well, what needs a person first, and More how many of
	// them are left out.
	Attention []Line
	More      int
	Zones     []Zone
	// Unnamed say which policies hold or miss nodes that they do not name.
	Unnamed []string
	Brakes  []PolicyLine
	// Verbs are what can be done about the cluster now.
	Verbs []Verb
}

// Count is how many nodes stand in one state.
type Count struct {
	State State
	N     int
}

// Zone is the nodes of one zone.
type Zone struct {
	Name string
	// Unwell are those of them that are not well.
	Unwell []Line
	// Well is how many are well, and Names are their lines where they are shown.
	Well   int
	Names  []Line
	Counts []Count
}

// PolicyLine is one policy with its counts and limits.
type PolicyLine struct {
	Name, Mode, Action           string
	Selected, Unhealthy, Allowed int32
	Held                         int32
	MaxUnhealthy                 string
	// Slots say how many fences run of those that may run at once, how many dry runs would run, and how many wait.
	Slots string
	// Counted tells whether all was read that is counted.
	Counted bool
	// Brake says why nothing begins under it; empty if something may.
	Brake string
	// Paused are those who pause it.
	Paused []string
}

const (
	// mostAttention bounds the list of nodes that are not well.
	mostAttention = 200
	// mostTiles is up to how many nodes each has a tile without being asked for.
	mostTiles = 150
)

// NewCluster is the page of all nodes. The zone whose healthy nodes are asked for by name is shown
// with all of them.
func NewCluster(l *Look, zone string, asked bool) *Cluster {
	all := l.lines()
	c := &Cluster{Look: l, Nodes: len(l.Nodes), Counts: counts(all), Unnamed: l.Unnamed(rows(all)), Verbs: ledgerVerbs(l.Ledger, l.Now)}
	for _, x := range all {
		if x.State.Well() {
			break // they are sorted
		}
		c.Attention = append(c.Attention, x)
	}
	if more := len(c.Attention) - mostAttention; more > 0 {
		c.Attention, c.More = c.Attention[:mostAttention], more
	}
	c.Zones = zones(all, func(z string) bool { return len(all) <= mostTiles || asked && z == zone })
	c.Brakes = l.policyLines()
	return c
}

// ledgerVerbs are what can be done about the ledger now: what nodefence would not refuse. Where no
// ledger is seen, a person may still want to stop.
func ledgerVerbs(l *api.FenceLedger, now time.Time) []Verb {
	if l == nil {
		l = &api.FenceLedger{}
	}
	var out []Verb
	add := func(name, label string, err error) {
		if err == nil {
			out = append(out, Verb{name, label, "/do/" + name + "/cluster"})
		}
	}
	_, err := act.Stop(l, "")
	add("stop", "Stop all fencing", err)
	_, err = act.Start(l)
	add("start", "Let fences begin again", err)
	_, err = act.EndCoolDown(l, act.Person{At: metav1.NewTime(now)})
	add("end-cool-down", "End the cool-down", err)
	_, err = act.ConfirmRestore(l, act.Person{})
	add("confirm-restore", "Confirm the restore", err)
	return out
}

// counts are the states that occur, what needs a person first. Words of one kind are counted apart.
func counts(lines []Line) []Count {
	var out []Count
	for _, x := range lines {
		i := slices.IndexFunc(out, func(c Count) bool { return c.State == x.State })
		if i < 0 {
			out = append(out, Count{State: x.State})
			i = len(out) - 1
		}
		out[i].N++
	}
	slices.SortStableFunc(out, func(a, b Count) int { return cmp.Compare(a.State.Rank(), b.State.Rank()) })
	return out
}

// zones are the nodes by zone.
func zones(lines []Line, whole func(string) bool) []Zone {
	by := map[string][]Line{}
	for _, x := range lines {
		by[x.Zone] = append(by[x.Zone], x)
	}
	var out []Zone
	for name, of := range by {
		z := Zone{Name: name, Counts: counts(of)}
		for _, x := range of {
			switch {
			case !x.State.Well():
				z.Unwell = append(z.Unwell, x)
				continue
			case whole(name):
				z.Names = append(z.Names, x)
			}
			z.Well++
		}
		out = append(out, z)
	}
	slices.SortFunc(out, func(a, b Zone) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// policyLines are all policies, with what is counted under them now.
func (l *Look) policyLines() []PolicyLine {
	var figures []admission.Figures
	if !l.Lacks(nodes, fences, policies, ledgers) {
		figures = l.Figures()
	}
	var out []PolicyLine
	for i := range l.Policies {
		x, p := policyLine(&l.Policies[i]), &l.Policies[i]
		accepted, allowed := refusal(p, "Accepted"), refusal(p, "FencingAllowed")
		if figures != nil {
			allowed = x.count(&figures[i])
		}
		x.Brake = cmp.Or(accepted, allowed)
		out = append(out, x)
	}
	return out
}

// policyLine is one policy, without what is counted under it.
func policyLine(p *api.FencePolicy) PolicyLine {
	out := PolicyLine{Name: p.Name, Mode: string(p.Spec.Mode), Action: string(p.Spec.Action), Paused: p.Spec.PauseRequests, Held: p.Status.HeldCount}
	if m := p.Spec.Limits.MaxUnhealthy; m != nil {
		out.MaxUnhealthy = m.String()
	}
	return out
}

// refusal is why a condition of the policy's status is False; empty if it is not.
func refusal(p *api.FencePolicy, condition string) string {
	if c := meta.FindStatusCondition(p.Status.Conditions, condition); c != nil && c.Status == metav1.ConditionFalse {
		return c.Reason + ": " + c.Message
	}
	return ""
}

// count adds what is counted now, and returns what holds all fences of the policy.
func (x *PolicyLine) count(f *admission.Figures) string {
	x.Counted, x.Selected, x.Unhealthy, x.Allowed, x.Slots = true, f.Selected, f.Unhealthy, f.Allowed, view.SlotWords(f)
	if f.Why == "" {
		return ""
	}
	return string(f.Why) + ": " + f.Words
}

// Unsure tells whether a node may need a look that is not listed.
func (c *Cluster) Unsure() bool { return c.blind() || c.Lacks(nodes, fences, policies, ledgers) }

// Title says in a few words how the cluster stands.
func (c *Cluster) Title() string {
	none := "no node"
	if c.Lacks(nodes) {
		none = "nodes not known"
	}
	return cmp.Or(said(c.Counts), none) + " – nodefence"
}

// Saying is the sentence that is read out when it changes.
func (c *Cluster) Saying() string {
	words := fmt.Sprintf("%s: %s.", view.Count(c.Nodes, "node", "nodes"), cmp.Or(said(c.Counts), "none"))
	if c.Nodes == 0 && c.Lacks(nodes) {
		words = "Which nodes there are is not known."
	}
	if notes := c.Notes(); len(notes) > 0 {
		words += " " + strings.Join(notes, " ")
	}
	if absent := c.Absent(); absent != "" {
		words = absent + ". " + words
	}
	return words
}

func said(counts []Count) string {
	var words []string
	for _, c := range counts {
		words = append(words, fmt.Sprintf("%d %s", c.N, c.State.Word))
	}
	return strings.Join(words, ", ")
}

// readySince is since when the node's Ready condition has its status.
func readySince(n *corev1.Node) *time.Time {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && !c.LastTransitionTime.IsZero() {
			return &c.LastTransitionTime.Time
		}
	}
	return nil
}
