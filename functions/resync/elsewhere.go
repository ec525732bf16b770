package resync

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
)

const (
	// lookElsewhere is the time between two looks at the FenceRequests that do not count: no fence waits
	// for one.
	lookElsewhere = 2 * time.Minute
	// eventElsewhere is the reason of the Event about such an object.
	eventElsewhere = "NamespaceDoesNotCount"
)

// Elsewhere is the client for the FenceRequests in namespaces that do not count.
type Elsewhere interface {
	AllFenceRequests(ctx context.Context) ([]api.FenceRequest, error)
	ReportFenceRequest(ctx context.Context, r *api.FenceRequest, reporter, reason, message string) error
}

// saidElsewhere is what a process has told of FenceRequests that do not count.
type saidElsewhere struct {
	lookedAt time.Time
	told     map[types.UID]bool
	// silent: an error was logged, and nothing succeeded since.
	silent bool
}

// tellElsewhere writes an Event about each FenceRequest in a namespace that does not count, once for each
// object and process, because its author waits for a fence in vain. It needs rights in all namespaces. Where
// these are missing, or something else fails, the log says so once, and no round fails: nothing but an
// Event depends on it. It is done beside the calls, so that none waits for it.
func (r *round) tellElsewhere(ctx context.Context, now time.Time) {
	r.mu.Lock()
	due := now.Sub(r.apart.lookedAt).Abs() >= lookElsewhere
	if due {
		r.apart.lookedAt = now
	}
	r.mu.Unlock()
	if !due || ctx.Err() != nil {
		return
	}
	r.calls.Go(func() {
		err := r.tellOf(ctx)
		r.mu.Lock()
		first := err != nil && !r.apart.silent
		r.apart.silent = err != nil
		r.mu.Unlock()
		if first && ctx.Err() == nil {
			r.Log.Warn("cannot tell of FenceRequests in namespaces that are not in NODEFENCE_REQUEST_NAMESPACES; this is said once", "function", Name, "error", err.Error())
		}
	})
}

func (r *round) tellOf(ctx context.Context) error {
	all, err := r.Elsewhere.AllFenceRequests(ctx)
	if err != nil {
		return err
	}
	message := "nodefence does nothing about it: its namespace is not in NODEFENCE_REQUEST_NAMESPACES (" + strings.Join(r.RequestNamespaces, ",") + ")"
	told, tries := map[types.UID]bool{}, 0
	for i := range all {
		o := &all[i]
		was := r.wasTold(o.UID)
		if r.RequestNamespaces.Has(o.Namespace) || !ask.Unfinished(o) || !was && tries >= perRound {
			continue
		}
		if !was {
			tries++
			if e := r.Elsewhere.ReportFenceRequest(ctx, o, Name, eventElsewhere, message); e != nil {
				err = e // the next look tries this one again
				continue
			}
		}
		told[o.UID] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.apart.told = told
	return err
}

func (s *Resyncer) wasTold(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apart.told[uid]
}
