package apiserver

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// enrolment writes down, while a node is healthy, what the node says about its machine,
// into an object that the node's credentials can't write (S11: the device is the node's
// own). What is written for a Node object is never changed, with one exception: a cloud's
// controller may set the provider ID when the node is Ready already, so the provider ID is
// added once. A new Node object of the same name is enrolled again. The enrolment also says
// what excludes the node from fencing, and this part follows the Node object.
type enrolment struct {
	client    *kube.Client
	namespace string
	log       *slog.Logger
	queue     workqueue.TypedRateLimitingInterface[string]

	mu    sync.Mutex
	known map[string]enrolled
	todo  map[string]nodeView
	// tooLong are the nodes whose enrolment can have no name, and of which that was said.
	tooLong map[string]bool
	// deleted counts the deletions of enrolments that were seen.
	deleted int
	// wanted has, for each enrolment, what it should say about who excludes its node.
	wanted map[string]wish
}

// begin resets the store before each run, which lists the enrolments again.
func (e *enrolment) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known, e.todo, e.wanted = map[string]enrolled{}, map[string]nodeView{}, map[string]wish{}
	e.tooLong = map[string]bool{}
	e.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 30*time.Second))
}

// saw notes an enrolment as the watch shows it.
func (e *enrolment) saw(cm *corev1.ConfigMap) {
	node, ok := strings.CutPrefix(cm.Name, kube.EnrolledName(""))
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := enrolledIn(cm)
	now.said = e.known[node].said
	now.object, now.version, now.gone = cm.UID, cm.ResourceVersion, cm.Annotations[slim.GoneSince]
	e.known[node] = now
}

// gone forgets the enrolment with this object name, and returns its node.
func (e *enrolment) gone(name string) (node string, ok bool) {
	if node, ok = strings.CutPrefix(name, kube.EnrolledName("")); !ok {
		return "", false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deleted++
	_, ok = e.known[node]
	delete(e.known, node)
	delete(e.wanted, node)
	return node, ok
}

func (e *enrolment) has(node string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.known[node]
	return ok
}

// versions writes into turns in which version each node's enrolment stands.
func (e *enrolment) versions(turns []api.NodeTurn) []api.NodeTurn {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range turns {
		turns[i].Enrolment = e.known[turns[i].NodeName].version
	}
	return turns
}
