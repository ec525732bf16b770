package apiserver

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// watchTargets begins the watch on FenceTargets, and gives turns once they are listed. A
// cluster without this kind is served all the same, without checks.
func (s *Source) watchTargets(ctx context.Context, scheme *runtime.Scheme) error {
	if s.o.CheckEvery <= 0 {
		return nil
	}
	synced, err := s.watch(ctx, scheme, watched{
		api.GroupVersion, "/apis", targets, targets, "", fields.Everything(), &api.FenceTarget{}, slim.Target, s.targetHandler(),
	})
	if err != nil {
		return err
	}
	s.wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), synced) {
			s.targets.known()
		}
	})
	return nil
}

func (s *Source) targetHandler() cache.ResourceEventHandler {
	seen := func(obj any) {
		t := obj.(*api.FenceTarget)
		s.targets.saw(t.Name, viewOfTarget(t))
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
		DeleteFunc: func(obj any) { s.targets.saw(nameOf(obj), nil) },
	}
}

// sweep deletes the FenceTargets of nodes that are gone, except while a fence of the node
// is open: whoever looks into that fence must find what was known of its device.
func (s *Source) sweep(ctx context.Context) {
	for name, uid := range s.orphans() {
		if err := s.o.Client.DeleteTarget(ctx, name, uid); err != nil {
			if ctx.Err() == nil {
				s.o.Logger.Warn("cannot delete the FenceTarget of a node that is gone; the next sweep tries again", "node", name, "error", err.Error())
			}
			return
		}
		s.o.Logger.Info("deleted the FenceTarget of a node that is gone", "node", name)
	}
}

// orphans returns the FenceTargets of nodes that are gone. It looks the nodes up last, so
// that it keeps the FenceTarget of a node that has come meanwhile.
func (s *Source) orphans() map[string]types.UID {
	all := s.targets.uids()
	maps.DeleteFunc(all, func(name string, _ types.UID) bool {
		_, here := s.nodes.get(name)
		return here || s.due.HasOpen(name)
	})
	return all
}
