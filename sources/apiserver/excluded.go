package apiserver

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
)

// The labels and taints that exclude a node are on its Node object, and are lost with it.
// The machine may still be fenced as the machine of a missing node. So the enrolment
// records the exclusion too, whether or not the node is Ready, and the gate reads it there.

// exclusion says what excludes a node: why names a label or taint of the node's own, in
// words; by names the policies that exclude it by label. alsoOf names another node that
// reports the same system UUID: the device of such a node is not known by its UUID.
type exclusion struct{ why, by, alsoOf string }

// into writes the exclusion into an enrolment.
func (x exclusion) into(cm *corev1.ConfigMap) {
	for key, value := range map[string]string{kube.Excluded: x.why, kube.ExcludedBy: x.by, kube.EnrolledAlsoOf: x.alsoOf} {
		if delete(cm.Data, key); value != "" {
			cm.Data[key] = value
		}
	}
}

// excludes notes which nodes a policy excludes by label.
func (n *nodeStore) excludes(policy string, nodes *api.ExcludedNodes) {
	var now *api.LabelSelector
	if nodes != nil {
		now = nodes.Selector
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.excluded[policy]
	if delete(n.excluded, policy); now != nil {
		n.excluded[policy] = now
	}
	if !equality.Semantic.DeepEqual(was, now) {
		n.excludeAllLocked()
	}
}

// exclusions starts once the policies are known. Until then, the policies that an enrolment
// names stay in it.
func (s *Source) exclusions(ctx context.Context, policies cache.InformerSynced) {
	if !cache.WaitForCacheSync(ctx.Done(), policies) {
		return
	}
	s.nodes.exclude()
}

// exclude notes that the policies are known.
func (n *nodeStore) exclude() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.excluding = true
	n.excludeAllLocked()
}

// excludeAllLocked calls excludeLocked for each node.
func (n *nodeStore) excludeAllLocked() {
	for name, v := range n.known {
		n.excludeLocked(name, v)
	}
}

// excludeLocked makes the enrolment of an existing node say who excludes the node. The
// node's own label or taint is written without waiting for the policies: the Node may be
// deleted at any moment.
func (n *nodeStore) excludeLocked(name string, v nodeView) {
	if !n.excluding {
		n.enrol.exclude(name, wish{exclusion: exclusion{why: v.excluded, alsoOf: n.alsoOfLocked(name, v)}, whyOnly: true})
		return
	}
	var by []string
	for p, selector := range n.excluded {
		if policy.Selects(selector, v.labels) {
			by = append(by, p)
		}
	}
	slices.Sort(by)
	n.enrol.exclude(name, wish{exclusion: exclusion{v.excluded, strings.Join(by, " "), n.alsoOfLocked(name, v)}})
}

// alsoOfLocked returns another node that reports the same system UUID; empty if none does. It is
// the same one each time, so that an enrolment is not written without need.
func (n *nodeStore) alsoOfLocked(name string, v nodeView) string {
	var other string
	for o := range n.machines[machineKey(v.systemUUID)] {
		if o != name && (other == "" || o < other) {
			other = o
		}
	}
	return other
}

// machineKey is device.MachineKey of a system UUID; empty if the UUID names no machine, whoever
// reports it.
func machineKey(systemUUID string) string {
	if device.SystemUUIDFault(systemUUID, "") != "" {
		return ""
	}
	return device.MachineKey(systemUUID)
}

// mostTold is the largest number of nodes with one system UUID whose enrolments are all written anew when one of
// them changes. With more nodes an enrolment may name a node that reports another UUID since: the UUID is refused
// all the same.
const mostTold = 16

// moveLocked notes that a node reports another system UUID than before. The enrolments of the
// nodes that have either UUID follow.
func (n *nodeStore) moveLocked(name, was, is string) {
	from, to := machineKey(was), machineKey(is)
	if from == to {
		return
	}
	if delete(n.machines[from], name); len(n.machines[from]) == 0 {
		delete(n.machines, from)
	}
	if to != "" {
		if n.machines[to] == nil {
			n.machines[to] = map[string]bool{}
		}
		n.machines[to][name] = true
	}
	for _, key := range []string{from, to} {
		if len(n.machines[key]) > mostTold {
			continue
		}
		for o := range n.machines[key] {
			if v, known := n.known[o]; known && o != name {
				n.excludeLocked(o, v)
			}
		}
	}
}

// wish is what an enrolment should say about who excludes its node. With whyOnly, not all
// policies and nodes are known yet, and the enrolment keeps those that it names.
type wish struct {
	exclusion
	whyOnly bool
}

// after returns what the enrolment should say, if it says was now.
func (w wish) after(was exclusion) exclusion {
	if w.whyOnly {
		return exclusion{w.why, was.by, cmp.Or(w.alsoOf, was.alsoOf)}
	}
	return w.exclusion
}

// exclude queues a write, if the node is enrolled and its enrolment says something else. A
// node that is not enrolled needs none: it is not fenced when it is missing.
func (e *enrolment) exclude(name string, w wish) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wanted[name] = w
	if was, ok := e.known[name]; ok && was.uid != "" && was.excluded != w.after(was.excluded) {
		e.queue.Add(name)
	}
}

// left notes that the node is gone. A pending write of its enrolment is still carried out.
func (e *enrolment) left(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, known := e.known[name]
	if _, waits := e.todo[name]; !known && !waits {
		delete(e.wanted, name)
	}
}

func (e *enrolment) writeExclusion(ctx context.Context, name string) error {
	e.mu.Lock()
	w, wanted := e.wanted[name]
	was, known := e.known[name]
	e.mu.Unlock()
	if !wanted || !known || was.excluded == w.after(was.excluded) {
		return nil
	}
	cm, err := e.client.ConfigMap(ctx, e.namespace, kube.EnrolledName(name))
	if err != nil || cm == nil || cm.Labels[kube.EnrolledLabel] == "" || cm.Data == nil {
		return err // deleted, or no longer written by nodefence
	}
	x := w.after(enrolledIn(cm).excluded)
	x.into(cm)
	if err := e.client.SaveConfigMap(ctx, cm); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if now, ok := e.known[name]; ok {
		now.excluded = x
		e.known[name] = now
	}
	if e.wanted[name] != w {
		e.queue.Add(name) // another change came during the write
	}
	return nil
}
