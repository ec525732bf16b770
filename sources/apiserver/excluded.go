package apiserver

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
)

// What excludes a node stands on its Node object, and would be gone with it, while the
// machine may still be fenced as that of a node that is missing. So it is kept with the
// enrolment, Ready or not, for the gate to read there.

// exclusion is who has a node left alone by label: why, in words, for a label or taint of
// the node's own, and by which policies.
type exclusion struct{ why, by string }

// into writes it into an enrolment.
func (x exclusion) into(cm *corev1.ConfigMap) {
	for key, value := range map[string]string{kube.Excluded: x.why, kube.ExcludedBy: x.by} {
		if delete(cm.Data, key); value != "" {
			cm.Data[key] = value
		}
	}
}

// excludes notes which nodes a policy leaves alone by label.
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

// exclusions begins once the policies are known: until then what is enrolled of theirs
// stands.
func (s *Source) exclusions(ctx context.Context, policies cache.InformerSynced) {
	if !cache.WaitForCacheSync(ctx.Done(), policies) {
		return
	}
	s.nodes.exclude()
}

// exclude: the policies are known.
func (n *nodeStore) exclude() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.excluding = true
	n.excludeAllLocked()
}

// excludeAllLocked is excludeLocked for each node.
func (n *nodeStore) excludeAllLocked() {
	for name, v := range n.known {
		n.excludeLocked(name, v)
	}
}

// excludeLocked has the enrolment of a node that is there say who excludes it. What the
// node itself says waits for nobody: it may be gone at once.
func (n *nodeStore) excludeLocked(name string, v nodeView) {
	if !n.excluding {
		n.enrol.exclude(name, wish{exclusion: exclusion{why: v.excluded}, whyOnly: true})
		return
	}
	var by []string
	for p, selector := range n.excluded {
		if policy.Selects(selector, v.labels) {
			by = append(by, p)
		}
	}
	slices.Sort(by)
	n.enrol.exclude(name, wish{exclusion: exclusion{v.excluded, strings.Join(by, " ")}})
}

// wish is what an enrolment is to say of who excludes its node, of the policies only
// where they are known.
type wish struct {
	exclusion
	whyOnly bool
}

// after is what it is to say where it has said was.
func (w wish) after(was exclusion) exclusion {
	if w.whyOnly {
		return exclusion{w.why, was.by}
	}
	return w.exclusion
}

// exclude has it written, if the node is enrolled and says something else. A node that
// is not enrolled is not fenced when it is missing.
func (e *enrolment) exclude(name string, w wish) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wanted[name] = w
	if was, ok := e.known[name]; ok && was.uid != "" && was.excluded != w.after(was.excluded) {
		e.queue.Add(name)
	}
}

// left: the node is gone. What its enrolment is to say is still written.
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
		return err // gone, or none of ours by now
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
		e.queue.Add(name) // it changed while this was written
	}
	return nil
}
