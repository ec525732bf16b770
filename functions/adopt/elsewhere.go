package adopt

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
)

const (
	// lookElsewhere is the time between two looks at the objects and templates that do not count: no fence
	// waits for one.
	lookElsewhere = 2 * time.Minute
	// mostElsewhere bounds the Events of one such look, of each kind.
	mostElsewhere = 20
)

// tellElsewhere writes an Event about each object and template in a namespace that does not count, once for
// each and process, because its author waits for a fence in vain. It needs rights in all namespaces. Where these
// are missing, or something else fails, the log says so once, and no look fails: nothing but an Event
// depends on it. It takes no longer than the time to the next look.
func (a *Adopter) tellElsewhere(ctx context.Context) {
	at := a.Elapsed()
	a.mu.Lock()
	due := !a.apart.looked || at-a.apart.lookedAt >= lookElsewhere
	if due {
		a.apart.looked, a.apart.lookedAt = true, at
		if a.apart.told == nil {
			a.apart.told, a.apart.silent = map[string]map[types.UID]bool{}, map[string]bool{}
		}
	}
	a.mu.Unlock()
	if !due || ctx.Err() != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, Tick)
	defer cancel()
	for _, kind := range []string{far.Kind, far.TemplateKind} {
		told, err := a.tellOf(within, kind)
		a.mu.Lock()
		first := err != nil && !a.apart.silent[kind]
		a.apart.told[kind], a.apart.silent[kind] = told, err != nil
		a.mu.Unlock()
		if first && ctx.Err() == nil {
			a.Log.Warn("cannot tell of "+kind+"s in namespaces that do not count; this is said once", "function", Name, "error", err.Error())
		}
	}
}

// tellOf tells of those of one kind, and returns of which it was told.
func (a *Adopter) tellOf(ctx context.Context, kind string) (told map[types.UID]bool, err error) {
	a.mu.Lock()
	before := a.apart.told[kind]
	a.mu.Unlock()
	all, err := a.Objects.AllFARs(ctx, kind)
	if err != nil {
		return before, err
	}
	told = map[types.UID]bool{}
	tries := 0
	for i := range all {
		o := &all[i]
		was := before[o.UID]
		if a.Namespaces.Has(o.Namespace) || !far.Asks(&far.Object{ObjectMeta: *o}) || !was && tries >= mostElsewhere {
			continue
		}
		if !was {
			tries++
			if failed := a.Objects.TellFAR(ctx, kind, o, far.NotCounted(kind, a.Namespaces), Name); failed != nil {
				err = failed // the next such look tries this one again
				continue
			}
		}
		told[o.UID] = true
	}
	return told, err
}
