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
	"k8s.io/client-go/util/workqueue"

	"github.com/nodefence/nodefence/shared/kube"
)

// enrolment writes down, while a node is healthy, what its machine says of
// itself, into an object that the node's credentials can't write (S11). What is
// written for a Node object is never changed; another Node object of the name
// is enrolled anew.
type enrolment struct {
	client    *kube.Client
	namespace string
	log       *slog.Logger
	queue     workqueue.TypedRateLimitingInterface[string]

	mu    sync.Mutex
	known map[string]enrolled
	todo  map[string]nodeView
}

type enrolled struct{ uid, systemUUID string }

func (e *enrolment) load(ctx context.Context) error {
	maps, err := e.client.ConfigMaps(ctx, e.namespace)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known, e.todo = map[string]enrolled{}, map[string]nodeView{}
	e.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 30*time.Second))
	for _, cm := range maps {
		if node, ok := strings.CutPrefix(cm.Name, kube.EnrolledName("")); ok {
			e.known[node] = enrolled{cm.Data["node_uid"], cm.Data["system_uuid"]}
		}
	}
	return nil
}

func (e *enrolment) put(name string, v nodeView) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if was, ok := e.known[name]; ok && was.uid == v.uid {
		if was.systemUUID != v.systemUUID {
			e.log.Warn("the node says it is another machine than the one enrolled; the enrolled one counts",
				"node", name, "enrolled", was.systemUUID, "says", v.systemUUID)
			e.known[name] = enrolled{was.uid, v.systemUUID} // said once
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
			e.log.Warn("node not enrolled yet", "node", name, "error", err.Error())
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
	e.mu.Unlock()
	if !ok {
		return nil
	}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: kube.EnrolledName(name), Namespace: e.namespace, Labels: map[string]string{kube.EnrolledLabel: "true"},
		},
		Data: map[string]string{"node_name": name, "node_uid": v.uid, "system_uuid": v.systemUUID, "provider_id": v.providerID},
	}
	stands := cm
	err := e.client.CreateConfigMap(ctx, cm)
	if errors.Is(err, kube.ErrConflict) {
		stands, err = e.replace(ctx, cm)
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.known[name] = enrolled{stands.Data["node_uid"], stands.Data["system_uuid"]}
	delete(e.todo, name)
	e.mu.Unlock()
	if stands == cm {
		e.log.Info("enrolled", "node", name, "systemUUID", v.systemUUID)
		return nil
	}
	e.put(name, v) // it was enrolled already: does it say the same?
	return nil
}

// replace writes over the enrolment of another Node object, never of this one,
// and returns the one that stands.
func (e *enrolment) replace(ctx context.Context, cm *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	old, err := e.client.ConfigMap(ctx, cm.Namespace, cm.Name)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, fmt.Errorf("enrol %s: %w", cm.Name, kube.ErrConflict) // gone again: the next try creates it
	}
	if old.Data["node_uid"] == cm.Data["node_uid"] {
		return old, nil
	}
	cm.ResourceVersion = old.ResourceVersion
	return cm, e.client.SaveConfigMap(ctx, cm)
}
