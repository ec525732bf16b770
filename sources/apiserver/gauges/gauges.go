package gauges

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
)

var (
	leads = prometheus.NewDesc("nodefence_source_leads", "1 where this replica of the source watches and sends, 0 where it stands by.", nil, nil)
	open  = prometheus.NewDesc("nodefence_fences_open", "Fences that are open, by deciding policy, phase, and whether the policies would have their nodes fenced.", []string{"policy", "phase", "to_be_fenced"}, nil)
	held  = prometheus.NewDesc("nodefence_fences_held", "Open fences that wait with the gate, by deciding policy and what holds them.", []string{"policy", "reason"}, nil)
	begun = prometheus.NewDesc("nodefence_fences_begun", "Open fences that have cut power or begun to release, by deciding policy: they run to their end.", []string{"policy"}, nil)
	wait  = prometheus.NewDesc("nodefence_oldest_wait_seconds", "How long the oldest fence that waits with the gate has been open, by deciding policy, and whether the policies would have its node fenced. One that waits for a time that its policy sets does not count.", []string{"policy", "to_be_fenced"}, nil)
	stays = prometheus.NewDesc("nodefence_oldest_phase_seconds", "How long an open fence has been in its phase at most, by deciding policy and phase. One that only waits for a person, or for as long as its policy lets a machine boot and be healthy, does not count.", []string{"policy", "phase"}, nil)
	down  = prometheus.NewDesc("nodefence_oldest_work_down_seconds", "How long the work of a lost node has been down at most, by deciding policy, and whether the policies would have the node fenced: since nodefence saw the node lost, until the work is released.", []string{"policy", "to_be_fenced"}, nil)
	given = prometheus.NewDesc("nodefence_oldest_person_wait_seconds", "How long a fence has waited at most for a person to give its node back, by deciding policy and what is waited for: WaitingForUncordon or WaitingForReboot.", []string{"policy", "reason"}, nil)
	storm = prometheus.NewDesc("nodefence_storms", "Storms, by policy and state: UnderWay, or CoolDown after one. A policy has one for all its nodes, and one for each domain that it limits.", []string{"policy", "state"}, nil)
	stop  = prometheus.NewDesc("nodefence_stopped", "1 while the ledger's stop switch is on.", nil, nil)
	count = prometheus.NewDesc("nodefence_source_census", "1 while decisions may go by the census in the ledger, 0 while each lists the cluster: there is more than a census holds, a watch is broken or silent, or it could not be written.", nil, nil)
	lies  = prometheus.NewDesc("nodefence_cuts_refuted", "1 for each node whose boot ID refutes a power cut, until a person trusts its device: the machine never was off, and two writers may have run.", []string{"node"}, nil)
	cuts  = prometheus.NewDesc("nodefence_nodes_cut", "1 for each node that a fence has cut off from power, storage or network, by deciding policy: while the fence is open, and for an hour after the last cut.", []string{"node", "policy"}, nil)
	back  = prometheus.NewDesc("nodefence_restore_unconfirmed", "1 while the API server's state is known to have gone back in time and no person has confirmed it: nothing new starts.", nil, nil)
)

// Gauges is a prometheus.Collector of what is seen at the time of a scrape. A series whose cause is
// gone is gone with the next scrape.
type Gauges struct {
	// open has the open fences by node, which are not changed.
	open func() map[string]*api.NodeFence
	// exempt says of a node whether the policies would not have it fenced.
	exempt func(node string) bool
	now    func() time.Time

	mu     sync.Mutex
	leads  bool
	ledger *api.FenceLedger
	// refuted are the nodes of which a power cut is refuted.
	refuted map[string]bool
	// cut has the last cut of each node.
	cut map[string]cut
	// counted is when the ledger's census was observed; zero if nothing was to be decided by it when it was read.
	counted time.Time
}

// New returns the gauges of a source that does not lead yet.
func New(open func() map[string]*api.NodeFence, exempt func(node string) bool, now func() time.Time) *Gauges {
	return &Gauges{open: open, exempt: exempt, now: now, refuted: map[string]bool{}, cut: map[string]cut{}}
}

// Leads notes whether this source leads. A standby shows nothing else, and forgets what it knows of nodes.
func (g *Gauges) Leads(is bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leads = is
	if !is {
		clear(g.refuted)
		clear(g.cut)
	}
}

// Fence notes whether the node was cut off, and whether a power cut of the node is refuted.
func (g *Gauges) Fence(f *api.NodeFence) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(f.Name)
	if f.Refuted() != nil {
		g.refuted[f.Name] = true
	}
	if c := lastCut(f); c.shown(g.now()) {
		g.cut[f.Name] = c
	}
}

// FenceGone forgets a node without a NodeFence.
func (g *Gauges) FenceGone(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(node)
}

// forget forgets a node. The caller holds the lock.
func (g *Gauges) forget(node string) {
	delete(g.refuted, node)
	delete(g.cut, node)
}

// Ledger notes the ledger as it was read last.
func (g *Gauges) Ledger(l *api.FenceLedger) {
	kept := &api.FenceLedger{Spec: *l.Spec.DeepCopy()}
	kept.Status.Storms, kept.Status.Restored = slices.Clone(l.Status.Storms), l.Status.Restored.DeepCopy()
	var counted time.Time
	if admission.CensusLacks(l, g.now()) == "" {
		counted = l.Status.Census.ObservedAt.Time
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger, g.counted = kept, counted
}

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{leads, open, held, begun, wait, stays, down, given, storm, stop, count, lies, cuts, back} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g *Gauges) Collect(ch chan<- prometheus.Metric) {
	g.mu.Lock()
	maps.DeleteFunc(g.cut, func(_ string, c cut) bool { return !c.shown(g.now()) })
	lead, ledger, counted, refuted, cut := g.leads, g.ledger, g.counted, maps.Clone(g.refuted), maps.Clone(g.cut)
	g.mu.Unlock()
	send := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	send(leads, number(lead))
	if !lead {
		return
	}
	g.fences(send)
	for node := range refuted {
		send(lies, 1, node)
	}
	for node, c := range cut {
		send(cuts, 1, node, c.policy)
	}
	if ledger != nil {
		send(count, number(observed.Fresh(counted, g.now(), admission.CensusKept)))
		ofLedger(ledger, g.now(), send)
	}
}

type sender func(d *prometheus.Desc, v float64, labels ...string)

// fences are the gauges of the open fences.
func (g *Gauges) fences(send sender) {
	now := g.now()
	all := sums{}
	for _, f := range g.open() {
		p, phase, why, wanted := policyOf(f), string(f.CurrentPhase()), f.Status.Reason, strconv.FormatBool(g.toBeFenced(f))
		all.add(open, 1, p, phase, wanted)
		if since := forPerson(f); since != nil {
			all.most(given, age(since, now), p, string(why))
		} else if !inItsTime(f, now) {
			all.most(stays, age(f.Status.PhaseSince, now), p, phase)
		}
		if f.Status.Begun() {
			all.add(begun, 1, p)
		}
		if since := workDownSince(f); since != nil {
			all.most(down, age(since, now), p, wanted)
		}
		if f.CurrentPhase() != api.Pending {
			continue
		}
		all.add(held, 1, p, string(why))
		if !slices.Contains(timed, why) {
			all.most(wait, age(f.Status.OpenedAt, now), p, wanted)
		}
	}
	all.send(send)
}

// timed are the waits with the gate that end at a time which the policy sets.
var timed = []api.Reason{api.WaitingForTime, api.WaitingBeforePower}

// toBeFenced tells whether the policies would have the node of an open fence fenced. What was cut is for
// somebody to see to, whatever they say since. Of some nodes the gate alone knows that they are left alone.
func (g *Gauges) toBeFenced(f *api.NodeFence) bool {
	st := &f.Status
	access := func(r api.IsolationRecord) bool { return r.OffAt != nil }
	if st.Begun() || st.CutOrReleased || slices.ContainsFunc(st.Isolation, access) {
		return true
	}
	leftAlone := f.CurrentPhase() == api.Pending && hold.Intended(st.Reason)
	return !leftAlone && !g.exempt(f.Spec.NodeName)
}

// forPerson is since when a fence has waited only for a person, as its policy or what it has cut off
// wants it; nil if it does not.
func forPerson(f *api.NodeFence) *api.Time {
	switch st := &f.Status; {
	case f.CurrentPhase() == api.Recovering && st.WaitsFor == api.WaitsForUncordon:
		return cmp.Or(st.KeptSince, st.ReadySince) // neither, while it is ill again
	case f.CurrentPhase() == api.Restoring && st.Reason == api.WaitingForReboot:
		return st.PhaseSince
	}
	return nil
}

// inItsTime tells whether a node that recovers has as much time left as its policy gives it: to boot, and
// then to stay healthy. Both may be a day.
func inItsTime(f *api.NodeFence, now time.Time) bool {
	st, r := &f.Status, f.Status.Decision.Settings.Recovery
	switch {
	case f.CurrentPhase() != api.Recovering || st.Outcome != "" || st.PhaseSince == nil:
		return false
	case st.ReadySince != nil:
		return now.Before(st.ReadySince.Add(r.ReadyDuration.Duration))
	}
	return now.Before(st.PhaseSince.Add(r.BootTimeout.Duration))
}

// ofLedger are the gauges of what holds many fences.
func ofLedger(l *api.FenceLedger, now time.Time, send sender) {
	all := sums{}
	for _, s := range l.Status.Storms {
		switch {
		case s.CoolDownUntil == nil:
			all.add(storm, 1, s.Policy, "UnderWay")
		case s.CoolDownUntil.After(now) && !admission.Waived(l, &s): // the ledger keeps one that is over for a while
			all.add(storm, 1, s.Policy, "CoolDown")
		}
	}
	all.send(send)
	send(stop, number(l.Spec.Stop))
	switchless := *l
	switchless.Spec.Stop = false
	why, _ := admission.Stopped(&switchless)
	send(back, number(why == api.StateWentBack))
}

// policyOf is the policy that decides, none where no policy could be resolved.
func policyOf(f *api.NodeFence) string {
	if name := f.Status.Decision.Policy.Name; name != "" {
		return name
	}
	return "none"
}

// age is how long ago that was, in seconds; 0 where it never was.
func age(at *api.Time, now time.Time) float64 {
	if at == nil {
		return 0
	}
	return max(0, now.Sub(at.Time).Seconds())
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// sums are values by metric and labels, of which there are three at most.
type sums map[series]float64

type series struct {
	desc   *prometheus.Desc
	labels [3]string
	n      int
}

func seriesOf(d *prometheus.Desc, labels []string) series {
	s := series{desc: d, n: len(labels)}
	copy(s.labels[:], labels)
	return s
}

func (s sums) add(d *prometheus.Desc, v float64, labels ...string) { s[seriesOf(d, labels)] += v }

func (s sums) most(d *prometheus.Desc, v float64, labels ...string) {
	of := seriesOf(d, labels)
	s[of] = max(s[of], v)
}

func (s sums) send(send sender) {
	for of, v := range s {
		send(of.desc, v, of.labels[:of.n]...)
	}
}
