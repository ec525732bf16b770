package admission_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/test/random"
)

// cluster is a small cluster in which two sources write the census, each as far behind as its
// watches may be, and gates reserve, die, and go on late.
type cluster struct {
	r       *rand.Rand
	now     time.Time
	version uint64
	policy  api.FencePolicy
	dead    map[string]bool
	fences  map[string]*api.NodeFence
	ledger  *api.FenceLedger
	// yes is when each gate was given its slot with which it has not gone on yet, and calls the
	// longest device call of each fence: gates are set differently.
	yes   map[string]api.Time
	calls map[string]time.Duration
	// views are what each source has seen, and when that was so.
	views [2]view
	// before is the ledger as it was some time ago.
	before *api.FenceLedger
	// byCensus and byList count the decisions, and begun those by the census by which a fence began.
	byCensus, byList, begun int
	twin                    string
	// storms: no more than two of the five may be unhealthy, and so many fences as that allows begin at
	// once. past is how the nodes were, and broken what was wrong first.
	storms bool
	past   []past
	broken string
}

// past is which nodes were dead from some time on, and which counted as unhealthy: those, and those with
// an open fence.
type past struct {
	at        time.Time
	dead, ill map[string]bool
}

type view struct {
	at     time.Time
	dead   map[string]bool
	fences map[string]*api.NodeFence
}

const most = 2 // fences at a time, or unhealthy nodes

func newCluster(r *rand.Rand, twin string, storms bool) *cluster {
	_, _, l := fencetest.World(fencetest.Start)
	c := &cluster{r: r, now: fencetest.Start, version: 100, dead: map[string]bool{}, fences: map[string]*api.NodeFence{}, ledger: l, yes: map[string]api.Time{}, calls: map[string]time.Duration{}, twin: twin, storms: storms}
	c.policy = fencetest.LivePolicy()
	c.policy.Spec.ControlPlane.Fence = new(api.Never)
	c.policy.Spec.Limits = api.Limits{MaxUnhealthy: fencetest.Percent("100%"), MaxConcurrent: new(int32(most))}
	if storms {
		c.policy.Spec.Limits = api.Limits{MaxUnhealthy: fencetest.Percent("40%"), MaxConcurrent: new(int32(9)), StormCoolDown: api.DurationOf(0)}
	}
	c.before = l.DeepCopy()
	c.remember()
	for i := range c.views {
		c.see(i)
	}
	return c
}

func (c *cluster) see(i int) {
	v := view{at: c.now, dead: maps.Clone(c.dead), fences: map[string]*api.NodeFence{}}
	for n, f := range c.fences {
		v.fences[n] = f.DeepCopy()
	}
	c.views[i] = v
}

// write is a census by what a source has seen, dated as if that were all.
func (c *cluster) write(i int) {
	v := c.views[i]
	if c.now.Sub(v.at) > admission.CensusLag {
		return
	}
	w := admission.Watched{Nodes: nodesWith(v.dead), Policies: []api.FencePolicy{c.policy}, Leases: c.ledger.Status.Leases, Source: fmt.Sprint(i)}
	for _, f := range v.fences {
		if w.Fences = append(w.Fences, f); !f.Open() {
			w.Closed = append(w.Closed, admission.CountedFence(f))
		}
	}
	c.ledger.Status.Census = admission.TakeCensus(w, c.now)
}

func nodesWith(dead map[string]bool) (all []admission.Node) {
	for i := range 5 {
		n := admission.Node{Name: fmt.Sprint("n", i)}
		n.Unhealthy = dead[n.Name]
		all = append(all, n)
	}
	return all
}

// save has the record written.
func (c *cluster) save(f *api.NodeFence) {
	c.version++
	f.ResourceVersion = strconv.FormatUint(c.version, 10)
	c.fences[f.Spec.NodeName] = f
}

// picture is what the gate counts, by the census where it may.
func (c *cluster) picture(f *api.NodeFence, l *api.FenceLedger) admission.Picture {
	n := observed.Node{Exists: true, Conditions: []observed.Condition{{Type: "Ready", Status: map[bool]string{true: "Unknown", false: "True"}[c.dead[f.Spec.NodeName]]}}}
	policies := []api.FencePolicy{c.policy}
	seen := l.DeepCopy()
	c.trust(seen.Status.Census, f.Spec.NodeName)
	if admission.CensusLacks(seen, c.now) == "" {
		if o, lacks := admission.ByCensus(seen, f, n, nil, nil, policies, nil, c.now); lacks == "" {
			if c.twin == "takes for gone what a late census does not list" {
				o.Fences = slices.DeleteFunc(o.Fences, func(f api.NodeFence) bool {
					return !slices.ContainsFunc(seen.Status.Census.Fences, func(is api.CountedFence) bool { return is.FenceUID == f.UID })
				})
			}
			if c.twin == "dates a late census as now" {
				o.AsOf = time.Time{}
			}
			c.byCensus++
			return admission.NewPicture(o)
		}
	}
	c.byList++
	o := admission.Observed{Nodes: nodesWith(c.dead), Policies: policies}
	for _, f := range c.fences {
		o.Fences = append(o.Fences, *f)
	}
	return admission.NewPicture(o)
}

// trust has a twin believe a census that is behind.
func (c *cluster) trust(is *api.Census, node string) {
	switch {
	case is == nil:
	case c.twin == "trusts an old count of the unhealthy" && c.dead[node]:
		is.Nodes = slices.DeleteFunc(is.Nodes, func(n api.CountedNode) bool { return n.NodeName == node })
		is.Nodes = append(is.Nodes, api.CountedNode{NodeName: node, Unhealthy: true})
	case c.twin == "does not count the nodes of fences that opened since":
		for _, f := range c.fences {
			if f.Open() && !slices.ContainsFunc(is.Fences, func(seen api.CountedFence) bool { return seen.NodeName == f.Spec.NodeName }) {
				is.Fences = append(is.Fences, admission.CountedFence(f))
			}
		}
	}
}

// remember notes how the nodes are now.
func (c *cluster) remember() {
	is := past{c.now, maps.Clone(c.dead), maps.Clone(c.dead)}
	for n, f := range c.fences {
		is.ill[n] = is.ill[n] || f.Open()
	}
	maps.DeleteFunc(is.ill, func(_ string, ill bool) bool { return !ill })
	c.past = append(c.past, is)
}

// calm: at a time of which a census may tell now, this node had failed, if it has, and no more were
// unhealthy than may. By lists that time is now.
func (c *cluster) calm(node string) bool {
	oldest := c.now.Add(-admission.CensusLag - admission.CensusKept)
	for i, was := range c.past {
		over := i+1 < len(c.past) && c.past[i+1].at.Before(oldest)
		if !over && len(was.ill) <= most && (was.dead[node] || !c.dead[node]) {
			return true
		}
	}
	return false
}

func (c *cluster) reserve(node string) {
	f := c.fences[node]
	if f == nil || !f.Open() || f.CurrentPhase() != api.Pending {
		return
	}
	c.now = c.now.Add(time.Millisecond) // no two slots are of one moment
	f = f.DeepCopy()
	resolved, _ := policy.ResolvePolicy([]api.FencePolicy{c.policy}, node, nil)
	f.Status.Decision.ResolvedPolicy = resolved
	f.Status.Decision.DeviceCallTimeout.Duration = []time.Duration{0, api.DeviceCall, time.Minute}[c.r.IntN(3)]
	l := c.ledger.DeepCopy()
	if c.twin == "reserves on a stale ledger" {
		l = c.before.DeepCopy()
		l.Status.Leases = c.ledger.Status.Leases
	}
	byCensus := c.byCensus
	if admission.Admit(f, c.picture(f, l), l, c.now) == nil {
		c.yes[node], c.calls[node] = observed.StampOf(c.now), f.Status.Decision.DeviceCallTimeout.Duration
		c.begun += c.byCensus - byCensus
		if c.storms && !c.calm(node) {
			c.broken = fmt.Sprintf("%s begins in a storm that began before it failed\n%+v", node, c.past)
		}
	}
	for i := range l.Status.Reservations {
		if c.twin == "counts a slot of long calls no longer than another" {
			l.Status.Reservations[i].DeviceCallTimeout = nil
		}
	}
	census := c.ledger.Status.Census
	c.before, c.ledger = c.ledger, l
	c.ledger.Status.Census = census
}

// step is one thing that happens.
func (c *cluster) step() {
	node := fmt.Sprint("n", c.r.IntN(5))
	f := c.fences[node]
	if f != nil {
		f = f.DeepCopy()
	}
	switch what := c.r.IntN(12); what {
	case 0, 1:
		c.now = c.now.Add(time.Duration(c.r.IntN(25)) * time.Second)
		at := observed.StampOf(c.now)
		c.ledger.Status.Leases.ObservedAt = &at
	case 2:
		c.see(c.r.IntN(2))
	case 3:
		c.write(c.r.IntN(2))
	case 4, 5, 6:
		c.reserve(node)
	default:
		c.advance(what, node, f)
	}
	c.remember()
}

// advance takes a node's fence a step further.
func (c *cluster) advance(what int, node string, f *api.NodeFence) {
	at, yes := c.yes[node]
	switch {
	case c.storms && c.heals(f, what):
		f.Status.Phase = api.Finished
		delete(c.dead, node)
		c.save(f)
	case c.storms && (f == nil || !f.Open()) && c.r.IntN(3) > 0: // not all fail at once
	case f == nil || !f.Open():
		if f == nil || c.r.IntN(4) == 0 {
			f = &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID(fmt.Sprint("u", c.version))}, Spec: api.NodeFenceSpec{NodeName: node}, Status: api.NodeFenceStatus{FenceNumber: number(f)}}
		}
		f.Status = api.NodeFenceStatus{FenceNumber: number(f), Phase: api.Pending}
		c.dead[node] = c.r.IntN(4) > 0
		c.save(f)
	case yes && what == 7: // its gate dies
		delete(c.yes, node)
	case yes && f.Status.Phase == api.Pending && what == 8:
		f.Status.GivenBack = &at
		delete(c.yes, node)
		c.save(f)
	case yes && f.Status.Phase == api.Pending:
		limit := metav1.Duration{Duration: c.calls[node]}
		if delete(c.yes, node); c.now.Sub(at.Time) <= facts.AdmissionValidity(&api.Decision{DeviceCallTimeout: limit}) {
			f.Status.Phase, f.Status.DecidedAt = api.Isolating, &at
			c.save(f)
		}
	case f.Status.Phase == api.Isolating && what > 9:
		f.Status.Phase, f.Status.Power.SwitchedByUs = api.Releasing, true
		c.save(f)
	case f.Status.Phase == api.Releasing && what == 10:
		f.Status.Phase, f.Status.Restarts = api.Pending, 1 // its flow begins again
		c.save(f)
	case f.Status.Phase == api.Releasing && what == 11:
		f.Status.Phase = api.Finished
		delete(c.dead, node)
		c.save(f)
	}
}

// heals: the node is well before its fence has begun.
func (c *cluster) heals(f *api.NodeFence, what int) bool {
	if f == nil || !f.Open() || what < 10 {
		return false
	}
	_, yes := c.yes[f.Spec.NodeName]
	return !yes && f.Status.Phase == api.Pending && f.Status.Restarts == 0
}

// TestASlotIsFreeByALaterLookAlone (S14).
func TestASlotIsFreeByALaterLookAlone(t *testing.T) {
	now := fencetest.Start
	seen := func(uid types.UID, number int64, version string, phase api.Phase) *api.CountedFence {
		return &api.CountedFence{NodeName: "n1", FenceUID: uid, FenceNumber: number, Version: version, Phase: phase}
	}
	for name, tc := range map[string]struct {
		seen *api.CountedFence
		age  time.Duration
		kept bool
	}{
		"it recovers, seen later":                  {seen("u", 2, "8", api.Recovering), time.Hour, false},
		"it recovered before its flow began again": {seen("u", 2, "6", api.Recovering), 0, true},
		"it holds its slot, seen earlier":          {seen("u", 2, "6", api.Fencing), time.Hour, true},
		"it is closed, seen later":                 {seen("u", 2, "8", api.Finished), 0, false},
		"it was closed and opened again since":     {seen("u", 1, "6", api.Finished), 0, true},
		"a later fence of the node":                {seen("u", 3, "9", api.Pending), 0, false},
		"its record is another one's":              {seen("v", 1, "6", api.Pending), 0, true},
		"it is not listed":                         {nil, 0, true},
	} {
		f, c, l := fencetest.World(now)
		f.ResourceVersion = "7"
		w := admission.Watched{Nodes: c.Nodes, Fences: []*api.NodeFence{f}, Leases: l.Status.Leases, Admitted: []api.Reservation{{NodeName: "n1"}}}
		l.Status.Census = admission.TakeCensus(w, now)
		if tc.seen != nil {
			l.Status.Census.Fences = append(l.Status.Census.Fences, *tc.seen)
		}
		at := observed.StampOf(now.Add(-tc.age))
		l.Status.Reservations = []api.Reservation{{NodeName: "n1", FenceUID: "u", FenceNumber: 2, FenceVersion: "7", At: at, CountedBy: []api.CountedBy{{Policy: "p"}}}}
		l.Status.UnderWay = []api.UnderWay{{NodeName: "n1", FenceUID: "u", FenceNumber: 2}}
		o, lacks := admission.ByCensus(l, f, nodeOf(c, "n0"), nil, nil, nil, nil, now)
		if lacks != "" {
			t.Errorf("%s: the census lacks something: %s", name, lacks)
			continue
		}
		admission.Rebuild(l, admission.NewPicture(o), now)
		if kept := len(l.Status.Reservations) == 1; kept != tc.kept {
			t.Errorf("%s: kept %t, want %t: %+v", name, kept, tc.kept, o.Fences)
		}
	}
}

func number(f *api.NodeFence) int64 {
	if f == nil {
		return 1
	}
	return f.Status.FenceNumber + 1
}

// holding is how many hold a slot.
func (c *cluster) holding() (n int) {
	for _, f := range c.fences {
		if f.HoldsSlot() {
			n++
		}
	}
	return n
}

// runs are so many small histories; broken is the first in which too many hold a slot, or one began in a
// storm. sum has how they were decided.
func runs(seed uint64, n int, twin string, storms bool) (broken string, sum cluster) {
	for i := range n {
		c := newCluster(rand.New(rand.NewPCG(seed, uint64(i))), twin, storms)
		for step := range 150 {
			c.step()
			if h := c.holding(); h > most && c.broken == "" {
				c.broken = fmt.Sprintf("%d hold a slot, %d may", h, most)
			}
			if c.broken != "" {
				return fmt.Sprintf("history %d, step %d: %s\n%+v", i, step, c.broken, c.ledger.Status), sum
			}
		}
		sum.byCensus, sum.byList, sum.begun = sum.byCensus+c.byCensus, sum.byList+c.byList, sum.begun+c.begun
	}
	return "", sum
}

// TestALateCensusLetsNoMoreBegin: by a census that is late, lost, doubled, or written by two
// sources in turn, never more fences hold a slot than may, and never more nodes are under fences than
// may be unhealthy. None begins in a storm that no census was from before its node failed (S14, S15).
func TestALateCensusLetsNoMoreBegin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for storms, twins := range map[bool][]string{
		false: {"takes for gone what a late census does not list", "dates a late census as now", "reserves on a stale ledger", "counts a slot of long calls no longer than another"},
		true:  {"trusts an old count of the unhealthy", "does not count the nodes of fences that opened since"},
	} {
		broken, sum := runs(seed, random.Histories(1500), "", storms)
		if broken != "" {
			t.Error(broken)
		}
		if t.Logf("%d decisions by the census, of which %d let a fence begin, and %d by lists", sum.byCensus, sum.begun, sum.byList); sum.byCensus < random.Histories(3000) || sum.byList < random.Histories(1000) || sum.begun < random.Histories(500) {
			t.Errorf("%d decisions by the census, of which %d let a fence begin, and %d by lists: nothing was shown", sum.byCensus, sum.begun, sum.byList)
		}
		for _, twin := range twins {
			if broken, _ := runs(seed, 30000, twin, storms); broken == "" {
				t.Errorf("a twin that %s breaks no limit: nothing was shown", twin)
			}
		}
	}
}
