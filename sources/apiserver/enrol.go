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
	"k8s.io/client-go/util/workqueue"

	"github.com/nodefence/nodefence/shared/kube"
)

// enrolment writes down, while a node is healthy, what its machine says of
// itself, into an object that the node's credentials can't write (S11). What is
// written for a Node object is never changed, and the provider ID, which a
// cloud's controller may give a node that is Ready already, is added to it once.
// Another Node object of the name is enrolled anew. Who excludes the node is written
// there too, and follows the Node object.
type enrolment struct {
	client    *kube.Client
	namespace string
	log       *slog.Logger
	queue     workqueue.TypedRateLimitingInterface[string]

	mu    sync.Mutex
	known map[string]enrolled
	todo  map[string]nodeView
	// deleted counts the enrolments that were seen to go.
	deleted int
	// wanted is what each enrolment is to say of who excludes its node.
	wanted map[string]wish
}

type enrolled struct {
	uid string
	// role follows the Node's labels, which its kubelet can't write.
	role string
	// is what counts, said what the node said otherwise and was warned of.
	is, said machine
	excluded exclusion
	// object and version are the ConfigMap's, gone since when its node is, as it says;
	// empty until it was seen as it stands.
	object        types.UID
	version, gone string
}

// machine is what a node says that its machine is.
type machine struct{ systemUUID, providerID string }

// lacks only the provider ID that the same machine has by now.
func (m machine) lacks(now machine) bool {
	return m.providerID == "" && now.providerID != "" && m.systemUUID == now.systemUUID
}

func enrolledIn(cm *corev1.ConfigMap) enrolled {
	return enrolled{
		uid: cm.Data["node_uid"], role: cm.Data["role"], is: machine{cm.Data["system_uuid"], cm.Data["provider_id"]},
		excluded: exclusion{cm.Data[kube.Excluded], cm.Data[kube.ExcludedBy]},
	}
}

// begin is before each run, which learns anew what is enrolled.
func (e *enrolment) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known, e.todo, e.wanted = map[string]enrolled{}, map[string]nodeView{}, map[string]wish{}
	e.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 30*time.Second))
}

// saw notes an enrolment as it stands.
func (e *enrolment) saw(cm *corev1.ConfigMap) {
	node, ok := strings.CutPrefix(cm.Name, kube.EnrolledName(""))
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := enrolledIn(cm)
	now.said = e.known[node].said
	now.object, now.version, now.gone = cm.UID, cm.ResourceVersion, cm.Annotations[goneSince]
	e.known[node] = now
}

// gone forgets the one of this name, and tells of which node it was.
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
			e.log.Warn("the node says it is another machine than the one enrolled; the enrolled one counts",
				"node", name, "enrolled", was.is.systemUUID, "says", v.systemUUID,
				"enrolledProviderID", was.is.providerID, "saysProviderID", v.providerID)
			was.said = says
			e.known[name] = was
		}
		return
	}
	e.todo[name] = v
	e.queue.Add(name)
}

func (e *enrolment) run(ctx context.Context) {
	go func() { <-ctx.Done(); e.queue.ShutDown() }()
	for {
		name, down := e.queue.Get()
		if down {
			return
		}
		if err := e.write(ctx, name); err != nil && ctx.Err() == nil {
			e.log.Warn("node not enrolled: tried again", "node", name, "error", err.Error())
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
	if e.deleted != deleted { // perhaps this one, before we heard that it was written
		e.mu.Unlock()
		e.queue.Add(name)
		return nil
	}
	now, was := enrolledIn(stands), e.known[name]
	now.object, now.version, now.gone = was.object, was.version, was.gone // for the watch to say
	e.known[name] = now
	latest := e.todo[name]
	delete(e.todo, name)
	e.mu.Unlock()
	if stands == cm {
		e.log.Info("enrolled", "node", name, "systemUUID", v.systemUUID, "providerID", v.providerID)
	}
	e.put(name, latest) // does it say what stands there, and still the same?
	return e.writeExclusion(ctx, name)
}

// of is the enrolment of a node.
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

// replace writes over the enrolment of another Node object, never of this one
// but for a provider ID that it lacks and the node's role, and returns the one that stands.
func (e *enrolment) replace(ctx context.Context, cm *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	old, err := e.client.ConfigMap(ctx, cm.Namespace, cm.Name)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, fmt.Errorf("enrol %s: %w", cm.Name, kube.ErrConflict) // gone again: the next try creates it
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
	enrolledIn(old).excluded.into(cm) // until it is known who excludes this one
	return cm, e.client.SaveConfigMap(ctx, cm)
}

// enrolmentGone has a node enrolled again whose enrolment somebody deleted.
func (s *Source) enrolmentGone(name string) {
	if node, was := s.enrol.gone(name); was {
		s.nodes.enrolAgain(node)
	}
}
