package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// ErrConflict says that somebody else wrote first: look again.
var ErrConflict = errors.New("written by somebody else meanwhile")

// requestTimeout bounds every request, so that no handler outlives its platform's limit.
const requestTimeout = 10 * time.Second

// Client speaks JSON with the API server. It has no generated clientset behind
// it, because the functions' binary is started often and must be small.
type Client struct {
	rest  rest.Interface
	clock *Clock
	// cache has the objects that its invocations share.
	cache    objectCache
	shared   sharedReads
	restores restoreWatch
	// machines is the cluster that has the Machines; nil if it is this one.
	machines *MachinesAt
	// inTurn says that requests that could run at once run one after the other.
	inTurn bool
}

// New connects to the cluster that the configuration names.
func New(cfg *rest.Config) (*Client, error) { return newClient(cfg, NewClock()) }

// NewAt is New with a clock of the caller's: a model of the cluster, in which a process may stand
// still for as long as the model likes. In a model no two requests run at once, so that each has
// its place among those of others.
func NewAt(cfg *rest.Config, elapsed func() time.Duration) (*Client, error) {
	clock := NewClock()
	clock.elapsed = elapsed
	c, err := newClient(cfg, clock)
	if err != nil {
		return nil, err
	}
	c.inTurn = true
	return c, nil
}

func newClient(cfg *rest.Config, clock *Clock) (*Client, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	cfg.ContentType, cfg.AcceptContentTypes = "application/json", "application/json"
	// The API server's own priority and fairness is the limit: a limit of the client's would
	// delay a fence exactly when many nodes fail.
	cfg.QPS = -1
	cfg.Timeout = requestTimeout
	if cfg.UserAgent == "" {
		cfg.UserAgent = api.FieldManager
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return named(clock.Sample(next)) })
	c, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return &Client{rest: c, clock: clock}, nil
}

// Clock is the API server's.
func (c *Client) Clock() *Clock { return c.clock }

// Ready tells whether the API server answers.
func (c *Client) Ready(ctx context.Context) error {
	if err := c.rest.Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	return nil
}

type functionKey struct{}

// WithFunction tells the API server and its audit log which function sends a request. It does not
// change the request.
func WithFunction(ctx context.Context, function string) context.Context {
	return context.WithValue(ctx, functionKey{}, function)
}

// named sends that name.
func named(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if function, ok := r.Context().Value(functionKey{}).(string); ok {
			r = r.Clone(r.Context())
			r.Header.Set("User-Agent", r.Header.Get("User-Agent")+"/"+function)
		}
		return next.RoundTrip(r)
	})
}

// MachinesAt is the cluster that has this cluster's Machines and MachineHealthChecks. It is this cluster,
// unless ReadMachinesAt names another one.
type MachinesAt struct {
	*Client
	// cluster is the Cluster object there that is this cluster; nil if it is no other cluster.
	cluster *types.NamespacedName
}
