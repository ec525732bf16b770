package apiserver

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nodefence/nodefence/shared/kube"
)

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

func (e *enrolment) put(name string, v nodeView) {
	e.mu.Lock()
	defer e.mu.Unlock()
	says := machine{v.systemUUID, v.providerID}
	if was, ok := e.known[name]; ok && was.uid == v.uid && was.role == v.role && !was.is.lacks(says) {
		if says != was.is && says != was.said {
			e.log.Warn("the node claims to be another machine than the enrolled one; the enrolment is kept",
				"node", name, "enrolled", was.is.systemUUID, "says", v.systemUUID,
				"enrolledProviderID", was.is.providerID, "saysProviderID", v.providerID)
			was.said = says
			e.known[name] = was
		}
		return
	}
	if e.hasNoName(name) {
		return
	}
	e.todo[name] = v
	e.queue.Add(name)
}

// hasNoName tells whether a node's name is too long for an enrolment beside it, and says so once.
func (e *enrolment) hasNoName(node string) bool {
	longest := validation.DNS1123SubdomainMaxLength - len(kube.EnrolledName(""))
	if len(node) <= longest {
		return false
	}
	if !e.tooLong[node] {
		e.tooLong[node] = true
		e.log.Error("the node can't be enrolled: its name is too long for a ConfigMap beside it, so no answer of its device is compared with its machine, and it is not fenced once its Node object is gone; register it under a shorter name",
			"node", node, "letters", len(node), "longest", longest)
	}
	return true
}

func (e *enrolment) run(ctx context.Context) {
	go func() { <-ctx.Done(); e.queue.ShutDown() }()
	for {
		name, down := e.queue.Get()
		if down {
			return
		}
		if err := e.write(ctx, name); err != nil && ctx.Err() == nil {
			e.log.Warn("cannot enrol the node; trying again", "node", name, "error", err.Error())
			e.queue.AddRateLimited(name)
		} else {
			e.queue.Forget(name)
		}
		e.queue.Done(name)
	}
}

func (e *enrolment) write(ctx context.Context, name string) error {
	e.mu.Lock()
	v, ok := e.todo[name]
	deleted := e.deleted
	e.mu.Unlock()
	if !ok {
		return e.writeExclusion(ctx, name)
	}
	cm := e.of(name, v)
	stands := cm
	err := e.client.CreateConfigMap(ctx, cm)
	if errors.Is(err, kube.ErrConflict) {
		stands, err = e.replace(ctx, cm)
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	if e.deleted != deleted { // the deleted one may be this one, and the watch tells us before the write returns
		e.mu.Unlock()
		e.queue.Add(name)
		return nil
	}
	now, was := enrolledIn(stands), e.known[name]
	now.object, now.version, now.gone = was.object, was.version, was.gone // the watch sets these
	e.known[name] = now
	latest := e.todo[name]
	delete(e.todo, name)
	e.mu.Unlock()
	if stands == cm {
		e.log.Info("enrolled", "node", name, "systemUUID", v.systemUUID, "providerID", v.providerID)
	}
	e.put(name, latest) // enrols again if the node has changed since, or says something else than the enrolment
	return e.writeExclusion(ctx, name)
}

// of returns the enrolment of a node.
func (e *enrolment) of(name string, v nodeView) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: kube.EnrolledName(name), Namespace: e.namespace, Labels: map[string]string{kube.EnrolledLabel: "true"},
		},
		Data: map[string]string{"node_name": name, "node_uid": v.uid, "system_uuid": v.systemUUID, "provider_id": v.providerID},
	}
	if v.role != "" {
		cm.Data["role"] = v.role
	}
	return cm
}

// replace overwrites the enrolment of an earlier Node object. In the enrolment of the same
// Node object it adds only a missing provider ID, and sets the role. It returns the
// enrolment as it then stands.
func (e *enrolment) replace(ctx context.Context, cm *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	old, err := e.client.ConfigMap(ctx, cm.Namespace, cm.Name)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, fmt.Errorf("enrol %s: %w", cm.Name, kube.ErrConflict) // deleted meanwhile: the next try creates it
	}
	if old.Data["node_uid"] == cm.Data["node_uid"] {
		was, is := enrolledIn(old), enrolledIn(cm)
		if !was.is.lacks(is.is) && was.role == is.role {
			return old, nil
		}
		if was.is.lacks(is.is) {
			old.Data["provider_id"] = cm.Data["provider_id"]
		}
		if is.role != "" {
			old.Data["role"] = is.role
		}
		return old, e.client.SaveConfigMap(ctx, old)
	}
	cm.ResourceVersion = old.ResourceVersion
	enrolledIn(old).excluded.into(cm) // kept until the policies that exclude this node are known
	return cm, e.client.SaveConfigMap(ctx, cm)
}
