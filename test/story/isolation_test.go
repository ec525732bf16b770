package story

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// fabric is a device that cuts a machine off, honest or not.
type fabric struct {
	name  string
	scope api.Role
	off   bool
	// theirs: somebody else has cut it.
	theirs bool
	// dead: it does not answer. stuck: it takes no word to give back.
	dead, stuck bool
}

// volume is what db-0 has mounted.
const volume = "kubernetes.io/csi/rbd^1"

// isCut tells whether the machine has no such access.
func (w *world) isCut(scope api.Role) bool {
	return slices.ContainsFunc(w.fabrics, func(x *fabric) bool { return x.scope == scope && x.off })
}

// say is one call. Where it would go wrong: what was released, and is written to
// elsewhere now, is given back to a machine on which it is still mounted.
func (x *fabric) say(w *world, a fence.Action, r *observed.CallResult) {
	switch {
	case x.dead, x.stuck && a == fence.On:
		r.Err = "device unreachable"
	case a == fence.Read:
		r.Power = "On"
		if x.off {
			r.Power = "Off"
		}
	case a == fence.Off:
		w.say("           %s: cut off", x.name)
		x.off = true
	case a == fence.On:
		w.say("           %s: given back", x.name)
		if x.off = false; x.scope == api.RoleStorage && w.left < 2 && len(w.inUse) > 0 && w.writes() {
			w.wrong("storage given back to a machine that writes, at +%s", w.now.Sub(start))
		}
	}
}

// isolate gives the node a storage and a network device.
func (w *world) isolate(must bool, scopes ...api.Role) {
	w.inUse = []string{volume}
	for _, scope := range scopes {
		x := &fabric{name: map[api.Role]string{api.RoleStorage: "SAN", api.RoleNetwork: "switch"}[scope], scope: scope}
		w.fabrics = append(w.fabrics, x)
		b := api.Binding{Driver: strings.ToLower(x.name), Address: "port/7", Role: scope, Must: must, EffectDelay: metav1.Duration{Duration: time.Second}}
		if scope == api.RoleStorage {
			b.Covers = &api.Coverage{CSIDriverNames: []string{"rbd"}}
		}
		w.record.Status.Decision.Devices = api.Named(append(w.record.Status.Decision.Devices, b)...)
	}
}

// comesBack: the kubelet is heard again, and has ended what was taken from it a
// while later.
func comesBack(w *world, after time.Duration) {
	at(w, after, func() {
		w.cut = false
		w.say("           the network is back")
		w.wake(0, "node.healthy")
	})
	at(w, after+20*time.Second, func() {
		if w.left < 2 {
			w.inUse = nil
			w.say("           the kubelet has unmounted what was taken from it")
		}
	})
}

var isolated = map[string]incident{
	"a node without a BMC is cut off from its storage, and comes back": {func(w *world) {
		w.cut, w.record.Status.Decision.Devices = true, nil
		w.isolate(true, api.RoleStorage)
		comesBack(w, 90*time.Second)
	}, []api.Phase{api.Finished}, 0},
	"a node without a BMC is cut off from its storage, and rebooted": {func(w *world) {
		w.crashed, w.record.Status.Decision.Devices = true, nil
		w.isolate(true, api.RoleStorage)
		at(w, 100*time.Second, func() {
			w.crashed, w.boot, w.inUse = false, w.boot+1, nil
			w.say("           somebody has reset it")
			w.wake(0, "node.healthy")
		})
	}, []api.Phase{api.Finished}, 0},
	"a node without a BMC is cut off from its storage and network": {func(w *world) {
		w.cut, w.record.Status.Decision.Devices = true, nil
		w.isolate(true, api.RoleNetwork, api.RoleStorage)
		comesBack(w, 90*time.Second)
	}, []api.Phase{api.Finished}, 0},
	"storage and network are cut off, then the power, and all is given back in reverse": {func(w *world) {
		w.cut = true
		w.isolate(true, api.RoleStorage, api.RoleNetwork)
		at(w, 40*time.Second, func() { w.cut = false })
	}, []api.Phase{api.Finished}, 1},
	"storage can't be given back for a while": {func(w *world) {
		w.crashed = true
		w.isolate(false, api.RoleStorage)
		w.fabrics[0].stuck = true
		at(w, 3*time.Minute, func() { w.fabrics[0].stuck = false })
	}, []api.Phase{api.Finished}, 1},
	"a node heals between the cut and the power": {func(w *world) {
		w.cut, w.bmc = true, "dead"
		w.isolate(false, api.RoleStorage)
		at(w, 8*time.Second, func() { w.cut = false; w.say("           the network is back"); w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
	"a switch that need not be cut is dead": {func(w *world) {
		w.crashed = true
		w.isolate(false, api.RoleNetwork)
		w.fabrics[0].dead = true
	}, []api.Phase{api.Finished}, 1},
	"a switch that must be cut is dead, then answers": {func(w *world) {
		w.crashed = true
		w.isolate(true, api.RoleNetwork)
		w.fabrics[0].dead = true
		at(w, 10*time.Second, func() { w.fabrics[0].dead = false })
	}, []api.Phase{api.Finished}, 1},
	"storage that somebody else has cut stays cut": {func(w *world) {
		w.crashed = true
		w.isolate(true, api.RoleStorage)
		w.fabrics[0].off, w.fabrics[0].theirs = true, true
	}, []api.Phase{api.Finished}, 1},
}

// TestAMustThatIsDeadKeepsThePower: a device that must cut off fails, visibly, and the
// power is not cut.
func TestAMustThatIsDeadKeepsThePower(t *testing.T) {
	w := tell(incident{begin: func(w *world) {
		w.crashed = true
		w.isolate(true, api.RoleNetwork)
		w.fabrics[0].dead = true
	}}, twist{})
	if st := w.record.Status; st.Phase != api.Failed || st.Reason != api.IsolationFailed || w.offs > 0 {
		t.Errorf("%s %s, %d off\n%s", st.Phase, st.Reason, w.offs, w.text.String())
	}
}

// TestWhoStaysIsNamed: the record names the pods that stay on a machine of which only the
// storage was cut off.
func TestWhoStaysIsNamed(t *testing.T) {
	w := tell(incident{begin: func(w *world) {
		w.cut, w.record.Status.Decision.Devices = true, nil
		w.isolate(true, api.RoleStorage)
	}}, twist{})
	st := w.record.Status
	if st.Phase != api.Restoring || st.Reason != api.WaitingForReboot || !strings.Contains(st.Release.KeptPods, "default/cache-0") || !w.fabrics[0].off {
		t.Errorf("%s %s, stays %q\n%s", st.Phase, st.Reason, st.Release.KeptPods, w.text.String())
	}
}
