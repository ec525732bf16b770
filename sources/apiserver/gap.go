package apiserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// standing is whether the watch on one kind stands. Informers mend a broken one
// by themselves; what they don't say is that for a while nobody looked.
type standing struct {
	// broken is since when nobody watches; zero while somebody does.
	broken time.Time
	// said: this break is in the log already.
	said bool
}

// brokenTooLong is how long a watch may be away before the source says that it
// is not ready: a new connection takes milliseconds.
const brokenTooLong = 10 * time.Second

// noticed has a ListWatch tell when its watch begins, fails and ends.
func (s *Source) noticed(lw *cache.ListWatch, resource string) *cache.ListWatch {
	begin := lw.WatchFuncWithContext
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		w, err := begin(ctx, o)
		if err != nil {
			s.watchFailed(ctx, resource, err)
			return nil, err
		}
		s.watchBegan(resource)
		return &noticedWatch{Interface: w, ended: func() { s.watchEnded(resource) }}, nil
	}
	return lw
}

// noticedWatch tells when it ends: who reads a watch always stops it.
type noticedWatch struct {
	watch.Interface
	ended func()
}

func (w *noticedWatch) Stop() {
	w.Interface.Stop()
	w.ended()
}

func (s *Source) watchBegan(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watchOn(resource)
	if w.said {
		s.o.Logger.Info("watching again", "resource", resource)
	}
	*w = standing{}
	if resource == leases {
		s.picture.resume(s.now())
	}
}

func (s *Source) watchEnded(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watchOn(resource); w.broken.IsZero() {
		w.broken = s.now()
	}
	if resource == leases {
		s.picture.pause(s.now())
	}
}

// watchFailed says it once for each break, however often it is tried again.
func (s *Source) watchFailed(ctx context.Context, resource string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watchOn(resource)
	if w.broken.IsZero() {
		w.broken = s.now()
	}
	if w.said || ctx.Err() != nil {
		return
	}
	w.said = true
	s.o.Logger.Warn("watch broken off; it is tried again until it stands", "resource", resource, "error", err.Error())
}

// watchOn is called with the lock held.
func (s *Source) watchOn(resource string) *standing {
	w, ok := s.watched[resource]
	if !ok {
		w = &standing{}
		s.watched[resource] = w
	}
	return w
}

// unwatched says which watches have been away for too long; called with the
// lock held.
func (s *Source) unwatched() error {
	var names []string
	for name, w := range s.watched {
		if !w.broken.IsZero() && s.now().Sub(w.broken) > brokenTooLong && !s.dropped(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("not watched at present: %v", names)
}
