package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// The objects of Fence Agents Remediation, which nodefence answers as they are.

func farPath(namespace, kinds string) string {
	return "/apis/" + far.GroupVersion + "/namespaces/" + namespace + "/" + kinds
}

const (
	fars         = "fenceagentsremediations"
	farTemplates = "fenceagentsremediationtemplates"
)

// FARs reads the FenceAgentsRemediations of a namespace. served is false in a cluster without this
// kind.
func (c *Client) FARs(ctx context.Context, namespace string) (all []far.Object, served bool, err error) {
	return itemsOf[far.Object](ctx, c, farPath(namespace, fars))
}

// AllFARs reads the first 500 FenceAgentsRemediations of all namespaces, or their templates, and of each
// nothing but its metadata, because passwords may stand in its spec. A cluster without this kind has none.
func (c *Client) AllFARs(ctx context.Context, kind string) ([]metav1.ObjectMeta, error) {
	const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	path := "/apis/" + far.GroupVersion + "/" + map[string]string{far.Kind: fars, far.TemplateKind: farTemplates}[kind]
	r, err := listRaw(ctx, c, metadata, path, "limit", mostRequests)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	l, err := decode[struct {
		Items []struct {
			metav1.ObjectMeta `json:"metadata"`
		} `json:"items"`
	}](r, path)
	if err != nil {
		return nil, err
	}
	all := make([]metav1.ObjectMeta, len(l.Items))
	for i := range l.Items {
		all[i] = l.Items[i].ObjectMeta
	}
	return all, nil
}

// FARTemplates reads the FenceAgentsRemediationTemplates of a namespace; none in a cluster without
// this kind.
func (c *Client) FARTemplates(ctx context.Context, namespace string) ([]far.Template, error) {
	all, _, err := itemsOf[far.Template](ctx, c, farPath(namespace, farTemplates))
	return all, err
}

// itemsOf lists a kind of others, which a cluster need not have.
func itemsOf[T any](ctx context.Context, c *Client, path string) (all []T, served bool, err error) {
	l, err := list[struct {
		Items []T `json:"items"`
	}](ctx, c, path)
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return l.Items, true, nil
}

// FAR reads a FenceAgentsRemediation; nil when there is none.
func (c *Client) FAR(ctx context.Context, namespace, name string) (*far.Object, error) {
	return get[far.Object](ctx, c, farPath(namespace, fars)+"/"+name)
}

// FARTemplate reads a FenceAgentsRemediationTemplate; nil when there is none.
func (c *Client) FARTemplate(ctx context.Context, namespace, name string) (*far.Template, error) {
	return get[far.Template](ctx, c, farPath(namespace, farTemplates)+"/"+name)
}

// SaveFARStatus writes the status of one by compare-and-swap: ErrConflict says that somebody else
// wrote first. What nodefence does not know of the status stays.
func (c *Client) SaveFARStatus(ctx context.Context, o *far.Object, st far.Status) (*far.Object, error) {
	return patch[far.Object](ctx, c, mergePatch, farPath(o.Namespace, fars)+"/"+o.Name+"/status", map[string]any{
		"metadata": map[string]any{"resourceVersion": o.ResourceVersion, "uid": o.UID}, "status": st,
	})
}

// SaveFARTemplateStatus writes the status of a template by compare-and-swap, and of its maps only what
// differs.
func (c *Client) SaveFARTemplateStatus(ctx context.Context, t *far.Template, st far.TemplateStatus) error {
	return c.patchOnly(ctx, mergePatch, farPath(t.Namespace, farTemplates)+"/"+t.Name+"/status", map[string]any{
		"metadata": map[string]any{"resourceVersion": t.ResourceVersion, "uid": t.UID},
		"status": map[string]any{
			"conditions":       st.Conditions,
			"validationFailed": changes(t.Status.ValidationFailed, st.ValidationFailed),
			"validationPassed": changes(t.Status.ValidationPassed, st.ValidationPassed),
		},
	})
}

// changes are what a merge patch says of a map that was one thing and is to be another; nil removes it.
func changes(was, is map[string]string) map[string]any {
	if len(is) == 0 {
		return nil
	}
	out := map[string]any{}
	for key, value := range is {
		if had, ok := was[key]; !ok || had != value {
			out[key] = value
		}
	}
	for key := range was {
		if _, ok := is[key]; !ok {
			out[key] = nil
		}
	}
	return out
}

// HoldFAR adds its finalizer, and notes the node that it is about, or removes the finalizer, by
// compare-and-swap. Without it an object that is deleted is gone; that is no error.
func (c *Client) HoldFAR(ctx context.Context, o *far.Object, node string, hold bool) (*far.Object, error) {
	finalizers := slices.DeleteFunc(slices.Clone(o.Finalizers), func(s string) bool { return s == far.Finalizer })
	change := map[string]any{"resourceVersion": o.ResourceVersion, "uid": o.UID}
	if hold {
		finalizers = append(finalizers, far.Finalizer)
		change["annotations"] = map[string]string{far.KeptNode: node}
	}
	change["finalizers"] = finalizers
	made, err := patch[far.Object](ctx, c, mergePatch, farPath(o.Namespace, fars)+"/"+o.Name, map[string]any{"metadata": change})
	if !hold && apierrors.IsNotFound(err) {
		return o, nil
	}
	return made, err
}

// silent finds the name of a webhook that the API server could not call.
var silent = regexp.MustCompile(`failed calling webhook "([^"]+)"`)

// SilentWebhook names the webhook because of which the API server has refused a write: it could not be
// called, or did not answer. Empty if err says something else. The API server has no field for that: its
// answer is an InternalError with the words of ErrCallingWebhook (k8s.io/apiserver/pkg/util/webhook).
func SilentWebhook(err error) string {
	if !apierrors.IsInternalError(err) {
		return ""
	}
	if m := silent.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return ""
}

// MarkFAR places the taint that says that a FenceAgentsRemediation about the node lives, or removes
// it. Every other taint stays as it is (S22).
func (c *Client) MarkFAR(ctx context.Context, node string, uid types.UID, placed bool) error {
	return c.updateMarks(ctx, node, uid, "", func(n *rawNode) (marks, error) {
		rest, found := withoutTaint(n.Spec.Taints, far.Taint, "")
		if found == placed {
			return marks{}, nil
		}
		if placed {
			raw, err := json.Marshal(corev1.Taint{Key: far.Taint, Effect: corev1.TaintEffectNoSchedule})
			if err != nil {
				return marks{}, fmt.Errorf("encode taint: %w", err)
			}
			rest = append(rest, raw)
		}
		return marks{taints: rest, changeTaints: true}, nil
	})
}

// TellFAR writes an Event about a FenceAgentsRemediation, or a template. Its name is made of what it says, so that
// the same is told once, by whichever process and however often it is tried.
func (c *Client) TellFAR(ctx context.Context, kind string, o *metav1.ObjectMeta, e far.Event, reporter string) error {
	now, typ := metav1.NewTime(c.clock.Now()), corev1.EventTypeNormal
	if e.Warning {
		typ = corev1.EventTypeWarning
	}
	sum := sha256.Sum256([]byte(string(o.UID) + "\n" + e.Reason + "\n" + e.Message))
	_, err := create(ctx, c, "/api/v1/namespaces/"+o.Namespace+"/events", &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Name: o.Name[:min(len(o.Name), 200)] + "." + hex.EncodeToString(sum[:8]), Namespace: o.Namespace},
		InvolvedObject: corev1.ObjectReference{Kind: kind, APIVersion: far.GroupVersion, Namespace: o.Namespace, Name: o.Name, UID: o.UID},
		Type:           typ, Reason: e.Reason, Message: clip.Message("[remediation] " + e.Message),
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source:              corev1.EventSource{Component: "nodefence-" + reporter},
		ReportingController: "nodefence.io/" + reporter, ReportingInstance: reporter,
	})
	if isConflict(err) {
		return nil
	}
	return err
}

// CreateFenceRequest creates one. ErrConflict: it already exists.
func (c *Client) CreateFenceRequest(ctx context.Context, r *api.FenceRequest) error {
	meta := map[string]any{"name": r.Name, "annotations": r.Annotations, "ownerReferences": r.OwnerReferences}
	body := map[string]any{"apiVersion": api.GroupVersion.String(), "kind": "FenceRequest", "metadata": meta, "spec": r.Spec}
	_, err := create(ctx, c, fenceRequestsPath(r.Namespace), &body)
	return err
}

// DeleteFenceRequest deletes the FenceRequest with this UID. One that is gone is no error.
func (c *Client) DeleteFenceRequest(ctx context.Context, r *api.FenceRequest) error {
	return c.deleteObject(ctx, fenceRequestsPath(r.Namespace)+"/"+r.Name, deletionOf(r.UID))
}

// TimeOutFenceRequest notes on a FenceRequest that NodeHealthCheck gave it up.
func (c *Client) TimeOutFenceRequest(ctx context.Context, r *api.FenceRequest, words string) error {
	return c.patchOnly(ctx, mergePatch, fenceRequestsPath(r.Namespace)+"/"+r.Name, map[string]any{"metadata": map[string]any{
		"uid": r.UID, "annotations": map[string]string{api.TimedOutAnnotation: words},
	}})
}

// LeasesNamed reads the Leases of one name in all namespaces.
func (c *Client) LeasesNamed(ctx context.Context, name string) ([]coordinationv1.Lease, error) {
	l, err := list[coordinationv1.LeaseList](ctx, c, "/apis/coordination.k8s.io/v1/leases", "fieldSelector", "metadata.name="+name)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}
