package model

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/functions/gate"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/binding"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/page"
	views "github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// TestOneAnswer: in each situation the gate, kubectl fence plan, status and why, the status of the policy and the page
// say the same of a node that has failed, with the same numbers, under Enforce and as a dry run (S28).
func TestOneAnswer(t *testing.T) {
	for _, s := range situations {
		t.Run(s.when, func(t *testing.T) {
			for _, mode := range []api.Mode{api.ModeEnforce, api.ModeDryRun} {
				w := situated(mode)
				s.plant(w)
				s.compare(screens{t, w}, mode)
			}
		})
	}
}

// compare asks everybody about node a. The plan is asked before the gate has opened a fence, and after it.
func (x situation) compare(s screens, mode api.Mode) {
	want := func(who, said, says string) {
		if said != says && (says == begins || !strings.HasPrefix(said, says)) {
			s.Errorf("under %s %s says\n\t%s\nand not\n\t%s", mode, who, said, says)
		}
	}
	r := s.plan("a")
	want("the plan", undressed(cmp.Or(r.Refused, r.Unknown, r.Now)), cmp.Or(x.planned, x.says))
	x.compareLimits(s, mode)
	s.asks("a")
	f := s.w.fence("a")
	want("the record", answerOfRecord(f), x.says)
	s.count()
	seen := s.seen()
	want("status.held", heldIn(seen.Policies, "a"), x.says)
	want("status", answerOfRow(rowOf(seen.Rows(), "a")), x.says)
	l := s.page()
	n, err := page.NewNode(l, "a")
	if err != nil {
		s.Fatal(err)
	}
	want("the page", answerOfRow(n.Line.Row), x.says)
	why, err := seen.Why("a")
	if err != nil {
		s.Fatal(err)
	}
	record := f.Status
	for who, a := range map[string]views.Answer{"why": why, "the page of the node": n.Answer} {
		if a.Reason != record.Reason || !strings.Contains(a.What, fmt.Sprintf("(%s: %s)", record.Reason, record.Message)) {
			s.Errorf("under %s %s says\n\t%s\nand the record\n\t%s: %s", mode, who, a.What, record.Reason, record.Message)
		}
	}
	if again := s.plan("a"); again.Refused == "" || x.planned == "" {
		want("the plan of an open fence", again.Now, fmt.Sprintf("a fence is under way: %s, %s: %s", f.CurrentPhase(), record.Reason, record.Message))
	}
}

// compareLimits compares what is said of the policy with the answer: nothing may begin under a policy for which that
// holds, and where something may begin for node a something may begin under the policy.
func (x situation) compareLimits(s screens, mode api.Mode) {
	s.count()
	seen := s.seen()
	st, now := seen.Policies[0].Status, seen.Figures()[0]
	c := meta.FindStatusCondition(st.Conditions, "FencingAllowed")
	shown := page.NewPolicies(s.page()).All[0]
	for who, said := range map[string]struct {
		allowed int32
		says    string
	}{
		"status.fencesAllowed": {st.FencesAllowed, map[bool]string{true: c.Reason + ": " + c.Message}[c.Status == metav1.ConditionFalse]},
		"status and why":       {now.Allowed, map[bool]string{true: string(now.Why) + ": " + now.Words}[now.Why != ""]},
		"the page of policies": {shown.Allowed, shown.Brake},
	} {
		switch {
		case x.says == begins && (said.allowed == 0 || said.says != ""), x.forAll && said.allowed > 0:
			s.Errorf("under %s %s says that %d fences may begin now (%s), and the answer is\n\t%s", mode, who, said.allowed, said.says, x.says)
		case x.forAll && said.says != "" && !isSame(said.says, x.says):
			s.Errorf("under %s %s says of the policy\n\t%s\nand the answer is\n\t%s", mode, who, said.says, x.says)
		}
	}
}

// number is one of a message.
var number = regexp.MustCompile(`[0-9][0-9TZ:-]*`)

// isSame tells whether words about a policy have the reason of an answer, and no other numbers.
func isSame(said, answer string) bool {
	why, words, _ := strings.Cut(said, ": ")
	if !strings.HasPrefix(answer, why+": ") {
		return false
	}
	in := map[string]bool{}
	for _, n := range number.FindAllString(answer, -1) {
		in[n] = true
	}
	return !slices.ContainsFunc(number.FindAllString(words, -1), func(n string) bool { return !in[n] })
}

// asks has the gate take the event of a node that has failed.
func (s screens) asks(node string) {
	s.Helper()
	c := s.w.client()
	resolver := binding.Resolver{Client: c, Drivers: functions.DriversIn(c, settings), Namespace: ownNamespace, SecretsNamespace: secretsIn, Lists: &binding.Lists{}}
	p := process{me: "gate"}
	g := p.gate(c)
	g.Namespace, g.Checks, g.Bind, g.Log = ownNamespace, "nodefence-checks", resolver.Bind, slog.New(slog.DiscardHandler)
	g.Loop = p.loop(c, gate.Name, gate.Phases, g)
	if _, err := g.Handle(context.Background(), delivery{events.NodeUnhealthy, node}.event()); err != nil {
		s.Fatal(err)
	}
}

// answerOfRecord is what the record of an open fence says.
func answerOfRecord(f *api.NodeFence) string {
	switch {
	case f == nil || !f.Open():
		return "no fence is open"
	case f.CurrentPhase() != api.Pending && f.CurrentPhase() != api.Failed:
		return begins
	}
	return undressed(string(f.Status.Reason) + ": " + f.Status.Message)
}

// undressed is an answer without the words that say whose it is.
func undressed(said string) string {
	said = strings.TrimSuffix(said, "; policy p (generation 1) is in DryRun")
	for _, words := range []string{"DryRun: ", "would be held by ", "would be held: "} {
		said = strings.TrimPrefix(said, words)
	}
	if said == "would begin" {
		return begins
	}
	return said
}

// heldIn is what the statuses of policies say of a node.
func heldIn(policies []api.FencePolicy, node string) string {
	for _, p := range policies {
		for _, h := range p.Status.Held {
			if h.NodeName == node {
				return undressed(string(h.Reason) + ": " + h.Message)
			}
		}
	}
	return begins
}

func rowOf(rows []views.Row, node string) views.Row {
	return rows[slices.IndexFunc(rows, func(r views.Row) bool { return r.Node == node })]
}

// answerOfRow is what a row of kubectl fence status, or of the page, says.
func answerOfRow(r views.Row) string {
	if slices.Contains([]string{views.Held, views.LeftAlone, views.Unfenced, string(api.Pending), string(api.Failed)}, r.State) {
		return undressed(string(r.Reason) + ": " + r.Message)
	}
	return begins
}
