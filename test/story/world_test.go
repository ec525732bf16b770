// Package story tells whole incidents to the automaton, in a world of virtual
// time, and keeps them as text.
package story

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is one node, its machine, its BMC, and what Kubernetes has of it.
type world struct {
	now    time.Time
	record api.NodeFence
	// dryRun is the ledger's dry reservation of the fence.
	dryRun *observed.DryRun
	text   strings.Builder
	faults []string

	on, crashed, cut bool
	boot, beats      int
	// of is the boot and the renewal that Kubernetes has, where those were restored
	// and the kubelet has told of no others since.
	of             *[2]int
	ready, reason  string
	readySince     time.Time
	left           int
	taint, cordon  bool
	oos            bool
	gone, deleting bool
	finalizer      bool
	reports        map[string]*observed.Report
	bmc            string        // how the BMC misbehaves
	dies           time.Duration // for how long the BMC is away once it took an Off
	away           string        // what is said of a device that is away
	dark           bool          // the second level's outlet is off
	offs, ons      int
	still          time.Time // since when the source saw the Lease stand still
	checks         string    // how the checks misbehave
	storageDown    bool
	effects        []effect
	// early: only the Lease speaks until the node is lost; stopped: it is not
	// renewed; storm: a brake is on.
	early, lost, stopped, storm bool
	// cluster is what is around the node, where that matters.
	cluster *cluster
	// uid is the Node object's; hers: a person has cordoned it; going: an autoscaler
	// is about to delete it.
	uid   types.UID
	hers  bool
	going string
	// fabrics are the devices of status.decision.devices that isolate; inUse what the kubelet has mounted.
	fabrics []*fabric
	inUse   []string
	// mute: the API server does not answer; paused: every policy is.
	mute, paused bool
	// budget is that of the pod, where the node may be drained.
	budget *budget
	// windows are the policy's pause windows.
	windows   []policy.Windows
	shutUntil time.Time
	// goes: the story goes on after its fence, while something is still to happen.
	goes bool
	// how events are mistreated
	twist   twist
	wakes   []wake
	handled int
	saves   int
}

type effect struct {
	at time.Time
	do func()
}

type wake struct {
	at  time.Time
	why string
}

// twist is one way to mistreat events and processes.
type twist struct {
	double  bool
	drop    int // the n-th wake-up is lost; 0 is none
	shuffle *rand.Rand
	die     int // the process dies right after the n-th save; 0 is none
	// meet is what happens right after the n-th save.
	meet func(w *world, save int)
}

func newWorld(tw twist) *world {
	s := func(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Second} }
	w := &world{now: start, on: true, ready: "Unknown", readySince: start, left: 2, finalizer: true, reports: map[string]*observed.Report{}, uid: "node-uid", twist: tw}
	w.record = api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "node-7", UID: "fence-7"},
		Spec:       api.NodeFenceSpec{NodeName: "node-7"}, Status: api.NodeFenceStatus{
			FenceNumber: 1, Decision: api.Decision{NodeUID: "node-uid",
				Trigger: api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}, Since: metav1.NewMicroTime(start)},
				ResolvedPolicy: api.ResolvedPolicy{
					Policy: api.PolicyRef{Name: "default"}, Settings: api.Settings{Action: api.ActionReboot, Mode: api.ModeEnforce,
						UnhealthyConditions: []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}},
						Power:               api.PowerSettings{MaxLevels: 4, OffTimeout: s(10), Attempts: 3, RetryInterval: s(5), Restarts: 1},
						Release:             api.ReleaseSettings{Strategy: api.ReleaseTaintAndDelete, Timeout: s(60)},
						Recovery:            api.RecoverySettings{BootTimeout: s(120), ReadyDuration: s(5), Uncordon: api.UncordonAutomatic},
						PerNode:             (*api.PerNode)(nil).Settings()},
				},
				Devices: api.Named(api.Binding{Driver: "mem", Address: "node-7", EffectDelay: s(3)}),
			},
		},
	}
	w.wake(0, "node.unhealthy")
	return w
}

func (w *world) say(format string, args ...any) {
	fmt.Fprintf(&w.text, "%8s  %s\n", "+"+w.now.Sub(start).Round(10*time.Millisecond).String(), fmt.Sprintf(format, args...))
}

func (w *world) wrong(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) wake(after time.Duration, why string) {
	if r := w.twist.shuffle; r != nil {
		after += time.Duration(r.Int64N(int64(3 * time.Second)))
	}
	w.wakes = append(w.wakes, wake{w.now.Add(after), why})
}

// alive: the kubelet runs and reaches the API server.
func (w *world) alive() bool { return w.on && !w.crashed && !w.cut && !w.isCut(api.RoleNetwork) }

// writes: the pods of this machine still write.
func (w *world) writes() bool { return w.on && !w.crashed && !w.isCut(api.RoleStorage) }

// run takes the incident to its end.
func (w *world) run() {
	for range 2000 {
		if p := w.record.CurrentPhase(); p == api.Finished && !(w.goes && len(w.effects) > 0) || (w.gone && w.record.Status.Phase == "") {
			return
		}
		w.advance()
		if w.now.Sub(start) > time.Hour || w.quiet() {
			return
		}
	}
}

// quiet: a record that waits for a person, with nothing else under way.
func (w *world) quiet() bool {
	p := w.record.Status.Phase
	return (p == api.Fenced || p == api.Failed) && len(w.effects) == 0 && w.now.Sub(w.record.Status.PhaseSince.Time) > time.Minute
}

// advance goes to the next thing that happens: an effect, a wake-up, or the
// source's own when the record is due, again each resync until it is heard.
func (w *world) advance() {
	next, pick := w.sourceDue(), -1
	for i, x := range w.wakes {
		if x.at.Before(next) {
			next, pick = x.at, i
		}
	}
	for i, e := range w.effects {
		if !e.at.After(next) {
			w.now = later(w.now, e.at)
			w.effects = slices.Delete(w.effects, i, i+1)
			e.do()
			return
		}
	}
	w.now = later(w.now, next)
	why := "due"
	if pick >= 0 {
		why = w.wakes[pick].why
		w.wakes = slices.Delete(w.wakes, pick, pick+1)
	}
	w.handled++
	if w.handled == w.twist.drop {
		return // the source's own wake-up comes again
	}
	w.invoke(why)
	if w.twist.double {
		w.invoke(why)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sourceDue is when the source wakes the record by itself.
func (w *world) sourceDue() time.Time {
	if n := w.record.Status.NextLook; n != nil && w.record.Status.Phase != "" {
		at := n.Time
		for !at.After(w.now) {
			at = at.Add(time.Second)
		}
		return at
	}
	return w.now.Add(facts.Resync)
}

// look sees the world; a living kubelet has reported by then.
func (w *world) look(me string) observed.Look {
	if w.alive() {
		if !w.stopped {
			w.beats = int(w.now.Sub(start) / (10 * time.Second))
		}
		if w.ready != "True" {
			w.ready, w.reason, w.readySince = "True", "", w.now
		}
	}
	r, boot, beats := w.now, w.boot, w.beats
	if w.alive() {
		w.of = nil
	}
	if w.of != nil {
		boot, beats = w.of[0], w.of[1]
	}
	seen := observed.Look{
		Me: me, Resolved: true, Deleting: w.deleting, Finalizer: w.finalizer, Report: w.report(),
		Node: observed.Node{
			Exists: !w.gone, UID: w.uid, BootID: fmt.Sprint("boot-", boot), Taint: w.taint,
			Cordoned: w.cordon || w.hers, CordonOurs: w.cordon, Plans: observed.Plans{Deleting: w.going}, OutOfService: w.oos,
			VolumesInUse: slices.Clone(w.inUse),
			Conditions:   []observed.Condition{{Type: "Ready", Status: w.ready, Reason: w.reason, Since: w.readySince}},
		},
		Lease:  observed.Lease{Exists: true, Renewed: fmt.Sprintf("%d/%d", boot, beats), Renewal: 10 * time.Second, StillSince: w.stillSince()},
		Brakes: observed.Brakes{Looked: true, Counted: true, Storm: w.storm, Paused: w.paused, Windows: w.windows}, Reserved: &r, Left: w.leftover(), Draining: w.onNode(),
	}
	if w.early && w.boot == 0 && w.beats == 0 {
		seen.Lease.StillSince = start.Add(-12 * time.Second)
	}
	w.lookBack(&seen)
	w.lookAround(&seen)
	if w.storm {
		seen.Reserved, seen.Verdict = nil, &observed.Verdict{Reason: api.TooManyUnhealthy, Message: "5 of 10 nodes are unhealthy", Again: 10 * time.Second}
	}
	return seen
}

func (w *world) leftover() *observed.Left {
	l := &observed.Left{Attachments: min(w.left, 1)}
	if facts.CutOnly(&w.record.Status.Decision) {
		l.Stay, l.Volumes = []string{"default/cache-0"}, []string{volume}
	}
	if w.left > 1 {
		l.Delete = []observed.Pod{{Namespace: "default", Name: "db-0", UID: "pod"}}
	}
	return l
}

// report is the FenceReport of the fence, if it is written.
func (w *world) report() *observed.Report {
	if r := w.record.Status.Report; r != nil {
		return w.reports[r.Name]
	}
	return nil
}
