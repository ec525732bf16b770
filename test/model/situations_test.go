package model

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
)

// zoneLabel is the label of a node's zone: a to e are in east, f to j in west.
const zoneLabel = "topology.kubernetes.io/zone"

// situated returns ten nodes under policy p, of which three may be unhealthy, and node a is dead.
func situated(mode api.Mode) *world {
	p := roomForOne(api.ActionReboot)
	p.Generation, p.Spec.Mode = 1, mode
	p.Spec.Limits.MaxUnhealthy = new(intstr.FromInt32(3))
	w := newWorld(10, 1, p, false)
	for i := range w.machines {
		zone := []string{"east", "west"}[i/5]
		of(w, nodes+w.machines[i].node, func(n *corev1.Node) { n.Labels = map[string]string{zoneLabel: zone} })
	}
	w.put(configMaps+"fence-config-node-a", decode(encode(corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fence-config-node-a", Namespace: ownNamespace},
		Data: map[string]string{
			"config.properties": "node_name=a\nisolation=cordon\npower_management=bmc\nrecovery=uncordon",
			"fence-method-bmc":  "agent_name=fence_ipmilan\naction=reboot\nip=192.0.2.7\nusername=fence\nsecret=bmc-a",
		},
	})))
	w.put(secrets+"bmc-a", decode(encode(corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bmc-a", Namespace: secretsIn, Annotations: map[string]string{config.HostsAnnotation: "192.0.2.0/24"}},
		Data:       map[string][]byte{"password": []byte("x")},
	})))
	return w
}

// of changes one object.
func of[T any](w *world, path string, change func(*T)) {
	is := read[T](w, path)
	if is == nil {
		panic("there is no " + path)
	}
	o := new(T)
	must(json.Unmarshal(encode(is), o))
	change(o)
	w.put(path, decode(encode(o)))
}

// since returns the time so long ago.
func (w *world) since(d time.Duration) api.Time { return *stamp(w.now - d) }

// limited changes the limits of policy p.
func limited(change func(*api.Limits)) func(*world) {
	return specified(func(s *api.FencePolicySpec) { change(&s.Limits) })
}

// specified changes the specification of policy p.
func specified(change func(*api.FencePolicySpec)) func(*world) {
	return func(w *world) { of(w, policies+"p", func(p *api.FencePolicy) { change(&p.Spec) }) }
}

// recorded changes the ledger.
func recorded(change func(*world, *api.FenceLedger)) func(*world) {
	return func(w *world) { of(w, theLedger, func(l *api.FenceLedger) { change(w, l) }) }
}

// marked changes node a.
func marked(change func(*corev1.Node)) func(*world) {
	return func(w *world) { of(w, nodes+"a", change) }
}

// notReady has nodes whose kubelet says that they are not Ready.
func notReady(names ...string) func(*world) {
	return func(w *world) {
		for _, n := range names {
			w.ready(w.machine(n), corev1.ConditionFalse, -silence)
		}
	}
}

// still has the Leases of nodes stand still.
func still(names ...string) func(*world) {
	return recorded(func(w *world, l *api.FenceLedger) {
		for _, n := range names {
			l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: n, Since: w.since(silence), Stale: true})
		}
	})
}

// runs has a fence of a node that has its slot.
func runs(node string) func(*world) {
	return func(w *world) {
		at := w.since(20 * time.Second)
		f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("uid-" + node), Finalizers: []string{api.Finalizer}}, Spec: api.NodeFenceSpec{NodeName: node}}
		f.Status = api.NodeFenceStatus{FenceNumber: 1, Phase: api.Fencing, DecidedAt: &at, OpenedAt: &at, PhaseSince: &at, NextLook: stamp(w.now + 10*time.Second)}
		f.Status.Decision.NodeUID = types.UID("uid-" + node)
		w.put(fences+node, decode(encode(f)))
		recorded(func(_ *world, l *api.FenceLedger) {
			l.Status.Reservations = append(l.Status.Reservations, api.Reservation{NodeName: node, FenceUID: f.UID, FenceNumber: 1, At: at})
		})(w)
	}
}

// began has the ledger say that a fence began so long ago.
func began(node string, ago time.Duration) func(*world) {
	return recorded(func(w *world, l *api.FenceLedger) {
		l.Status.Admitted = append(l.Status.Admitted, api.Reservation{NodeName: node, FenceUID: "earlier", FenceNumber: 1, At: w.since(ago), CountedBy: []api.CountedBy{{Policy: "p"}}})
	})
}

// stormed has a storm over policy p whose cool-down ends in so long; nil is one whose cool-down has not begun.
func stormed(left *time.Duration) func(*world) {
	return recorded(func(w *world, l *api.FenceLedger) {
		s := api.Storm{Policy: "p", Since: w.since(time.Hour), Message: "5 of 10 nodes are unhealthy"}
		if left != nil {
			s.CoolDownUntil = stamp(w.now + *left)
		}
		l.Status.Storms = append(l.Status.Storms, s)
	})
}

// another has a second policy with the same nodes, whose limits hold too.
func another(change func(*api.FencePolicySpec)) func(*world) {
	return func(w *world) {
		q := *read[api.FencePolicy](w, policies+"p").DeepCopy()
		q.Name, q.ResourceVersion, q.Spec.Precedence = "q", "", new(int32(200))
		change(&q.Spec)
		w.put(policies+"q", decode(encode(q)))
	}
}

// budgeted has a FenceBudget over all nodes.
func budgeted(s api.FenceBudgetSpec) func(*world) {
	return func(w *world) {
		s.Selector = &api.LabelSelector{}
		w.put(budgets+"b", decode(encode(api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: s})))
	}
}

// strange gives an object a field that nodefence does not know.
func strange(path string) func(*world) {
	return func(w *world) {
		m := decode(w.at(path).raw)
		w.put(path, merge(m, fields{"spec": fields{"strange": true}}))
	}
}

// planes makes nodes the control plane, whose members of etcd are Ready or not, under a policy that minds the quorum.
func planes(ready map[string]bool) func(*world) {
	return func(w *world) {
		for n, is := range ready {
			of(w, nodes+n, func(o *corev1.Node) { o.Labels[api.ControlPlaneLabel] = "" })
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "etcd-" + n, Namespace: "kube-system",
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n, Controller: new(true)}},
				Annotations:     map[string]string{"kubernetes.io/config.source": "file", corev1.MirrorPodAnnotationKey: "x"}, Labels: map[string]string{"component": "etcd", "tier": "control-plane"}}}
			pod.Spec.NodeName, pod.Spec.Containers = n, []corev1.Container{{Command: []string{"etcd", "--name=" + n}}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: map[bool]corev1.ConditionStatus{true: "True", false: "False"}[is]}}
			w.put(etcds+pod.Name, decode(encode(pod)))
		}
		specified(func(s *api.FencePolicySpec) { s.ControlPlane.Fence = new(api.WithQuorum) })(w)
	}
}

// fenced has node a's record keep earlier fences.
func fenced(change func(*world, *api.NodeFenceStatus)) func(*world) {
	return func(w *world) {
		f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a"}, Spec: api.NodeFenceSpec{NodeName: "a"}}
		f.Status = api.NodeFenceStatus{FenceNumber: 1, Phase: api.Finished, Outcome: api.Recovered, MinReaderVersion: api.Schema, PhaseSince: stamp(w.now - time.Hour)}
		f.Status.Decision.NodeUID = "uid-a"
		change(w, &f.Status)
		w.put(fences+"a", decode(encode(f)))
	}
}

// expects has policy p expect so many nodes that are missing, as its status says.
func expects(missing int) func(*world) {
	return func(w *world) {
		of(w, policies+"p", func(p *api.FencePolicy) {
			p.Spec.MissingNodes, p.Status.ObservedAt = &api.MissingNodesRule{}, stamp(w.now)
			for i := range missing {
				name := fmt.Sprintf("m%02d", i)
				p.Spec.MissingNodes.NodeNames = append(p.Spec.MissingNodes.NodeNames, name)
				p.Status.Missing = append(p.Status.Missing, api.MissingNode{NodeName: name, Since: w.since(time.Minute)})
			}
			p.Status.MissingCount = int32(missing)
		})
	}
}

// all plants several.
func all(plants ...func(*world)) func(*world) {
	return func(w *world) {
		for _, p := range plants {
			p(w)
		}
	}
}

// zoned has the limits of policy p hold in each zone too.
func zoned(maxUnhealthy, maxConcurrent int32) func(*world) {
	return limited(func(l *api.Limits) {
		l.MaxUnhealthy, l.MaxConcurrent = new(intstr.FromString("100%")), new(int32(9))
		l.PerDomain = &api.DomainLimits{TopologyKey: zoneLabel, MaxUnhealthy: new(intstr.FromInt32(maxUnhealthy)), MaxConcurrent: new(maxConcurrent)}
	})
}

// windowed has policy p pause each day for an hour.
func windowed(from, zone string) func(*world) {
	return specified(func(s *api.FencePolicySpec) {
		s.PauseWindows = []api.PauseWindowRule{{Start: from, Duration: *api.DurationOf(time.Hour), TimeZone: &zone}}
	})
}

// tainted gives a node a taint.
func tainted(n *corev1.Node, key string) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
}

// failed has policy p see that the Machines of nodes have failed.
func failed(names ...string) func(*world) {
	return func(w *world) {
		of(w, policies+"p", func(p *api.FencePolicy) {
			p.Spec.Machines, p.Status.ObservedAt = &api.MachinesRule{Selector: &api.LabelSelector{}}, stamp(w.now)
			for _, n := range names {
				ref := api.MachineRef{Namespace: "m", Name: n}
				p.Status.FailedMachines = append(p.Status.FailedMachines, api.FailedMachine{MachineRef: ref, NodeName: n, NodeUID: types.UID("uid-" + n), State: "Failed", Since: w.since(time.Minute)})
				w.put(machineKind+n, fields{"metadata": fields{"namespace": "m", "name": n, "uid": "m-" + n, "creationTimestamp": "2026-01-01T00:00:00Z"}, "status": fields{"phase": "Failed", "nodeRef": fields{"name": n}}})
			}
			p.Status.FailedMachinesCount = int32(len(names))
		})
	}
}

// leaves has the Machine of node a be deleted.
func leaves(w *world) {
	marked(func(n *corev1.Node) {
		n.Annotations = map[string]string{"cluster.x-k8s.io/machine": "x", "cluster.x-k8s.io/cluster-namespace": "m"}
	})(w)
	w.put(machinesOfM+"x", fields{"metadata": fields{"namespace": "m", "name": "x", "uid": "m-x", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": fields{"nodeRef": fields{"name": "a"}}})
}

// first has a node begin before node a does: by a slot, or in a dry run by a dry reservation.
func first(node string) func(*world) {
	return func(w *world) {
		runs(node)(w)
		if read[api.FencePolicy](w, policies+"p").Spec.Mode != api.ModeDryRun {
			return
		}
		of(w, fences+node, func(f *api.NodeFence) {
			f.Status.Phase, f.Status.Decision.Settings.Mode = api.Pending, api.ModeDryRun
			f.Status.WouldBeginAt, f.Status.DecidedAt = f.Status.DecidedAt, nil
		})
		recorded(func(_ *world, l *api.FenceLedger) {
			l.Status.DryRuns, l.Status.Reservations = []api.DryReservation{{Reservation: l.Status.Reservations[0]}}, nil
		})(w)
	}
}
