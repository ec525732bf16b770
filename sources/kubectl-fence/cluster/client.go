package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

const (
	// FieldManager is the name under which people's writes stand in metadata.managedFields. It does not begin with
	// kubectl: Flux undoes what such a manager has written, and with it a person's stop or pause.
	FieldManager = "nodefence-plugin"
	// UserAgent is the name under which the plugin stands in the API server's logs.
	UserAgent = "kubectl-fence"
)

// Client reads and writes as one person.
type Client struct {
	// Kube reads Kubernetes' own kinds.
	Kube kubernetes.Interface
	// Namespace is nodefence's.
	Namespace string
	own       rest.Interface
	clock     *kube.Clock
}

// New connects to the cluster that the configuration names. It sends no request.
func New(cfg *rest.Config) (*Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = UserAgent
	clock := kube.NewClock()
	cfg.Wrap(clock.Sample)
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		return nil, err
	}
	gv := api.GroupVersion
	cfg.GroupVersion, cfg.APIPath = &gv, "/apis"
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	own, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{Kube: core, Namespace: view.OwnNamespace, own: own, clock: clock}, nil
}

// Now is the API server's time, by which nodefence goes (S30); before its first answer, this machine's.
func (c *Client) Now() time.Time { return c.clock.Now() }

// Whoami is the person's name, as the API server knows it.
func (c *Client) Whoami(ctx context.Context) (string, error) {
	r, err := c.Kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return r.Status.UserInfo.Username, nil
}

// listed is a list of one of nodefence's kinds, with its items.
type listed[T any] interface {
	runtime.Object
	*T
}

// all reads a whole collection.
func all[L any, P listed[L]](ctx context.Context, c *Client, resource, namespace string) (*L, error) {
	out := P(new(L))
	r := c.own.Get().Resource(resource)
	if namespace != "" {
		r = r.Namespace(namespace)
	}
	return (*L)(out), r.Do(ctx).Into(out)
}

// one reads one object; the API server's error says that there is none.
func one[T any, P listed[T]](ctx context.Context, c *Client, resource, namespace, name string) (*T, error) {
	out := P(new(T))
	r := c.own.Get().Resource(resource).Name(name)
	if namespace != "" {
		r = r.Namespace(namespace)
	}
	return (*T)(out), r.Do(ctx).Into(out)
}

// Fence reads the NodeFence of a node.
func (c *Client) Fence(ctx context.Context, node string) (*api.NodeFence, error) {
	return one[api.NodeFence](ctx, c, "nodefences", "", node)
}

// Policy reads a FencePolicy.
func (c *Client) Policy(ctx context.Context, name string) (*api.FencePolicy, error) {
	return one[api.FencePolicy](ctx, c, "fencepolicies", "", name)
}

// Ledger reads the FenceLedger.
func (c *Client) Ledger(ctx context.Context) (*api.FenceLedger, error) {
	return one[api.FenceLedger](ctx, c, "fenceledgers", "", api.LedgerName)
}

// LedgerIfAny reads the FenceLedger. It is empty where there is none: nodefence creates it when it first counts.
func (c *Client) LedgerIfAny(ctx context.Context) (*api.FenceLedger, error) {
	l, err := c.Ledger(ctx)
	if apierrors.IsNotFound(err) {
		return &api.FenceLedger{}, nil
	}
	return l, err
}

// LedgerIfSeen is LedgerIfAny, and nil for whoever may not read it.
func (c *Client) LedgerIfSeen(ctx context.Context) (*api.FenceLedger, error) {
	l, err := c.LedgerIfAny(ctx)
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	return l, err
}

// Request reads a FenceRequest.
func (c *Client) Request(ctx context.Context, namespace, name string) (*api.FenceRequest, error) {
	return one[api.FenceRequest](ctx, c, "fencerequests", namespace, name)
}

// DryRun says what of a write is carried out.
type DryRun string

// What of a write is carried out: all, the API server's checks alone, or nothing.
const (
	DryRunNone   DryRun = "none"
	DryRunServer DryRun = "server"
	DryRunClient DryRun = "client"
)

// Patch carries out a merge patch of one of nodefence's cluster-wide objects. A field that the
// API server does not know is an error.
func (c *Client) Patch(ctx context.Context, resource, name string, patch any, dry DryRun) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode the patch of %s %s: %w", resource, name, err)
	}
	ctx, end, err := lasting(ctx)
	if err != nil {
		return err
	}
	defer end()
	r := c.own.Patch(types.MergePatchType).Resource(resource).Name(name).Body(body)
	return unsure(written(r, dry).Do(ctx).Error(), "whether "+resource+" "+name+" was changed")
}

// Cordon makes the person an owner of a node's cordon, beside nodefence, which leaves the cordon on then. It is
// applied, because an update that changes nothing makes nobody an owner. The UID keeps it from making a Node.
func (c *Client) Cordon(ctx context.Context, node string, dry DryRun) error {
	nodes := c.Kube.CoreV1().Nodes()
	n, err := nodes.Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return NoSuch(err, "Node", node, "kubectl get nodes lists what there is")
	}
	ctx, end, err := lasting(ctx)
	if err != nil {
		return err
	}
	defer end()
	o := metav1.ApplyOptions{FieldManager: FieldManager, Force: true}
	if dry == DryRunServer {
		o.DryRun = []string{metav1.DryRunAll}
	}
	_, err = nodes.Apply(ctx, applycorev1.Node(node).WithUID(n.UID).WithSpec(applycorev1.NodeSpec().WithUnschedulable(true)), o)
	return unsure(err, "whether node "+node+" is kept cordoned")
}

// Ask creates a FenceRequest, and returns it as it was created.
func (c *Client) Ask(ctx context.Context, q *api.FenceRequest, dry DryRun) (*api.FenceRequest, error) {
	ctx, end, err := lasting(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	out := &api.FenceRequest{}
	r := c.own.Post().Resource("fencerequests").Namespace(q.Namespace).Body(q)
	return out, unsure(written(r, dry).Do(ctx).Into(out), "whether a FenceRequest was created")
}

// Withdraw deletes a FenceRequest.
func (c *Client) Withdraw(ctx context.Context, q *api.FenceRequest) error {
	return c.own.Delete().Resource("fencerequests").Namespace(q.Namespace).Name(q.Name).
		Body(&metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(q.UID))}).Do(ctx).Error()
}

func written(r *rest.Request, dry DryRun) *rest.Request {
	if dry == DryRunServer {
		r = r.Param("dryRun", metav1.DryRunAll)
	}
	return r.Param("fieldManager", FieldManager).Param("fieldValidation", metav1.FieldValidationStrict)
}
