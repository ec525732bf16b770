package machine

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const workers = 4

// queue calls handle for each object that changes, never twice at once for one,
// and again after a failure or when it asks for that.
type queue struct {
	name   string
	keys   workqueue.TypedRateLimitingInterface[string]
	handle func(ctx context.Context, key string) (again time.Duration, err error)
}

func newQueue(name string, handle func(context.Context, string) (time.Duration, error)) *queue {
	return &queue{
		name: name, handle: handle,
		keys: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
}

// hear takes an informer's object.
func (q *queue) hear(informer cache.SharedIndexInformer) error {
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			q.keys.Add(key)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	})
	return err
}

// run returns when ctx has ended.
func (q *queue) run(ctx context.Context, spawn func(func())) {
	for range workers {
		spawn(func() {
			for q.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	q.keys.ShutDown()
}

func (q *queue) next(ctx context.Context) bool {
	key, stopped := q.keys.Get()
	if stopped {
		return false
	}
	defer q.keys.Done(key)
	again, err := q.handle(ctx, key)
	if err != nil {
		if ctx.Err() == nil {
			slog.Warn("will try again", "queue", q.name, "key", key, "error", err)
		}
		q.keys.AddRateLimited(key)
		return true
	}
	q.keys.Forget(key)
	if again > 0 {
		q.keys.AddAfter(key, again)
	}
	return true
}
