package model

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/page"
	views "github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// compare compares each number that is shown with what there is in the API server.
func (l *lived) compare(moment string) {
	l.Helper()
	s := screens{l.T, l.world}
	c := comparison{lived: l, moment: moment, is: reckon(l.world), seen: s.seen()}
	if len(c.seen.Policies) > 0 {
		c.ofPolicy()
		c.ofPage(s.page())
	}
	rows := c.seen.Rows()
	if len(c.seen.Policies) > 0 {
		c.number("status: rows", len(rows), c.is.nodes)
	}
	for _, r := range rows {
		c.ofRow(r)
		c.ofWhy(r.Node)
	}
	c.ofNotes()
}

// comparison is what is compared at one moment.
type comparison struct {
	*lived
	moment string
	is     reckoned
	seen   views.Seen
}

func (c *comparison) number(what string, shown, is int) {
	c.Helper()
	if shown != is {
		c.Errorf("%s (+%s): %s shows %d, and there are %d", c.moment, c.now, what, shown, is)
	}
}

func (c *comparison) word(what, shown, is string) {
	c.Helper()
	if shown != is {
		c.Errorf("%s (+%s): %s shows %q, and it is %q", c.moment, c.now, what, shown, is)
	}
}

// ofPolicy compares the status of the policy with what there was when it was written.
func (c *comparison) ofPolicy() {
	st, was := c.seen.Policies[0].Status, c.counted
	for what, n := range map[string][2]int{
		"selectedNodes": {int(st.SelectedNodes), was.nodes}, "unhealthyNodes": {int(st.UnhealthyNodes), was.unhealthy},
		"healthyNodes": {int(st.HealthyNodes), was.nodes - was.unhealthy}, "openFences": {int(st.OpenFences), was.open},
		"heldCount": {int(st.HeldCount), was.held}, "held": {len(st.Held), was.held}, "fencesAllowed": {int(st.FencesAllowed), was.allowed},
		"missingCount": {int(st.MissingCount), was.missing},
	} {
		c.number("policy status: "+what, n[0], n[1])
	}
	for _, x := range st.Conditions {
		if m := ofNodes.FindStringSubmatch(x.Message); m != nil && x.Type == "FencingAllowed" {
			c.number("FencingAllowed: unhealthy", numberIn(m[1]), max(1, was.unhealthy))
			c.number("FencingAllowed: nodes", numberIn(m[2]), was.nodes)
		}
	}
}

// ofNodes are the counts in a message about a storm.
var ofNodes = regexp.MustCompile(`\b(\d+) of (\d+) nodes are unhealthy`)

func numberIn(s string) int {
	n, err := strconv.Atoi(s)
	must(err)
	return n
}

// ofPage compares the pages of all nodes and of the policies.
func (c *comparison) ofPage(l *page.Look) {
	p, all := page.NewPolicies(l).All[0], page.NewCluster(l, "", false)
	c.number("page: selected", int(p.Selected), c.is.nodes)
	c.number("page: unhealthy", int(p.Unhealthy), c.is.unhealthy)
	c.number("page: may begin", int(p.Allowed), c.is.allowed)
	c.slots("page", p.Slots)
	c.number("page: nodes", all.Nodes, c.is.nodes-c.is.missing)
	words, n := map[string]int{}, 0
	for _, x := range all.Counts {
		words[x.State.Word] += x.N
		n += x.N
	}
	c.number("page: sum of its counts", n, c.is.nodes)
	if !c.is.blind {
		c.number("page: Ready", words["Ready"], c.is.well)
	}
	for phase, open := range c.is.phases {
		if phase != string(api.Pending) {
			c.number("page: "+phase, words[phase], open)
		}
	}
	c.number("page: Missing", words["Missing"], c.is.missing)
	c.number("page: Pending", words[string(api.Pending)]+words["Dry run"], c.is.phases[string(api.Pending)])
}

// slotWords are the counts of slots, in words.
var slotWords = regexp.MustCompile(`^(\d+) of (\d+) at once runs?(?:, (\d+) more would run)?(?:, (\d+) waits?)?$`)

func (c *comparison) slots(who, words string) {
	m := slotWords.FindStringSubmatch(words)
	if m == nil {
		c.Errorf("%s: %s says %q of the slots", c.moment, who, words)
		return
	}
	for i, is := range []int{c.is.slots, int(*c.seen.Policies[0].Spec.Limits.MaxConcurrent), c.is.dry, c.is.waiting} {
		c.number(who+": "+[]string{"slots", "most", "dry runs", "waiting"}[i], numberIn("0"+m[i+1]), is)
	}
}

// ofRow compares a row of kubectl fence status with the Node and the record.
func (c *comparison) ofRow(r views.Row) {
	n, f := read[corev1.Node](c.world, nodes+r.Node), c.fence(r.Node)
	if n == nil {
		c.word("status: Ready of "+r.Node, r.Ready, "NoNode")
	} else {
		c.word("status: Ready of "+r.Node, r.Ready, string(n.Status.Conditions[0].Status))
	}
	if f == nil || f.Status.Phase == api.Finished {
		c.number("status: fence of "+r.Node, int(r.FenceNumber), 0)
		return
	}
	c.word("status: state of "+r.Node, r.State, string(f.Status.Phase))
	c.number("status: fence of "+r.Node, int(r.FenceNumber), int(f.Status.FenceNumber))
	c.word("status: since of "+r.Node, fmt.Sprint(r.Since), fmt.Sprint(&f.Status.PhaseSince.Time))
}

var (
	whyRule  = regexp.MustCompile(`(\d+) of its (\d+) nodes? (?:is|are) unhealthy, (.+?), and (\d+) more may begin now`)
	whyFence = regexp.MustCompile(`^Fence (\d+) of node (\w+) stands in phase (\w+) for (\w+) \(`)
	whyNext  = regexp.MustCompile(`^nodefence looks at it at (\S+) \(in (\w+)\)`)
	whyAgain = regexp.MustCompile(`; its Ready is (\w+) for (\w+)`)
)

// ofWhy compares the answer of kubectl fence why.
func (c *comparison) ofWhy(node string) {
	a, err := c.seen.Why(node)
	if err != nil {
		c.Error(err)
		return
	}
	if m := whyRule.FindStringSubmatch(a.Rule); m != nil {
		c.number("why "+node+": unhealthy", numberIn(m[1]), c.is.unhealthy)
		c.number("why "+node+": nodes", numberIn(m[2]), c.is.nodes)
		c.slots("why "+node, m[3])
		c.number("why "+node+": may begin", numberIn(m[4]), c.is.allowed)
	} else if len(c.seen.Policies) > 0 && c.at(nodes+node) != nil {
		c.Errorf("%s: why %s has no numbers: %s", c.moment, node, a.Rule)
	}
	f := c.fence(node)
	if f == nil || f.Status.Phase == api.Finished {
		return
	}
	if m := whyFence.FindStringSubmatch(a.What); m != nil {
		c.number("why "+node+": fence", numberIn(m[1]), int(f.Status.FenceNumber))
		c.word("why "+node+": phase", m[3], string(f.Status.Phase))
		c.age("why "+node+": in its phase", m[4], f.Status.PhaseSince.Time)
	} else {
		c.Errorf("%s: why %s does not say where its fence stands: %s", c.moment, node, a.What)
	}
	if m := whyAgain.FindStringSubmatch(a.What); m != nil {
		ready := read[corev1.Node](c.world, nodes+node).Status.Conditions[0]
		c.word("why "+node+": Ready", m[1], string(ready.Status))
		c.age("why "+node+": not Ready", m[2], ready.LastTransitionTime.Time)
	}
	for _, m := range ofNodes.FindAllStringSubmatch(a.What, -1) {
		if !slices.ContainsFunc(c.past, func(r reckoned) bool { return r.unhealthy == numberIn(m[1]) && r.nodes == numberIn(m[2]) }) {
			c.Errorf("%s: why %s says %q, which was not so in the last %d s", c.moment, node, m[0], lastLook)
		}
	}
	if m := whyNext.FindStringSubmatch(a.Next); m != nil {
		c.word("why "+node+": next look", m[1], f.Status.NextLook.UTC().Format(time.RFC3339))
		c.age("why "+node+": next look", m[2], epoch.Add(2*c.now).Add(-f.Status.NextLook.Sub(epoch)))
	}
}

// age compares how long ago something was: whole seconds, or whole minutes of more than ten.
func (c *comparison) age(what, shown string, since time.Time) {
	d, err := time.ParseDuration(shown)
	apart := epoch.Add(c.now).Sub(since) - d
	if err != nil || apart.Abs() > time.Second && !(d > 10*time.Minute && apart > 0 && apart < time.Minute) {
		c.Errorf("%s: %s shows %s, and that is %s", c.moment, what, shown, epoch.Add(c.now).Sub(since))
	}
}

// ofNotes compares what kubectl fence status and the page say first.
func (c *comparison) ofNotes() {
	for _, n := range c.seen.Notes() {
		if m := ofNodes.FindStringSubmatch(n); m != nil {
			c.number("status: unhealthy in a storm", numberIn(m[1]), c.is.unhealthy)
			c.number("status: nodes in a storm", numberIn(m[2]), c.is.nodes)
		}
	}
	absent := c.seen.Absent()
	if gone := c.is.blind || c.functionsGone; gone != (absent != "") {
		c.Errorf("%s: nodefence is absent: %v, and status says %q", c.moment, gone, absent)
	}
	if at := c.ledger().Status.Leases.ObservedAt; c.is.blind && !strings.Contains(absent, at.UTC().Format(time.RFC3339)) {
		c.Errorf("%s: the Leases were looked at last at %s, and status says %q", c.moment, at, absent)
	}
}
