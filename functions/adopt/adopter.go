package adopt

import (
	"context"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
)

// Name is the function's name.
const Name = "adopt"

// Tick is the time between two looks of Run.
const Tick = 3 * time.Second

// Objects is the part of the API server's client that the function needs.
type Objects interface {
	FARs(ctx context.Context, namespace string) (all []far.Object, served bool, err error)
	AllFARs(ctx context.Context, kind string) ([]metav1.ObjectMeta, error)
	LeasesNamed(ctx context.Context, name string) ([]coordinationv1.Lease, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
	Policies(ctx context.Context) ([]api.FencePolicy, error)
	Fence(ctx context.Context, node string) (*api.NodeFence, error)
	FenceRequest(ctx context.Context, namespace, name string) (*api.FenceRequest, error)
	CreateFenceRequest(ctx context.Context, r *api.FenceRequest) error
	DeleteFenceRequest(ctx context.Context, r *api.FenceRequest) error
	TimeOutFenceRequest(ctx context.Context, r *api.FenceRequest, words string) error
	SaveFARStatus(ctx context.Context, o *far.Object, st far.Status) (*far.Object, error)
	HoldFAR(ctx context.Context, o *far.Object, node string, hold bool) (*far.Object, error)
	MarkFAR(ctx context.Context, node string, uid types.UID, placed bool) error
	TellFAR(ctx context.Context, kind string, o *metav1.ObjectMeta, e far.Event, reporter string) error
	Templates
}

// Adopter is the function. It must not be copied after first use.
type Adopter struct {
	// DeviceCall is the longest that one call to a device may take; the usual if zero.
	DeviceCall time.Duration
	Objects    Objects
	// Namespaces are those whose objects count: those of FenceRequests.
	Namespaces ask.Namespaces
	// Now is the API server's time.
	Now func() time.Time
	// Elapsed is the time by which a Lease is seen to stand still.
	Elapsed func() time.Duration
	Log     *slog.Logger

	leader  leader
	samples samples
	wakes   wakes
	// missing says that the kind was not served at the last look.
	mu      sync.Mutex
	missing bool
	looked  bool
	apart   saidElsewhere
}

// mostTargets is of how many nodes of one template one look reads the FenceTarget. The next look goes
// on with those that follow.
const mostTargets = 50

// Templates is the part of the API server's client for templates.
type Templates interface {
	FARTemplates(ctx context.Context, namespace string) ([]far.Template, error)
	Target(ctx context.Context, node string) (*api.FenceTarget, error)
	RequestCheck(ctx context.Context, node, wish string) (*api.FenceTarget, error)
	SaveFARTemplateStatus(ctx context.Context, t *far.Template, st far.TemplateStatus) error
}

// samples has the node of each template at which the next look begins.
type samples struct {
	mu   sync.Mutex
	next map[types.UID]string
}

// saidElsewhere is what a process has told of objects and templates that do not count, by kind.
type saidElsewhere struct {
	looked   bool
	lookedAt time.Duration
	told     map[string]map[types.UID]bool
	// silent: an error was logged, and nothing succeeded since.
	silent map[string]bool
}

// wakes keeps the nodes still to be checked, by template.
type wakes struct {
	mu  sync.Mutex
	all map[types.UID]wake
}

// wake is the state of the checks for one spec of a template.
type wake struct {
	generation int64
	// left are the nodes whose FenceTargets were not read since the spec was first seen.
	left []string
	// changed: this process has seen an older spec of the template.
	changed bool
}
