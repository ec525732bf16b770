package apiserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/workqueue"

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

type enrolled struct {
	uid string
	// role follows the Node's labels, which its kubelet can't write.
	role string
	// is is the enrolled machine, which counts. said is another machine that the node has
	// claimed since, about which a warning was logged.
	is, said machine
	excluded exclusion
	// object and version are the ConfigMap's UID and resourceVersion. gone is its
	// annotation: since when its node is gone. All three are empty until the watch has
	// shown the ConfigMap.
	object        types.UID
	version, gone string
}

// machine is what a node says about its machine.
type machine struct{ systemUUID, providerID string }

// lacks reports whether the provider ID, known by now, is all that the enrolled machine
// misses.
func (m machine) lacks(now machine) bool {
	return m.providerID == "" && now.providerID != "" && m.systemUUID == now.systemUUID
}

func enrolledIn(cm *corev1.ConfigMap) enrolled {
	return enrolled{
		uid: cm.Data["node_uid"], role: cm.Data["role"], is: machine{cm.Data["system_uuid"], cm.Data["provider_id"]},
		excluded: exclusion{cm.Data[kube.Excluded], cm.Data[kube.ExcludedBy], cm.Data[kube.EnrolledAlsoOf]},
	}
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

func (e *enrolment) put(name string, v nodeView) {
	e.mu.Lock()
	defer e.mu.Unlock()
	says := machine{v.systemUUID, v.providerID}
	if was, ok := e.known[name]; ok && was.uid == v.uid && was.role == v.role && !was.is.lacks(says) {
		if says != was.is && says != was.said {
			e.log.Warn("the node claims to be another machine than the enrolled one; the enrolment is kept",
				"node", name, "enrolled", was.is.systemUUID, "says", v.systemUUID,
				"enrolledProviderID", was.is.providerID, "saysProviderID", v.providerID)
			was.said = says
			e.known[name] = was
		}
		return
	}
	if e.hasNoName(name) {
		return
	}
	e.todo[name] = v
	e.queue.Add(name)
}

// hasNoName tells whether a node's name is too long for an enrolment beside it, and says so once.
func (e *enrolment) hasNoName(node string) bool {
	longest := validation.DNS1123SubdomainMaxLength - len(kube.EnrolledName(""))
	if len(node) <= longest {
		return false
	}
	if !e.tooLong[node] {
		e.tooLong[node] = true
		e.log.Error("the node can't be enrolled: its name is too long for a ConfigMap beside it, so no answer of its device is compared with its machine, and it is not fenced once its Node object is gone; register it under a shorter name",
			"node", node, "letters", len(node), "longest", longest)
	}
	return true
}

func (e *enrolment) run(ctx context.Context) {
	go func() { <-ctx.Done(); e.queue.ShutDown() }()
	for {
		name, down := e.queue.Get()
		if down {
			return
		}
		if err := e.write(ctx, name); err != nil && ctx.Err() == nil {
			e.log.Warn("cannot enrol the node; trying again", "node", name, "error", err.Error())
			e.queue.AddRateLimited(name)
		} else {
			e.queue.Forget(name)
		}
		e.queue.Done(name)
	}
}

func (e *enrolment) write(ctx context.Context, name string) error {
	e.mu.Lock()
	v, ok := e.todo[name]
	deleted := e.deleted
	e.mu.Unlock()
	if !ok {
		return e.writeExclusion(ctx, name)
	}
	cm := e.of(name, v)
	stands := cm
	err := e.client.CreateConfigMap(ctx, cm)
	if errors.Is(err, kube.ErrConflict) {
		stands, err = e.replace(ctx, cm)
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	if e.deleted != deleted { // the deleted one may be this one, and the watch tells us before the write returns
		e.mu.Unlock()
		e.queue.Add(name)
		return nil
	}
	now, was := enrolledIn(stands), e.known[name]
	now.object, now.version, now.gone = was.object, was.version, was.gone // the watch sets these
	e.known[name] = now
	latest := e.todo[name]
	delete(e.todo, name)
	e.mu.Unlock()
	if stands == cm {
		e.log.Info("enrolled", "node", name, "systemUUID", v.systemUUID, "providerID", v.providerID)
	}
	e.put(name, latest) // enrols again if the node has changed since, or says something else than the enrolment
	return e.writeExclusion(ctx, name)
}

// of returns the enrolment of a node.
func (e *enrolment) of(name string, v nodeView) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: kube.EnrolledName(name), Namespace: e.namespace, Labels: map[string]string{kube.EnrolledLabel: "true"},
		},
		Data: map[string]string{"node_name": name, "node_uid": v.uid, "system_uuid": v.systemUUID, "provider_id": v.providerID},
	}
	if v.role != "" {
		cm.Data["role"] = v.role
	}
	return cm
}

// replace overwrites the enrolment of an earlier Node object. In the enrolment of the same
// Node object it adds only a missing provider ID, and sets the role. It returns the
// enrolment as it then stands.
func (e *enrolment) replace(ctx context.Context, cm *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	old, err := e.client.ConfigMap(ctx, cm.Namespace, cm.Name)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, fmt.Errorf("enrol %s: %w", cm.Name, kube.ErrConflict) // deleted meanwhile: the next try creates it
	}
	if old.Data["node_uid"] == cm.Data["node_uid"] {
		was, is := enrolledIn(old), enrolledIn(cm)
		if !was.is.lacks(is.is) && was.role == is.role {
			return old, nil
		}
		if was.is.lacks(is.is) {
			old.Data["provider_id"] = cm.Data["provider_id"]
		}
		if is.role != "" {
			old.Data["role"] = is.role
		}
		return old, e.client.SaveConfigMap(ctx, old)
	}
	cm.ResourceVersion = old.ResourceVersion
	enrolledIn(old).excluded.into(cm) // kept until the policies that exclude this node are known
	return cm, e.client.SaveConfigMap(ctx, cm)
}

// enrolmentGone enrols a node again after somebody has deleted its enrolment.
func (s *Source) enrolmentGone(name string) {
	if node, was := s.enrol.gone(name); was {
		s.nodes.enrolAgain(node)
	}
}
