package page

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// unread is what is seen when nothing of these kinds was read yet.
func unread(l *Look, kinds ...string) *Look {
	for _, k := range kinds {
		l.Gaps = append(l.Gaps, Gap{Kind: k, Words: k + " are still being read.", Unread: true})
	}
	return l
}

// TestAGapSaysSinceWhen it is there, and it is read out before what may be old.
func TestAGapSaysSinceWhen(t *testing.T) {
	l := cluster()
	l.Gaps = []Gap{{Kind: "Nodes", Words: "Nodes are not shown as they are now: no.", Since: now.Add(-3 * time.Minute)}, {Kind: "FenceTargets", Words: "FenceTargets are still being read."}}
	n, err := NewNode(l, "a1")
	if err != nil {
		t.Fatal(err)
	}
	n.PodsGap = &Gap{Kind: "Pods", Words: "Pods are not shown as they are now: no.", Since: now.Add(-2 * time.Hour)}
	html := whole(t, l, n)
	for _, words := range []string{
		`</strong> Nodes are not shown as they are now: no. Since <time datetime="` + now.Add(-3*time.Minute).Format(time.RFC3339) + `"`,
		`data-gap>Pods are not shown as they are now: no. Since <time datetime="` + now.Add(-2*time.Hour).Format(time.RFC3339) + `"`,
		`<span class="ago">3m ago</span>.`, `</strong> FenceTargets are still being read.</p>`,
	} {
		if !strings.Contains(html, words) {
			t.Errorf("without %q: %s", words, html)
		}
	}
	if got := l.Heard("9 nodes."); got != "Nodes are not shown as they are now: no. FenceTargets are still being read. 9 nodes." {
		t.Errorf("heard: %q", got)
	}
}

// TestLive: a page is live unless something that was read for it is not seen as it is now.
func TestLive(t *testing.T) {
	old, never := Gap{Kind: "FenceTargets", Words: "no."}, Gap{Kind: "FenceTargets", Words: "no.", Unread: true}
	for name, tc := range map[string]struct {
		gaps []Gap
		pods *Gap
		live bool
	}{
		"no gap": {nil, nil, true}, "not read yet": {[]Gap{never}, &never, true}, "a kind is old": {[]Gap{never, old}, nil, false}, "its pods are old": {nil, &old, false},
	} {
		l := cluster()
		l.Gaps = tc.gaps
		n, err := NewNode(l, "a1")
		if err != nil {
			t.Fatal(err)
		}
		n.PodsGap = tc.pods
		if n.Live() != tc.live || tc.pods == nil && NewPolicies(l).Live() != tc.live {
			t.Errorf("%s: live %v", name, n.Live())
		}
	}
}

// TestWhatWasNotReadIsNotKnown: nothing that was not read looks calm, on any page.
func TestWhatWasNotReadIsNotKnown(t *testing.T) {
	empty := func() *Look { return &Look{Seen: view.Seen{Now: now, Ledger: &api.FenceLedger{}}} }
	one := func() *Look {
		l := empty()
		l.Nodes = []corev1.Node{node("a", "west", corev1.ConditionTrue)}
		return l
	}
	all := []string{"Nodes", "NodeFences", "FencePolicies", "FenceTargets", "FenceLedgers"}
	page := func(l *Look, name string) Shown {
		n, err := NewNode(l, name)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, tc := range map[string]struct {
		page Shown
		says []string
		not  []string
	}{
		"cluster": {NewCluster(unread(empty(), all...), "", false), []string{"Which nodes there are is not known.", "Whether a node needs a look is not known.", "Which policies there are is not known."},
			[]string{"There is no node", "No fence is open", "There is no FencePolicy", "no node –", "0 nodes"}},
		"cluster without fences": {NewCluster(unread(one(), "NodeFences"), "", false), []string{"Whether a node needs a look is not known.", "Not known"}, []string{"No fence is open", "No policy", "Ready"}},
		"cluster without ledger": {NewCluster(unread(one(), "FenceLedgers"), "", false), []string{"Whether a node needs a look is not known."}, []string{"No fence is open"}},
		"policies":               {NewPolicies(unread(empty(), all...)), []string{"Which policies there are is not known."}, []string{"There is no FencePolicy", "0 policies"}},
		"history":                {NewHistory(unread(empty(), all...), ""), []string{"Which fences there were is not known."}, []string{"No fence is reported or open", "0 fences"}},
		"node": {page(unread(one(), "NodeFences", "FencePolicies", "FenceTargets"), "a"), []string{"Whether it was ever fenced is not known.", "Why node a stands so is not known", "Not known"},
			[]string{"It was never fenced", "none selects it", "no FencePolicy selects it", "None of 0", "Nothing is wrong"}},
	} {
		html := whole(t, one(), tc.page)
		for _, words := range tc.says {
			if !strings.Contains(html, words) {
				t.Errorf("%s does not say %q: %s", name, words, html)
			}
		}
		for _, words := range tc.not {
			if strings.Contains(html, words) {
				t.Errorf("%s says %q: %s", name, words, html)
			}
		}
	}
	if _, err := NewNode(unread(empty(), "Nodes"), "a"); err == nil || !strings.Contains(err.Error(), "whether there is a node a is not known") {
		t.Errorf("a node that was not read: %v", err)
	}
}

// TestNothingIsWellThatIsNotKnown: neither nodes whose fences were not read, nor those of a policy that
// were not counted.
func TestNothingIsWellThatIsNotKnown(t *testing.T) {
	const well, counted = "that are well", "500 nodes, 5 unhealthy"
	l := large(500)
	l.Policies[0].Status.ObservedAt = at(-time.Second)
	if html := whole(t, l, NewCluster(l, "", false)) + whole(t, l, NewPolicies(l)); !strings.Contains(html, well) || !strings.Contains(html, counted) {
		t.Errorf("what is known is not said: %s", html)
	}
	l.Policies[0].Status.ObservedAt = nil
	unread(l, "NodeFences")
	html := whole(t, l, NewCluster(l, "", false)) + whole(t, l, NewPolicies(l))
	if strings.Contains(html, well) || strings.Contains(html, counted) || !strings.Contains(html, "Show the other 95 nodes") || !strings.Contains(html, "not known") {
		t.Errorf("what is not known is said: %s", html)
	}
}

// TestANodefenceThatIsDead holds all fences, and its old picture of Leases calls nobody silent.
func TestANodefenceThatIsDead(t *testing.T) {
	for name, tc := range map[string]struct {
		at   *api.Time
		dead bool
	}{
		"just now": {at(-time.Second), false}, "half a minute ago": {at(-30 * time.Second), false}, "longer ago": {at(-31 * time.Second), true}, "never": {nil, true},
	} {
		l := cluster()
		l.Ledger.Status.Leases.ObservedAt = tc.at
		c := NewCluster(l, "", false)
		html := whole(t, l, c)
		if c.Unsure() != tc.dead {
			t.Errorf("looked %s: unsure %v", name, c.Unsure())
		}
		silent := strings.Contains(html, "its Lease has missed two renewals")
		noted := strings.Contains(html, "<strong>nodefence does not answer.</strong> nodefence has not looked at the Leases")
		if said := strings.HasPrefix(c.Saying(), "nodefence has not looked at the Leases"); noted != tc.dead || said != tc.dead || silent == tc.dead {
			t.Errorf("looked %s: noted %v, said %v, silent %v", name, noted, said, silent)
		}
	}
	l := unread(cluster(), "FenceLedgers")
	l.Ledger = &api.FenceLedger{}
	if notes := l.Notes(); len(notes) > 0 {
		t.Errorf("a ledger that was not read: %v", notes)
	}
	if n, err := NewNode(l, "b1"); err != nil || strings.Contains(n.Answer.Next, "Leases") {
		t.Errorf("a ledger that was not read: %v: %s", err, n.Answer.Next)
	}
	l = cluster()
	l.Ledger.Status.Leases.ObservedAt = nil
	if n, err := NewNode(l, "b1"); err != nil || !strings.Contains(n.Answer.Next, "has not looked at the Leases yet") {
		t.Errorf("dead: %v: %s", err, n.Answer.Next)
	}
}

// TestALedgerThatIsNotSeenAnyMore: its old picture of Leases calls nobody silent either, and whether
// nodefence looks is not known.
func TestALedgerThatIsNotSeenAnyMore(t *testing.T) {
	const silent, still, dead = "its Lease has missed two renewals", "<dd>stands still", "nodefence has not looked at the Leases"
	for name, tc := range map[string]struct {
		at   time.Duration
		says []string
		not  []string
	}{
		"since just now": {-time.Second, []string{silent, still}, []string{dead}}, "for an hour": {-time.Hour, nil, []string{silent, still, dead}},
	} {
		l := cluster()
		l.Gaps = []Gap{{Kind: "FenceLedgers", Words: "no."}}
		l.Ledger.Status.Leases.ObservedAt = at(tc.at)
		n, err := NewNode(l, "a3")
		if err != nil {
			t.Fatal(err)
		}
		html := whole(t, l, NewCluster(l, "", false)) + whole(t, l, n)
		for _, words := range tc.says {
			if !strings.Contains(html, words) {
				t.Errorf("not seen %s: without %q: %s", name, words, html)
			}
		}
		for _, words := range tc.not {
			if strings.Contains(html, words) {
				t.Errorf("not seen %s: says %q: %s", name, words, html)
			}
		}
	}
}

// TestMoreThanAreNamed: a policy names 64 nodes at most, and counts all.
func TestMoreThanAreNamed(t *testing.T) {
	l := cluster()
	l.Policies[0].Status.HeldCount, l.Policies[0].Status.MissingCount = 70, 3
	const held, missing = "Policy workers holds 70 nodes: 68 more are not named, and stand here as if they were not held.", "Policy workers has 3 missing nodes: 2 more are not named, and do not stand here."
	if html := whole(t, l, NewCluster(l, "", false)); !strings.Contains(html, held) || !strings.Contains(html, missing) {
		t.Errorf("not all are counted: %s", html)
	}
	if html := whole(t, l, NewPolicies(l)); !strings.Contains(html, "Held (70)") || !strings.Contains(html, "69 more are not named.") {
		t.Errorf("not all are counted: %s", html)
	}
	l.Policies[0].Status.HeldCount, l.Policies[0].Status.MissingCount = 1, 1
	if html := whole(t, l, NewCluster(l, "", false)) + whole(t, l, NewPolicies(l)); strings.Contains(html, "not named") {
		t.Error("all are named")
	}
}
