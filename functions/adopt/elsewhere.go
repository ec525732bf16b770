package adopt

import (
	"context"
	"errors"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
)

const (
	// lookElsewhere is the time between two looks at the objects that do not count: no fence waits for one.
	lookElsewhere = 2 * time.Minute
	// mostElsewhere bounds the Events of one such look.
	mostElsewhere = 20
)

// saidElsewhere is what a process has told of objects that do not count.
type saidElsewhere struct {
	looked   bool
	lookedAt time.Duration
	told     map[types.UID]bool
	// silent: an error was logged, and nothing succeeded since.
	silent bool
}

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
	}
	a.mu.Unlock()
	if !due || ctx.Err() != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, Tick)
	defer cancel()
	err := a.tellOf(within)
	a.mu.Lock()
	first := err != nil && !a.apart.silent
	a.apart.silent = err != nil
	a.mu.Unlock()
	if first && ctx.Err() == nil {
		a.Log.Warn("cannot tell of FenceAgentsRemediations or their templates in namespaces that do not count; this is said once", "function", Name, "error", err.Error())
	}
}

func (a *Adopter) tellOf(ctx context.Context) error {
	before, told, tries := a.wereTold(), map[types.UID]bool{}, 0
	var failed []error
	for _, kind := range []string{far.Kind, far.TemplateKind} {
		all, err := a.Objects.AllFARs(ctx, kind)
		if err != nil {
			failed = append(failed, err)
			maps.Copy(told, before)
			continue
		}
		for i := range all {
			o := &all[i]
			was := before[o.UID]
			if a.Namespaces.Has(o.Namespace) || !far.Asks(&far.Object{ObjectMeta: *o}) || !was && tries >= mostElsewhere {
				continue
			}
			if !was {
				tries++
				if err := a.Objects.TellFAR(ctx, kind, o, far.NotCounted(kind, a.Namespaces), Name); err != nil {
					failed = append(failed, err) // the next such look tries this one again
					continue
				}
			}
			told[o.UID] = true
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.apart.told = told
	return errors.Join(failed...)
}

func (a *Adopter) wereTold() map[types.UID]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.apart.told
}
