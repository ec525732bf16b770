package slim

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
)

// GoneSince is an annotation on the enrolment of a node that is gone: when the source first
// saw that it was gone, by the API server's clock (S30), in the form of time.RFC3339. It is
// kept there because no process runs for as long as the enrolment of such a node is kept.
const GoneSince = "nodefence.io/node-gone-since"

// Each of these functions is the transform of one watch (cache.TransformFunc). It returns an
// object of another type as it is, and never an error.

// Node keeps what identifies the Node and its machine, the labels, the conditions, the taints by
// which nodefence isolates a node or by which a node is left alone, and the annotation that says
// whose the out-of-service taint is.
func Node(obj any) (any, error) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	slim := &corev1.Node{}
	slim.Name, slim.UID, slim.ResourceVersion, slim.CreationTimestamp = n.Name, n.UID, n.ResourceVersion, n.CreationTimestamp
	slim.Spec.ProviderID, slim.Status.Conditions = n.Spec.ProviderID, n.Status.Conditions
	slim.Status.NodeInfo.SystemUUID, slim.Labels = n.Status.NodeInfo.SystemUUID, n.Labels
	if by := n.Annotations[api.OutOfServiceBy]; by != "" {
		slim.Annotations = map[string]string{api.OutOfServiceBy: by}
	}
	for _, t := range n.Spec.Taints {
		if t.Key == api.IsolationTaint || t.Key == look.MaintenanceTaint {
			slim.Spec.Taints = append(slim.Spec.Taints, t)
		}
	}
	return slim, nil
}

// Lease keeps the time of the last renewal and the duration.
func Lease(obj any) (any, error) {
	l, ok := obj.(*coordinationv1.Lease)
	if !ok {
		return obj, nil
	}
	slim := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		RenewTime: l.Spec.RenewTime, LeaseDurationSeconds: l.Spec.LeaseDurationSeconds,
	}}
	slim.Name, slim.Namespace, slim.ResourceVersion = l.Name, l.Namespace, l.ResourceVersion
	return slim, nil
}

// Fence drops the managed fields, the history and the earlier fences of the node. It changes
// the object that it is given.
func Fence(obj any) (any, error) {
	f, ok := obj.(*api.NodeFence)
	if !ok {
		return obj, nil
	}
	f.ManagedFields, f.Status.History, f.Status.Past = nil, nil, nil
	return f, nil
}

// Policy keeps what says which nodes a FencePolicy is about, how it counts them, and who paused it.
func Policy(obj any) (any, error) {
	p, ok := obj.(*api.FencePolicy)
	if !ok {
		return obj, nil
	}
	slim := &api.FencePolicy{}
	slim.Name, slim.UID, slim.ResourceVersion, slim.Generation = p.Name, p.UID, p.ResourceVersion, p.Generation
	slim.DeletionTimestamp = p.DeletionTimestamp
	slim.Spec.MissingNodes, slim.Spec.Exclude = p.Spec.MissingNodes, p.Spec.Exclude
	slim.Spec.Selector, slim.Spec.Precedence, slim.Spec.Mode = p.Spec.Selector, p.Spec.Precedence, p.Spec.Mode
	slim.Spec.PauseRequests, slim.Spec.ControlPlane = p.Spec.PauseRequests, p.Spec.ControlPlane
	slim.Spec.PauseChanged, slim.ManagedFields = p.Spec.PauseChanged, p.ManagedFields
	slim.Spec.Limits.PerDomain = p.Spec.Limits.PerDomain
	slim.Status.Missing, slim.Status.FailedMachines = p.Status.Missing, p.Status.FailedMachines
	slim.NotUnderstood = p.NotUnderstood
	return slim, nil
}

// Ledger keeps the spec, which people write, and who wrote it.
func Ledger(obj any) (any, error) {
	l, ok := obj.(*api.FenceLedger)
	if !ok {
		return obj, nil
	}
	slim := &api.FenceLedger{Spec: l.Spec}
	slim.Name, slim.UID, slim.ResourceVersion, slim.Generation = l.Name, l.UID, l.ResourceVersion, l.Generation
	slim.ManagedFields = l.ManagedFields
	return slim, nil
}

// ProblemPolicy keeps the rules.
func ProblemPolicy(obj any) (any, error) {
	p, ok := obj.(*api.NodeProblemPolicy)
	if !ok {
		return obj, nil
	}
	slim := &api.NodeProblemPolicy{}
	slim.Name, slim.UID, slim.ResourceVersion = p.Name, p.UID, p.ResourceVersion
	slim.Spec.Rules = p.Spec.Rules // also of one that is not understood: the gate says so once it hears a report
	return slim, nil
}

// PodReport keeps what Report keeps of an Event, and which host reported it. It cuts the
// message as shortened does.
func PodReport(obj any) (any, error) {
	ev, ok := obj.(*corev1.Event)
	if !ok {
		return obj, nil
	}
	kept, err := Report(ev)
	if slim, ok := kept.(*corev1.Event); ok {
		slim.Source.Host, slim.ReportingInstance, slim.Message = ev.Source.Host, ev.ReportingInstance, shortened(ev.Message)
	}
	return kept, err
}

// shortened cuts a message to the length that is sent.
func shortened(s string) string {
	if len(s) > 4*events.MaxMessage {
		return s[:4*events.MaxMessage]
	}
	return s
}

// Report keeps what is sent of a Kubernetes Event about a problem.
func Report(obj any) (any, error) {
	ev, ok := obj.(*corev1.Event)
	if !ok {
		return obj, nil
	}
	slim := &corev1.Event{
		InvolvedObject: ev.InvolvedObject, Source: corev1.EventSource{Component: ev.Source.Component},
		ReportingController: ev.ReportingController, Reason: ev.Reason, Message: ev.Message, Type: ev.Type,
		FirstTimestamp: ev.FirstTimestamp, LastTimestamp: ev.LastTimestamp, EventTime: ev.EventTime,
		Count: ev.Count, Series: ev.Series,
	}
	slim.Name, slim.Namespace, slim.UID, slim.ResourceVersion = ev.Name, ev.Namespace, ev.UID, ev.ResourceVersion
	slim.CreationTimestamp = ev.CreationTimestamp
	return slim, nil
}

// Target drops the managed fields of a FenceTarget, and its binding except for the version of
// the ConfigMaps. It changes the object that it is given.
func Target(obj any) (any, error) {
	if t, ok := obj.(*api.FenceTarget); ok {
		t.ManagedFields = nil
		if b := t.Status.Binding; b != nil {
			t.Status.Binding = &api.TargetBinding{ConfigsVersion: b.ConfigsVersion}
		}
	}
	return obj, nil
}

// Request drops the managed fields and the conditions' messages of a FenceRequest. It changes the
// object that it is given.
func Request(obj any) (any, error) {
	if r, ok := obj.(*api.FenceRequest); ok {
		r.ManagedFields = nil
		for i := range r.Status.Conditions {
			r.Status.Conditions[i].Message = ""
		}
	}
	return obj, nil
}

// Budget keeps the selector.
func Budget(obj any) (any, error) {
	b, ok := obj.(*api.FenceBudget)
	if !ok {
		return obj, nil
	}
	slim := &api.FenceBudget{}
	slim.Name, slim.UID, slim.ResourceVersion, slim.Generation = b.Name, b.UID, b.ResourceVersion, b.Generation
	slim.Spec.Selector = b.Spec.Selector
	return slim, nil
}

// Enrolment keeps the data of enrolments. It drops the data of all other ConfigMaps, which may
// have passwords in them (S29: no secret is shown).
func Enrolment(obj any) (any, error) {
	cm, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return obj, nil
	}
	slim := &corev1.ConfigMap{}
	slim.Name, slim.Namespace, slim.ResourceVersion, slim.UID = cm.Name, cm.Namespace, cm.ResourceVersion, cm.UID
	if is := cm.Labels[kube.EnrolledLabel]; is != "" {
		slim.Labels, slim.Data = map[string]string{kube.EnrolledLabel: is}, cm.Data // an informer may call the transform twice for one object
		if at := cm.Annotations[GoneSince]; at != "" {
			slim.Annotations = map[string]string{GoneSince: at}
		}
	}
	return slim, nil
}
