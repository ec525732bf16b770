package cleanup

import (
	"context"
	"errors"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// mostEvicted bounds the pods that are asked to leave in one round. The others are asked in the
// next.
const mostEvicted = 50

// round are the pods that are asked in one round. Each begins where the last one ended, so that pods
// that are held keep no other waiting for ever.
func round(all []observed.Pod, number int32) []observed.Pod {
	if len(all) <= mostEvicted {
		return all
	}
	from := int(number-1) * mostEvicted % len(all)
	return slices.Concat(all[from:], all[:from])[:mostEvicted]
}

// drain asks pods that have to leave to do so. A pod that its disruption budget holds,
// and one that could not be asked, is told and asked again in a later round: neither is an error of
// this invocation. Each pod is named by its UID, so that it is asked as often as somebody likes, and
// one that was made anew under its name is not (S6). No pod is asked later than the round may last, by
// the record: a process that was stopped meanwhile may find the fence ended.
func (c *Cleaner) drain(ctx context.Context, f *api.NodeFence, draining *observed.Draining) (*observed.Evicted, error) {
	r := f.Status.Drain
	if r == nil || r.AskedAt == nil || draining == nil {
		return nil, errors.New("a drain that doesn't say when it asked is not carried out")
	}
	until := api.Time{Time: r.AskedAt.Add(facts.ActWithin)}
	pods := round(draining.Evict, r.Rounds)
	held, failed := make([]string, len(pods)), make([]string, len(pods))
	all := make([]func(context.Context) error, len(pods))
	for i, p := range pods {
		name := p.Namespace + "/" + p.Name
		all[i] = func(ctx context.Context) error {
			why, err := c.Client.EvictPod(ctx, p.Namespace, p.Name, p.UID)
			if err != nil {
				failed[i] = name + ": " + err.Error()
			} else if why != "" {
				held[i] = name + ": " + why
			}
			return nil
		}
	}
	err := c.carryOut(ctx, &until, all)
	none := func(s string) bool { return s == "" }
	return &observed.Evicted{Held: slices.DeleteFunc(held, none), Failed: slices.DeleteFunc(failed, none)}, err
}
