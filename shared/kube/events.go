package kube

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// Event is one Kubernetes Event.
type Event struct {
	// Namespace is that of the object, and of the Event; if empty, the object has none, and the
	// Event is in namespace default.
	Namespace              string
	Kind, APIVersion, Name string
	UID                    types.UID
	// Topic stands in brackets before the message; fence if empty.
	Topic string
	// Every, if set, has the Event written once in so long a time, by whichever process.
	Every           time.Duration
	Warning         bool
	Reason, Message string
	Reporter        string
}

// NodeEvents reads what was reported about a node as Kubernetes Events. They are in namespace
// default; in another namespace, others may write them.
func (c *Client) NodeEvents(ctx context.Context, node string) ([]corev1.Event, error) {
	l, err := list[corev1.EventList](ctx, c, "/api/v1/namespaces/default/events",
		"fieldSelector", "involvedObject.kind=Node,involvedObject.name="+node)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// PodEvents reads what was reported about pods with one reason, in all namespaces.
func (c *Client) PodEvents(ctx context.Context, reason string) ([]corev1.Event, error) {
	l, err := list[corev1.EventList](ctx, c, "/api/v1/events", "fieldSelector", "involvedObject.kind=Pod,reason="+reason)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// PostEvent creates an Event. Its loss is harmless, so callers may ignore the error.
func (c *Client) PostEvent(ctx context.Context, e Event) error {
	now := metav1.NewTime(c.clock.Now())
	typ := corev1.EventTypeNormal
	if e.Warning {
		typ = corev1.EventTypeWarning
	}
	namespace := cmp.Or(e.Namespace, metav1.NamespaceDefault)
	meta := metav1.ObjectMeta{GenerateName: e.Name + ".", Namespace: namespace}
	if e.Every > 0 {
		meta.GenerateName, meta.Name = "", e.nameAt(now.Time)
	}
	_, err := create(ctx, c, "/api/v1/namespaces/"+namespace+"/events", &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     meta,
		InvolvedObject: corev1.ObjectReference{Kind: e.Kind, APIVersion: e.APIVersion, Namespace: e.Namespace, Name: e.Name, UID: e.UID},
		Type:           typ, Reason: e.Reason, Message: "[" + cmp.Or(e.Topic, "fence") + "] " + e.Message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source:              corev1.EventSource{Component: "nodefence-" + e.Reporter},
		ReportingController: "nodefence.io/" + e.Reporter, ReportingInstance: e.Reporter,
	})
	if e.Every > 0 && isConflict(err) {
		return nil
	}
	return err
}

// nameAt is the name of an Event that is written once in e.Every.
func (e Event) nameAt(now time.Time) string {
	sum := sha256.Sum256([]byte(e.Kind + "\n" + string(e.UID) + "\n" + e.Name + "\n" + e.Reporter + "\n" + e.Reason + "\n" + now.UTC().Truncate(e.Every).String()))
	return clip.To(200, e.Name) + "." + hex.EncodeToString(sum[:8])
}

// ReportOnce writes an Event about a node under a fixed name, so that the same report is written
// only once.
func (c *Client) ReportOnce(ctx context.Context, n *corev1.Node, reporter, name, reason, instance, message string) error {
	now := metav1.NewTime(c.clock.Now())
	_, err := create(ctx, c, "/api/v1/namespaces/default/events", &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: n.Name, UID: n.UID},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: "[fence] " + message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source:              corev1.EventSource{Component: "nodefence-" + reporter},
		ReportingController: "nodefence.io/" + reporter, ReportingInstance: instance,
	})
	if isConflict(err) {
		return nil
	}
	return err
}

// ReportAbout writes an Event about a MachineHealthCheck, beside it, under a fixed name, so that the same
// report is written only once.
func (c *Client) ReportAbout(ctx context.Context, o corev1.ObjectReference, reporter, name, reason, message string, warning bool) error {
	return c.MachinesAt().Client.reportAbout(ctx, o, reporter, name, reason, "[fence] "+message, warning)
}

// ReportFenceRequest writes a warning about a FenceRequest, beside it. Its name is made of what it says, so
// that the same is written once, by whichever process.
func (c *Client) ReportFenceRequest(ctx context.Context, r *api.FenceRequest, reporter, reason, message string) error {
	about := corev1.ObjectReference{APIVersion: api.GroupVersion.String(), Kind: "FenceRequest", Namespace: r.Namespace, Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion}
	sum := sha256.Sum256([]byte(string(r.UID) + "\n" + reason + "\n" + message))
	return c.reportAbout(ctx, about, reporter, clip.To(200, r.Name)+"."+hex.EncodeToString(sum[:8]), reason, clip.Message("[remediation] "+message), true)
}

func (c *Client) reportAbout(ctx context.Context, o corev1.ObjectReference, reporter, name, reason, message string, warning bool) error {
	now := metav1.NewTime(c.clock.Now())
	typ := corev1.EventTypeNormal
	if warning {
		typ = corev1.EventTypeWarning
	}
	_, err := create(ctx, c, "/api/v1/namespaces/"+o.Namespace+"/events", &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Name: name, Namespace: o.Namespace},
		InvolvedObject: o, Type: typ, Reason: reason, Message: message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source:              corev1.EventSource{Component: "nodefence-" + reporter},
		ReportingController: "nodefence.io/" + reporter, ReportingInstance: reporter,
	})
	if isConflict(err) {
		return nil
	}
	return err
}
