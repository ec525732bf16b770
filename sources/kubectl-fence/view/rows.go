package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The states of a row that are no phase.
const (
	// Watched is a node that nothing is wrong with.
	Watched = "Watched"
	// Held is a node that is not fenced although something is wrong with it.
	Held = "Held"
	// LeftAlone is a node that its policy never has fenced, and that nothing is wrong with.
	LeftAlone = "LeftAlone"
	// Unfenced is a node that is not Ready, has no open fence, and of which nothing says what holds it: its
	// last fence has ended, or nodefence has not looked at it yet.
	Unfenced = "Unfenced"
	// NotFenceable is a node whose devices could not fence it.
	NotFenceable = "NotFenceable"
	// Missing is a node that a policy expects, without a Node object and without an open fence.
	Missing = "Missing"
)

// Row is one node under a policy.
type Row struct {
	Node string `json:"node"`
	// Ready is the status of its Ready condition: True, False, Unknown; or NoNode.
	Ready  string `json:"ready"`
	Policy string `json:"policy,omitempty"`
	// State is the phase of its open fence, or Held, LeftAlone, Unfenced, NotFenceable, Missing or Watched.
	State   string     `json:"state"`
	Reason  api.Reason `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"`
	// FenceNumber is that of the open fence.
	FenceNumber int64      `json:"fenceNumber,omitempty"`
	Since       *time.Time `json:"since,omitempty"`
}

// Rows are all nodes under a policy, those with an open fence, and those that are missing, by name.
func (s *Seen) Rows() []Row {
	var out []Row
	for _, name := range s.Names() {
		f := s.Fence(name)
		p, resolved := s.Deciding(name)
		if p == nil && (f == nil || !f.Open()) {
			continue
		}
		r := Row{Node: name, Ready: readyWord(s.Node(name)), State: Watched}
		if p != nil {
			r.Policy = p.Name
		}
		s.stand(&r, f, p, resolved)
		out = append(out, r)
	}
	for _, x := range s.missing() {
		out = append(out, Row{Node: x.name(), Ready: readyWord(nil), Policy: x.by.Name, State: Missing, Reason: api.NodeMissing, Message: x.words(), Since: &x.Since.Time})
	}
	slices.SortFunc(out, func(a, b Row) int { return strings.Compare(a.Node, b.Node) })
	return out
}

// stand says how the node stands. p and resolved are what Deciding says of it.
func (s *Seen) stand(r *Row, f *api.NodeFence, p *api.FencePolicy, resolved *api.ResolvedPolicy) {
	if f != nil && f.Open() {
		st := &f.Status
		r.State, r.Reason, r.Message, r.FenceNumber = string(f.CurrentPhase()), st.Reason, st.Message, st.FenceNumber
		if st.PhaseSince != nil {
			r.Since = &st.PhaseSince.Time
		}
		if r.Policy == "" {
			r.Policy = st.Decision.Policy.Name
		}
		return
	}
	n := s.Node(r.Node)
	if h := s.held(r.Node, p, resolved); h != nil {
		r.State, r.Reason, r.Message = Held, h.Reason, h.Message
		if wanted(h.Reason, n, p, resolved) {
			r.State = LeftAlone
		}
		return
	}
	if n != nil && r.Ready != string(corev1.ConditionTrue) {
		r.State = Unfenced
		if f != nil && f.Status.FenceNumber > 0 {
			r.Reason, r.Message = f.Status.Outcome, f.Status.Message
		}
		return
	}
	if c := unfenceable(s.Target(r.Node)); c != nil {
		r.State, r.Reason, r.Message, r.Since = NotFenceable, api.Reason(c.Reason), c.Message, &c.LastTransitionTime.Time
	}
}

// Notes say which part of nodefence is absent, what holds all fences, which policies are paused, which storms there
// are, and which held nodes no status names.
func (s *Seen) Notes() []string {
	out := append(s.Holds(), s.Pauses()...)
	out = append(out, s.Storms(stamp)...)
	if w := s.lost(); w != "" {
		out = append(out, w)
	}
	if slices.ContainsFunc(s.Policies, func(p api.FencePolicy) bool {
		return int(p.Status.HeldCount) > len(p.Status.Held) || int(p.Status.MissingCount) > len(p.Status.Missing)
	}) {
		out = append(out, s.Unnamed(s.Rows())...)
	}
	return out
}

// Brakes say what holds all fences by what the ledger says now. Its condition AcceptingFences is written once in a
// while.
func (s *Seen) Brakes() []string {
	if s.Ledger == nil {
		return nil
	}
	if s.Ledger.Spec.Stop {
		words := "FenceLedger cluster is stopped: no fence begins, and no further power-off is sent"
		if why := s.Ledger.Spec.StopReason; why != "" {
			words += " (" + why + ")"
		}
		if who := s.who(s.Ledger.UID, api.ActStop, func(to string) bool { return to == "true" }); who != "" {
			words += "; stopped " + who
		}
		return []string{words + "; kubectl fence start lets them begin again"}
	}
	c := meta.FindStatusCondition(admission.LedgerConditions(s.Ledger, s.Now), "AcceptingFences")
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason == string(api.LeasePictureOld) && s.Blind() { // Absent says that
		return nil
	}
	return []string{fmt.Sprintf("no fence begins: %s: %s", c.Reason, c.Message)}
}

// Holds say what holds all fences: a part of nodefence that is absent, and the ledger's brakes.
func (s *Seen) Holds() []string {
	var out []string
	if words := s.Absent(); words != "" {
		out = append(out, words)
	}
	return append(out, s.Brakes()...)
}
