package admission_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/test/random"
)

// etcds is a control plane whose members fail, join and leave, and whose Nodes are deleted and made
// again, while two sources write the census, each watch as far behind as it may be, over each
// other's, or not at all.
type etcds struct {
	r       *rand.Rand
	now     time.Time
	version int
	is      plane
	views   [2]plane
	ledger  *api.FenceLedger
	policy  api.FencePolicy
	twin    string
	// planes are the nodes under a fence that were of the control plane or of etcd when it began.
	planes map[string]bool
	// byCensus counts the decisions by the census, and held those that were held for etcd.
	byCensus, held int
	broken         string
}

// plane is how its nodes were at some time.
type plane struct {
	at time.Time
	// of are the nodes of the control plane, dead the nodes that are not Ready, gone those whose
	// Node is deleted, and members has whether the etcd of each member is well.
	of, dead, gone, members map[string]bool
	fences                  map[string]*api.NodeFence
}

func (p plane) clone(at time.Time) plane {
	c := plane{at: at, of: maps.Clone(p.of), dead: maps.Clone(p.dead), gone: maps.Clone(p.gone), members: maps.Clone(p.members), fences: map[string]*api.NodeFence{}}
	for name, f := range p.fences {
		c.fences[name] = f.DeepCopy()
	}
	return c
}

func (p plane) node(name string) *admission.Node {
	if p.gone[name] {
		return nil
	}
	return &admission.Node{Name: name, Unhealthy: p.dead[name], ControlPlane: p.of[name]}
}

func (p plane) nodes() (all []admission.Node) {
	for i := range 6 {
		if n := p.node(fmt.Sprint("n", i)); n != nil {
			all = append(all, *n)
		}
	}
	return all
}

// isPlane: the node is of the control plane, or a member.
func (p plane) isPlane(name string) bool {
	_, member := p.members[name]
	return p.of[name] || member
}

func (p plane) etcd() (etcd admission.EtcdObserved) {
	etcd.Members = map[string]bool{}
	for name, well := range p.members {
		etcd.Members[name] = well && !p.dead[name]
	}
	for name := range p.of {
		if _, member := p.members[name]; p.of[name] && !member {
			etcd.Members[name] = false
		}
	}
	return etcd
}

// anew is what is read for the quorum for this node's fence, if this is how all is: for a worker,
// who is a member; for others, those nodes, and those that the ledger or its census has as such.
func (p plane) anew(but string, l *api.FenceLedger) *admission.ReadAnew {
	read := &admission.ReadAnew{Etcd: p.etcd(), Nodes: map[string]*admission.Node{}}
	if !p.isPlane(but) {
		return read
	}
	names := maps.Clone(read.Etcd.Members)
	for _, u := range l.Status.UnderWay {
		if u.ControlPlane {
			names[u.NodeName] = true
		}
	}
	for _, n := range l.Status.Census.Nodes {
		if n.ControlPlane {
			names[n.NodeName] = true
		}
	}
	delete(names, but)
	for name := range names {
		read.Nodes[name] = p.node(name)
		if f := p.fences[name]; f != nil {
			read.Fences = append(read.Fences, f)
		}
	}
	return read
}

func (p plane) lists(policies []api.FencePolicy) admission.Picture {
	o := admission.Observed{Policies: policies, Etcd: p.etcd(), Nodes: p.nodes()}
	for _, f := range p.fences {
		o.Fences = append(o.Fences, *f)
	}
	return admission.NewPicture(o)
}

func newEtcds(r *rand.Rand, twin string) *etcds {
	_, _, l := fencetest.World(fencetest.Start)
	e := &etcds{r: r, now: fencetest.Start, version: 100, ledger: l, twin: twin, policy: fencetest.LivePolicy(), planes: map[string]bool{}}
	e.policy.Spec.ControlPlane.Fence = new(api.WithQuorum)
	e.policy.Spec.Limits = api.Limits{MaxUnhealthy: fencetest.Percent("100%"), MaxConcurrent: new(int32(9))}
	e.is = plane{of: map[string]bool{}, dead: map[string]bool{}, gone: map[string]bool{}, members: map[string]bool{}, fences: map[string]*api.NodeFence{}}
	for _, n := range []string{"n0", "n1", "n2", "n3"} {
		e.is.of[n], e.is.members[n] = true, true
	}
	for i := range e.views {
		e.views[i] = e.is.clone(e.now)
	}
	return e
}

// write is a census by what a source has seen of the nodes and of the fences, dated as if that were
// all.
func (e *etcds) write(nodes, fences plane) {
	if e.now.Sub(nodes.at) > admission.CensusLag || e.now.Sub(fences.at) > admission.CensusLag {
		return
	}
	w := admission.Watched{Policies: []api.FencePolicy{e.policy}, Leases: e.ledger.Status.Leases, Nodes: nodes.nodes()}
	for _, f := range fences.fences {
		if w.Fences = append(w.Fences, f); !f.Open() {
			w.Closed = append(w.Closed, admission.CountedFence(f))
		}
	}
	e.ledger.Status.Census = admission.TakeCensus(w, e.now)
}

// read is what the gate reads for a quorum; a twin trusts what a source has seen of it.
func (e *etcds) read(but string) *admission.ReadAnew {
	now, old := e.is.anew(but, e.ledger), e.views[0].anew(but, e.ledger)
	switch e.twin {
	case "trusts an old count of members":
		now.Etcd = old.Etcd
	case "trusts old fences of members":
		now.Fences = old.Fences
	case "trusts an old count, and reads those anew that it names":
		for name := range now.Etcd.Members {
			if _, named := old.Etcd.Members[name]; !named {
				delete(now.Etcd.Members, name)
				delete(now.Nodes, name)
				now.Fences = slices.DeleteFunc(now.Fences, func(f *api.NodeFence) bool { return f.Spec.NodeName == name })
			}
		}
	}
	return now
}

// reserve asks for a slot by the census, and says what lists of all would have said.
func (e *etcds) reserve(node string) {
	f := e.is.fences[node]
	if f == nil || f.CurrentPhase() != api.Pending || !f.Open() {
		return
	}
	e.now = e.now.Add(time.Millisecond)
	f = f.DeepCopy()
	policies := []api.FencePolicy{e.policy}
	f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(policies, node, nil)
	byList, byCensus := e.ledger.DeepCopy(), e.ledger.DeepCopy()
	if e.twin == "takes for ended what a late census does not show under way" {
		forgetLate(byCensus)
	}
	picture := e.is.lists(policies)
	want := admission.Admit(f, picture, byList, e.now)
	n := nodeOf(picture, node)
	if admission.CensusLacks(byCensus, e.now) == "" {
		if o, lacks := admission.ByCensus(byCensus, f, n, nil, e.read(node), policies, nil, e.now); lacks == "" {
			got := admission.Admit(f, admission.NewPicture(o), byCensus, e.now)
			e.byCensus++
			if r := fencetest.ReasonOf(want); r == api.EtcdQuorum {
				if e.held++; got == nil {
					e.broken = fmt.Sprintf("node %s: by lists it is held: %s\nit is %+v\na source saw %+v", node, want.Message, e.is, e.views[0])
				}
			}
			want, byList = got, byCensus
		}
	}
	census := e.ledger.Status.Census
	e.ledger = byList
	e.ledger.Status.Census = census
	if e.twin == "keeps nothing of a node that nobody knows" {
		e.ledger.Status.UnderWay = slices.DeleteFunc(e.ledger.Status.UnderWay, func(u api.UnderWay) bool { return slices.Contains(u.Budgets, "*") })
	}
	if want == nil {
		e.begin(f)
	}
}

// forgetLate takes for ended what has no slot and is not shown under way.
func forgetLate(l *api.FenceLedger) {
	l.Status.UnderWay = slices.DeleteFunc(l.Status.UnderWay, func(u api.UnderWay) bool {
		shown := l.Status.Census != nil && slices.ContainsFunc(l.Status.Census.Fences, func(f api.CountedFence) bool { return f.NodeName == u.NodeName && f.Phase != api.Pending })
		return !shown && !slices.ContainsFunc(l.Status.Reservations, func(r api.Reservation) bool { return r.NodeName == u.NodeName })
	})
}

// begin: the gate of a fence that has a slot goes on at once.
func (e *etcds) begin(f *api.NodeFence) {
	at, node := observed.StampOf(e.now), f.Spec.NodeName
	f.Status.Phase, f.Status.DecidedAt = api.Isolating, &at
	e.save(f)
	if !e.is.isPlane(node) {
		return
	}
	if len(e.planes) > 0 {
		e.broken = fmt.Sprintf("node %s begins beside %v\nit is %+v\nthe ledger: %+v", node, e.planes, e.is, e.ledger.Status)
	}
	e.planes[node] = true
}

func (e *etcds) save(f *api.NodeFence) {
	e.version++
	f.ResourceVersion = fmt.Sprint(e.version)
	e.is.fences[f.Spec.NodeName] = f
}

// step is one thing that happens.
func (e *etcds) step() {
	node := fmt.Sprint("n", e.r.IntN(6))
	_, member := e.is.members[node]
	switch e.r.IntN(24) {
	case 0, 1:
		e.now = e.now.Add(time.Duration(e.r.IntN(16)) * time.Second)
		at := observed.StampOf(e.now)
		e.ledger.Status.Leases.ObservedAt = &at
	case 2:
		i := e.r.IntN(2)
		e.views[i] = e.is.clone(e.now)
	case 4, 5, 6, 7:
		e.write(e.views[e.r.IntN(2)], e.views[e.r.IntN(2)])
	case 8:
		if e.r.IntN(4) == 0 {
			e.ledger.Status.Census = nil
		}
	case 9:
		e.is.dead[node] = e.r.IntN(3) == 0
	case 10:
		if member {
			e.is.members[node] = e.r.IntN(3) > 0
		}
	case 11:
		if e.is.gone[node] {
			break
		}
		if e.is.of[node] = e.r.IntN(3) > 0; e.r.IntN(2) == 0 {
			e.is.members[node] = e.r.IntN(3) > 0
		}
	case 12, 13:
		e.advance(node)
	case 3, 14, 15:
		for _, begun := range slices.Sorted(maps.Keys(e.planes)) {
			e.advance(begun)
		}
	case 16: // its Node is made again, as it was or without labels
		if e.is.gone[node] && e.r.IntN(4) > 0 {
			e.is.of[node], e.is.members[node] = true, true
		}
		delete(e.is.gone, node)
	case 17:
		if e.r.IntN(4) == 0 {
			e.remove(node)
		}
		for begun := range e.planes {
			e.remove(begun)
		}
	default:
		e.reserve(node)
	}
}

// remove deletes a Node, and its pod of etcd with it.
func (e *etcds) remove(node string) {
	e.is.gone[node] = true
	delete(e.is.of, node)
	delete(e.is.members, node)
}

// advance opens the node's fence, or takes it a step further.
func (e *etcds) advance(node string) {
	f := e.is.fences[node]
	if f == nil || !f.Open() {
		next := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("u-" + node)}, Spec: api.NodeFenceSpec{NodeName: node}}
		next.Status = api.NodeFenceStatus{FenceNumber: number(f), Phase: api.Pending}
		if !e.is.gone[node] {
			next.Status.Decision.NodeUID = types.UID("uid-" + node)
		}
		if e.r.IntN(4) > 0 {
			next.Status.Decision.Trigger.Type = api.TriggerRequest
		}
		e.save(next)
		return
	}
	f = f.DeepCopy()
	switch {
	case f.Status.Phase == api.Isolating && e.r.IntN(2) == 0:
		f.Status.Phase, f.Status.Power.SwitchedByUs = api.Releasing, true
	case f.Status.Phase == api.Isolating, f.Status.Phase == api.Releasing:
		f.Status.Phase, f.Status.Power.SwitchedByUs = api.Recovering, true
	case e.r.IntN(3) == 0:
		f.Status.Phase = api.Finished
		delete(e.planes, node)
	}
	e.save(f)
}

// etcdRuns are so many small histories; broken is the first in which a member is fenced that
// lists would have held.
func etcdRuns(seed uint64, n int, twin string) (broken string, byCensus, held int) {
	for i := range n {
		e := newEtcds(rand.New(rand.NewPCG(seed, uint64(i))), twin)
		for range 150 {
			if e.step(); e.broken != "" {
				return fmt.Sprintf("history %d, %s", i, e.broken), byCensus, held
			}
		}
		byCensus, held = byCensus+e.byCensus, held+e.held
	}
	return "", byCensus, held
}

// TestALateCensusHoldsForEtcdAsAListDoes: by a census that is late, lost, or written by two
// sources in turn, no fence begins that lists of everything would have held for etcd's quorum
// (S13). Twins that trust anything of it to a source that is late begin such a fence: also the
// one that reads anew each member that the source has named.
func TestALateCensusHoldsForEtcdAsAListDoes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	broken, byCensus, held := etcdRuns(seed, random.Histories(3000), "")
	if broken != "" {
		t.Error(broken)
	}
	if t.Logf("%d decisions by the census, %d of them held", byCensus, held); byCensus < random.Histories(5000) || held < random.Histories(1000) {
		t.Errorf("%d decisions by the census, %d of them held: nothing was shown", byCensus, held)
	}
	for _, twin := range []string{
		"trusts an old count of members", "trusts old fences of members", "trusts an old count, and reads those anew that it names",
		"takes for ended what a late census does not show under way", "keeps nothing of a node that nobody knows",
	} {
		broken, _, _ := etcdRuns(seed, 200_000, twin) // a few thousand are enough for most seeds, and 30,000 are not for some
		if broken == "" {
			t.Errorf("a twin that %s fences no member that lists hold: nothing was shown", twin)
		}
	}
}
