package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	group        = "/apis/nodefence.io/v1alpha1"
	fencesPath   = group + "/nodefences"
	policiesPath = group + "/fencepolicies"
	ledgersPath  = group + "/fenceledgers"
	ledgerStatus = ledgersPath + "/" + api.LedgerName + "/status"
	budgetsPath  = group + "/fencebudgets"
	problemsPath = group + "/nodeproblempolicies"
	targetsPath  = group + "/fencetargets"
	leasesPath   = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	nodesPath    = "/api/v1/nodes"
)

// Node reads a node; nil when there is none. Node, Lease, Policy and Ledger may
// answer from what this process has seen a moment ago (see Begin).
func (c *Client) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return glimpse[corev1.Node](ctx, c, nodesPath+"/"+name)
}

// Nodes reads all nodes.
func (c *Client) Nodes(ctx context.Context) ([]corev1.Node, error) {
	l, err := list[corev1.NodeList](ctx, c, nodesPath)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// Lease reads a node's Lease; nil when there is none.
func (c *Client) Lease(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	return glimpse[coordinationv1.Lease](ctx, c, leasesPath+"/"+node)
}

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

// CreateFence opens a node's first fence. ErrConflict: somebody else did.
func (c *Client) CreateFence(ctx context.Context, f *api.NodeFence) (*api.NodeFence, error) {
	f.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "NodeFence"}
	return post(ctx, c, fencesPath, f)
}

// SaveStatus writes the status whole, by compare-and-swap. One of a newer program, which
// says so in its minReaderVersion, never comes here (fence.Foreign).
func (c *Client) SaveStatus(ctx context.Context, f *api.NodeFence) (*api.NodeFence, error) {
	f.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "NodeFence"}
	return put(ctx, c, fencesPath+"/"+f.Name+"/status", f)
}

// Policy reads a FencePolicy; nil when there is none.
func (c *Client) Policy(ctx context.Context, name string) (*api.FencePolicy, error) {
	return glimpse[api.FencePolicy](ctx, c, policiesPath+"/"+name)
}

// Policies reads all FencePolicies.
func (c *Client) Policies(ctx context.Context) ([]api.FencePolicy, error) {
	at := c.clock.elapsed()
	r, err := collection(ctx, c, policiesPath)
	if err != nil {
		return nil, err
	}
	l, err := decode[api.FencePolicyList](r, policiesPath)
	if err != nil {
		return nil, err
	}
	// As the API server gave it: what this program does not understand of a policy is not
	// in what it would write of it.
	if raw, err := r.Raw(); err == nil {
		c.remember(ctx, policiesPath, raw, at)
	}
	return l.Items, nil
}

// PoliciesSeen is Policies, unless this process has listed them a moment ago.
func (c *Client) PoliciesSeen(ctx context.Context) ([]api.FencePolicy, error) {
	if raw := c.glanceAt(ctx, policiesPath); raw != nil {
		var l api.FencePolicyList
		if err := json.Unmarshal(raw, &l); err == nil {
			return l.Items, nil
		}
	}
	return c.Policies(ctx)
}

// Budgets reads all FenceBudgets.
func (c *Client) Budgets(ctx context.Context) ([]api.FenceBudget, error) {
	l, err := list[api.FenceBudgetList](ctx, c, budgetsPath)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// NodeProblemPolicies reads all of them.
func (c *Client) NodeProblemPolicies(ctx context.Context) ([]api.NodeProblemPolicy, error) {
	l, err := list[api.NodeProblemPolicyList](ctx, c, problemsPath)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// SavePolicyStatus writes a policy's status by compare-and-swap. A list in it that is decided
// by, and of which this program does not understand something, stays as it is.
func (c *Client) SavePolicyStatus(ctx context.Context, p *api.FencePolicy) error {
	fields := fieldsOf(p.Status)
	maps.DeleteFunc(fields, func(name string, _ any) bool { return p.NotUnderstood.In("status." + name) })
	_, err := saveStatus[api.FencePolicy](ctx, c, policiesPath+"/"+p.Name, p.ObjectMeta, fields)
	return err
}

// SaveBudgetStatus writes a budget's status by compare-and-swap.
func (c *Client) SaveBudgetStatus(ctx context.Context, b *api.FenceBudget) error {
	_, err := saveStatus[api.FenceBudget](ctx, c, budgetsPath+"/"+b.Name, b.ObjectMeta, fieldsOf(b.Status))
	return err
}

// Ledger reads the ledger, creating it when it is missing. If this process has seen
// the API server's state go back in time, the ledger says so, whether or not
// anybody has kept that yet.
func (c *Client) Ledger(ctx context.Context) (*api.FenceLedger, error) {
	for {
		l, err := glimpse[api.FenceLedger](ctx, c, ledgersPath+"/"+api.LedgerName)
		if err != nil {
			return nil, err
		}
		if l != nil {
			if back := c.WentBack(); back != nil {
				l.Status.Restored = back
			}
			return l, nil
		}
		l = &api.FenceLedger{
			TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceLedger"},
			ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName},
		}
		made, err := post(ctx, c, ledgersPath, l)
		if err == nil {
			return made, nil
		}
		if !isConflict(err) {
			return nil, err
		}
	}
}

// SaveLedger writes the ledger's status by compare-and-swap: whoever wrote its spec
// meanwhile, to stop everything, wins. Its spec is people's. One that this program does not
// understand is left as it is: what a newer one keeps there would be lost (S21).
func (c *Client) SaveLedger(ctx context.Context, l *api.FenceLedger) (*api.FenceLedger, error) {
	if strange := l.NotUnderstood.Words("FenceLedger " + api.LedgerName); strange != "" {
		return nil, fmt.Errorf("put %s: %s: %w", ledgerStatus, strange, ErrConflict)
	}
	l.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceLedger"}
	return put(ctx, c, ledgerStatus, l)
}

// ConfigMaps reads all ConfigMaps of a namespace.
func (c *Client) ConfigMaps(ctx context.Context, namespace string) ([]corev1.ConfigMap, error) {
	l, err := list[corev1.ConfigMapList](ctx, c, "/api/v1/namespaces/"+namespace+"/configmaps")
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// ConfigMap reads one; nil when there is none.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return get[corev1.ConfigMap](ctx, c, "/api/v1/namespaces/"+namespace+"/configmaps/"+name)
}

// CreateConfigMap creates one. ErrConflict: it is there already.
func (c *Client) CreateConfigMap(ctx context.Context, cm *corev1.ConfigMap) error {
	cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	_, err := post(ctx, c, "/api/v1/namespaces/"+cm.Namespace+"/configmaps", cm)
	return err
}

// Secret reads one; nil when there is none.
func (c *Client) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return get[corev1.Secret](ctx, c, "/api/v1/namespaces/"+namespace+"/secrets/"+name)
}

// PatchLeases replaces the source's picture in the ledger and nothing else: so it needs
// no turn in the gates' compare-and-swap. Turns to be checked, where there are any, replace
// those in the ledger as it was read, with that resourceVersion: ErrConflict says that
// somebody wrote since, perhaps another source a turn of its own, and that nothing was kept.
func (c *Client) PatchLeases(ctx context.Context, p api.LeasePicture, turns []api.NodeTurn, read string) error {
	status := map[string]any{"leases": fieldsOf(p)}
	body := map[string]any{"status": status}
	if turns != nil {
		status["checks"], body["metadata"] = turns, map[string]any{"resourceVersion": read}
	}
	_, err := patched[api.FenceLedger](ctx, c, mergePatch, ledgerStatus, body)
	return err
}

// KeepWentBack writes what this process has seen, if it has, into the ledger as it
// was read. ErrConflict: somebody else wrote first.
func (c *Client) KeepWentBack(ctx context.Context, l *api.FenceLedger) error {
	back := c.WentBack()
	if back == nil {
		return nil
	}
	_, err := patched[api.FenceLedger](ctx, c, mergePatch, ledgerStatus, map[string]any{
		"metadata": map[string]any{"resourceVersion": l.ResourceVersion},
		"status":   map[string]any{"restored": back},
	})
	return err
}

// DropFinalizer lets a record go, or be reopened later; f becomes as it stands
// then, without a resourceVersion if it is gone.
func (c *Client) DropFinalizer(ctx context.Context, f *api.NodeFence) error {
	rest := slices.DeleteFunc(slices.Clone(f.Finalizers), func(s string) bool { return s == api.Finalizer })
	now, err := patched[api.NodeFence](ctx, c, mergePatch, fencesPath+"/"+f.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": f.ResourceVersion, "uid": f.UID, "finalizers": rest},
	})
	if err != nil {
		return err
	}
	*f = *now
	if f.DeletionTimestamp != nil {
		f.ResourceVersion = ""
	}
	return nil
}

// SaveConfigMap writes one by compare-and-swap.
func (c *Client) SaveConfigMap(ctx context.Context, cm *corev1.ConfigMap) error {
	cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	_, err := put(ctx, c, "/api/v1/namespaces/"+cm.Namespace+"/configmaps/"+cm.Name, cm)
	return err
}

// EnrolledLabel marks the ConfigMaps in which machines are enrolled.
const EnrolledLabel = "nodefence.io/enrolled"

// EnrolledName is the ConfigMap in which a node's machine is enrolled.
func EnrolledName(node string) string { return "fence-enrolled-" + node }
