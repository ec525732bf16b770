package kube

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const fencesPath = group + "/nodefences"

// Fence reads a node's NodeFence; nil when there is none.
func (c *Client) Fence(ctx context.Context, node string) (*api.NodeFence, error) {
	return get[api.NodeFence](ctx, c, fencesPath+"/"+node)
}

// Fences reads all NodeFences.
func (c *Client) Fences(ctx context.Context) ([]api.NodeFence, error) {
	l, err := list[api.NodeFenceList](ctx, c, fencesPath)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// FencesNamed reads the NodeFences of some nodes one by one, all at once, and leaves out those
// that are not there.
func (c *Client) FencesNamed(ctx context.Context, nodes []string) ([]api.NodeFence, error) {
	return eachNamed(c, nodes, func(node string) (*api.NodeFence, error) { return c.Fence(ctx, node) })
}

// CreateFence opens a node's first fence. ErrConflict: somebody else has opened it.
func (c *Client) CreateFence(ctx context.Context, f *api.NodeFence) (*api.NodeFence, error) {
	f.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "NodeFence"}
	return create(ctx, c, fencesPath, f)
}

// SaveFenceStatus writes the whole status, by compare-and-swap. A record of a newer program,
// which says so in its minReaderVersion, never comes here (fence.Foreign).
func (c *Client) SaveFenceStatus(ctx context.Context, f *api.NodeFence) (*api.NodeFence, error) {
	f.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "NodeFence"}
	return update(ctx, c, fencesPath+"/"+f.Name+"/status", f)
}

// ClearRequests prepares a record for a fence that is about to open, by compare-and-swap: it adds
// our finalizer, removes what people asked of an earlier fence, and notes what they aborted
// (NodeFence.WithAborted).
func (c *Client) ClearRequests(ctx context.Context, f *api.NodeFence) (*api.NodeFence, error) {
	meta := map[string]any{"resourceVersion": f.ResourceVersion}
	if !slices.Contains(f.Finalizers, api.Finalizer) {
		meta["finalizers"] = append(slices.Clone(f.Finalizers), api.Finalizer)
	}
	if is := f.WithAborted(); is != "" {
		meta["annotations"] = map[string]any{api.AbortedAnnotation: is}
	} else if f.Annotations[api.AbortedAnnotation] != "" {
		meta["annotations"] = map[string]any{api.AbortedAnnotation: nil}
	}
	return patch[api.NodeFence](ctx, c, mergePatch, fencesPath+"/"+f.Name, map[string]any{
		"metadata": meta, "spec": map[string]any{"requests": fieldsOf(api.Requests{})},
	})
}

// DropFinalizer removes our finalizer, so that the record can be deleted or reopened. It returns the
// record after that, without a resourceVersion if it is gone.
func (c *Client) DropFinalizer(ctx context.Context, f *api.NodeFence) (*api.NodeFence, error) {
	rest := slices.DeleteFunc(slices.Clone(f.Finalizers), func(s string) bool { return s == api.Finalizer })
	now, err := patch[api.NodeFence](ctx, c, mergePatch, fencesPath+"/"+f.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": f.ResourceVersion, "uid": f.UID, "finalizers": rest},
	})
	if err != nil {
		return nil, err
	}
	if now.DeletionTimestamp != nil {
		now.ResourceVersion = ""
	}
	return now, nil
}

// DeleteFence deletes exactly this version of a NodeFence; if it is gone, that is no error.
// ErrConflict: it was written since, for example reopened, and stays.
func (c *Client) DeleteFence(ctx context.Context, name string, uid types.UID, version string) error {
	return c.deleteAsSeen(ctx, fencesPath+"/"+name, uid, version)
}

// MarkWithdrawn notes on a node's record, by compare-and-swap, that a FenceRequest was withdrawn
// before a fence served it. A gate that has read the record before that can no longer open or join
// a fence by it.
func (c *Client) MarkWithdrawn(ctx context.Context, f *api.NodeFence, request types.UID) (*api.NodeFence, error) {
	return patch[api.NodeFence](ctx, c, mergePatch, fencesPath+"/"+f.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": f.ResourceVersion, "uid": f.UID, "annotations": map[string]string{api.WithdrawnAnnotation: f.WithWithdrawn(string(request))},
	}})
}

// MarkAskerWithdrawn notes on a node's record, by compare-and-swap, that a FenceRequest was withdrawn
// while the fence that it asks for goes on. Whoever has read the record before that can no longer claim an
// Off by it.
func (c *Client) MarkAskerWithdrawn(ctx context.Context, f *api.NodeFence, request types.UID) (*api.NodeFence, error) {
	return patch[api.NodeFence](ctx, c, mergePatch, fencesPath+"/"+f.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": f.ResourceVersion, "uid": f.UID, "annotations": map[string]string{api.WithdrawnAskersAnnotation: f.WithAskerWithdrawn(string(request))},
	}})
}

// AbortWithdrawn asks for the end of the fence that this record has, by compare-and-swap, because a
// FenceRequest was withdrawn. It is noted for which one, so that the gate knows that nobody ended the
// fence of a failure (NodeFence.EndedByWithdrawal).
func (c *Client) AbortWithdrawn(ctx context.Context, f *api.NodeFence, request types.UID, abort api.AbortRequest) (*api.NodeFence, error) {
	return patch[api.NodeFence](ctx, c, mergePatch, fencesPath+"/"+f.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": f.ResourceVersion, "uid": f.UID, "annotations": map[string]string{api.WithdrawnAnnotation: f.WithWithdrawn(string(request))}},
		"spec":     map[string]any{"requests": map[string]any{"abort": abort}},
	})
}

func fenceRequestsPath(namespace string) string {
	return group + "/namespaces/" + namespace + "/fencerequests"
}

// FenceRequest reads a FenceRequest; nil when there is none.
func (c *Client) FenceRequest(ctx context.Context, namespace, name string) (*api.FenceRequest, error) {
	return get[api.FenceRequest](ctx, c, fenceRequestsPath(namespace)+"/"+name)
}

// NodeHealthCheck reads a NodeHealthCheck of medik8s, as the API server sends it; nil if there is none, or no such
// kind, or if the name could be another path.
func (c *Client) NodeHealthCheck(ctx context.Context, name string) (json.RawMessage, error) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, nil
	}
	raw, err := get[json.RawMessage](ctx, c, "/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks/"+name)
	if raw == nil {
		return nil, err
	}
	return *raw, err
}

// FenceRequests reads all FenceRequests of a namespace. A cluster without this kind has none.
func (c *Client) FenceRequests(ctx context.Context, namespace string) ([]api.FenceRequest, error) {
	l, err := list[api.FenceRequestList](ctx, c, fenceRequestsPath(namespace))
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return l.Items, nil
}

// mostRequests bounds a list of the FenceRequests of all namespaces: who may create them in one namespace
// must not make the list as long as they like.
const mostRequests = "500"

// AllFenceRequests reads the first 500 FenceRequests of all namespaces. A cluster without this kind has none.
func (c *Client) AllFenceRequests(ctx context.Context) ([]api.FenceRequest, error) {
	l, err := list[api.FenceRequestList](ctx, c, group+"/fencerequests", "limit", mostRequests)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return l.Items, nil
}

// SaveFenceRequestStatus writes the status of one by compare-and-swap.
func (c *Client) SaveFenceRequestStatus(ctx context.Context, r *api.FenceRequest) (*api.FenceRequest, error) {
	return saveStatus[api.FenceRequest](ctx, c, fenceRequestsPath(r.Namespace)+"/"+r.Name, r.ObjectMeta, fieldsOf(r.Status))
}

// HoldFenceRequest adds our finalizer, or removes it, by compare-and-swap. Without it a FenceRequest
// that is deleted is gone; that is no error.
func (c *Client) HoldFenceRequest(ctx context.Context, r *api.FenceRequest, hold bool) (*api.FenceRequest, error) {
	finalizers := slices.DeleteFunc(slices.Clone(r.Finalizers), func(s string) bool { return s == api.RequestFinalizer })
	if hold {
		finalizers = append(finalizers, api.RequestFinalizer)
	}
	made, err := patch[api.FenceRequest](ctx, c, mergePatch, fenceRequestsPath(r.Namespace)+"/"+r.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": r.ResourceVersion, "uid": r.UID, "finalizers": finalizers},
	})
	if !hold && apierrors.IsNotFound(err) {
		return r, nil
	}
	return made, err
}
