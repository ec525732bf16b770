package admission

import (
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/policy"
)

// brakes are those that Against has found so far.
type brakes observed.Brakes

// Against says what stands against a fence in the policies and the ledger as they are.
// The node is as it was just looked at.
func Against(f *api.NodeFence, policies []api.FencePolicy, n observed.Node, led *api.FenceLedger, now time.Time) observed.Brakes {
	b := brakes{Looked: true}
	is, selected := Live(policies, f, n, now)
	if unknown := !n.Exists && !f.Status.Decision.Trigger.Missing(); unknown || !selected {
		is = f.Status.Decision.ResolvedPolicy
		if !unknown {
			b.none(f)
		}
	} else {
		b.against(f, is, n)
	}
	limits := limitsNow(f, is)
	b.understood(policies, n, is, limits)
	b.limited(limits, policies, now)
	b.counted(underLive(f, is), n, led, now)
	if v := pictureUsable(led.Status.Leases, now); v != nil {
		b.Unwatched = v.Message
	}
	return observed.Brakes(b)
}

// none: no policy selects the node any more. What was begun runs to its end, without a
// further Off; anything else ends.
func (b *brakes) none(f *api.NodeFence) {
	b.Why, b.Message = api.PolicyDeleted, "no FencePolicy selects this node any more; it was fenced under "+facts.DecidingPolicy(f.Status.Decision.ResolvedPolicy)
	if b.Gone = !f.Status.Begun(); !b.Gone {
		b.Stopped = true
		b.Message += ": no further power is cut until one does"
	}
}

func (b *brakes) against(f *api.NodeFence, is api.ResolvedPolicy, n observed.Node) {
	was := f.Status.Decision.ResolvedPolicy
	b.Changed = changed(was, is)
	if is.Settings.Mode == api.ModeRequireApproval && facts.Approved(f.Requests(), &f.Status) {
		is.Settings.Mode = was.Settings.Mode // a person's yes stands for this cut, and for nothing else
	}
	in := hold.Input{Policy: is, Node: n}
	why, msg := stricter(was, is)
	if h := hold.First(in, hold.ByPolicy); h != nil {
		why, msg = h.Reason, h.Message
	}
	if why == "" {
		return
	}
	b.Stricter, b.Why, b.Message = true, why, msg
	b.Unmark = hold.Unmarks(hold.All(in, hold.ByPolicy, hold.ByMode)) || is.Settings.Action == api.ActionWaitForOff
}

// limited notes the pauses and the pause windows of the policies whose limits hold.
func (b *brakes) limited(limits []api.ScopedLimits, policies []api.FencePolicy, now time.Time) {
	for _, lim := range limits {
		for i := range policies {
			p := &policies[i]
			if p.Name != lim.Policy || lim.SkipFrom > 0 {
				continue
			}
			if len(p.Spec.PauseWindows) > 0 {
				b.Windows = append(b.Windows, policy.Windows{Policy: p.Name, Windows: p.Spec.PauseWindows})
			}
			if by := policy.Pauses(p, now); len(by) > 0 && !b.Paused && !b.Stopped {
				b.Paused, b.Message = true, facts.PolicyNamed(p.Name, p.Generation)+" is paused by "+strings.Join(by, ", ")
			}
		}
	}
}

// counted notes what the ledger says.
func (b *brakes) counted(f *api.NodeFence, n observed.Node, led *api.FenceLedger, now time.Time) {
	say := func(why api.Reason, msg string) {
		if !b.Paused && !b.Stopped && !b.Stricter && !b.Gone {
			b.Why, b.Message = why, msg
		}
	}
	msg, lost := Storming(f, n.Labels, led), releaseVouched(f, led, now)
	if lost != nil {
		b.Lost = lost.By + " says that the node is lost: " + lost.Reason
	}
	if msg != "" && lost == nil {
		b.Storm = true
		say("", msg)
	} else if v := StormOfLeases(led, now); v != nil {
		b.Storm = true // S15, S16
		say(v.Reason, v.Message)
	}
	// The gate has forgotten a storm whose cool-down was ended. One that would be over by now has ended by itself.
	if e := led.Spec.CoolDownEnded; e != nil && e.By != "" && e.Until.After(now) {
		b.Ended = e.By + " has ended the cool-down: " + e.Reason
	}
	if why, msg := Stopped(led); why != "" {
		b.Stopped, b.Gone, b.Why, b.Message = true, false, why, msg
	}
}

// understood notes a policy that may be about the node and is not understood. What it says
// of mode and action is not to go by: no mark is taken away for it.
func (b *brakes) understood(policies []api.FencePolicy, n observed.Node, is api.ResolvedPolicy, limits []api.ScopedLimits) {
	p := policy.NotUnderstood(policies, n.Labels, limits)
	if p == nil || b.Gone || b.Stopped {
		return
	}
	if p.Name == is.Policy.Name {
		b.Stricter, b.Unmark = false, false
	}
	b.Stopped, b.Why, b.Message = true, api.PolicyNotUnderstood, policy.PolicyWords(p)
}
