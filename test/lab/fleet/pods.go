package fleet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (l *lab) podsOn(node string) []*corev1.Pod {
	objs, err := l.pods.ByIndex("node", node)
	if err != nil {
		return nil
	}
	var all []*corev1.Pod
	for _, o := range objs {
		if p, ok := o.(*corev1.Pod); ok {
			all = append(all, p)
		}
	}
	return all
}

// sync makes what runs here what the API server wants to run here.
func (m *machine) sync(net context.Context) {
	wanted := map[string]bool{}
	for _, p := range m.lab.podsOn(m.name) {
		wanted[string(p.UID)] = true
		switch {
		case net.Err() != nil:
			return
		case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		case p.DeletionTimestamp != nil:
			m.end(string(p.UID))
			m.delete(net, p)
		default:
			m.run(net, p)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if net.Err() != nil {
		return // cut off meanwhile: what was wanted is not known any more
	}
	for uid, c := range m.running {
		if !wanted[uid] {
			m.stop(c)
			delete(m.running, uid)
		}
	}
}

func (m *machine) end(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.running[uid]; c != nil {
		m.stop(c)
		delete(m.running, uid)
	}
}

func (m *machine) delete(net context.Context, p *corev1.Pod) {
	now := int64(0)
	_ = m.lab.client.CoreV1().Pods(p.Namespace).Delete(net, p.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID},
	})
}

// run starts a pod as soon as its volumes are attached here, and reports it.
func (m *machine) run(net context.Context, p *corev1.Pod) {
	volumes := m.lab.volumesOf(p)
	for _, v := range volumes {
		if !v.bound || !m.lab.isAttached(v.pv, m.name) {
			return
		}
	}
	m.mu.Lock()
	if net.Err() != nil {
		m.mu.Unlock()
		return
	}
	if m.running[string(p.UID)] == nil {
		c := &container{key: p.Namespace + "/" + p.Name}
		for _, v := range volumes {
			c.volumes = append(c.volumes, v.handle)
			c.writes = append(c.writes, m.lab.writers.begin(v.handle, m.systemUUID, m.name, c.key))
		}
		m.running[string(p.UID)] = c
	}
	boots := m.boots
	m.mu.Unlock()
	m.reportPod(net, p, boots)
}

// reportPod writes the pod's status where it is not Running and Ready yet.
func (m *machine) reportPod(net context.Context, p *corev1.Pod, boots int) {
	id := fmt.Sprintf("lab://%s-%d", p.UID, boots)
	if p.Status.Phase == corev1.PodRunning && isReady(p) && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].ContainerID == id {
		return
	}
	p = p.DeepCopy()
	now := metav1.Now()
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &now
	p.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", 64+m.index/250, m.index%250, 2+len(p.UID)%200)
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	p.Status.ContainerStatuses = nil
	yes := true
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: &yes, ContainerID: id,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	for _, t := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		setPodCondition(&p.Status, t, now)
	}
	_, _ = m.lab.client.CoreV1().Pods(p.Namespace).UpdateStatus(net, p, metav1.UpdateOptions{})
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func setPodCondition(s *corev1.PodStatus, typ corev1.PodConditionType, now metav1.Time) {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == typ {
			if c.Status != corev1.ConditionTrue {
				c.Status, c.LastTransitionTime, c.Reason = corev1.ConditionTrue, now, ""
			}
			return
		}
	}
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: typ, Status: corev1.ConditionTrue, LastTransitionTime: now})
}
