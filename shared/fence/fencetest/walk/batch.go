package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// pod by pod: what a walk adds for a release at a rate, under budgets. It is
// entered where a release begins and left where it ends, since nothing else reads
// how work is released.

// gentle is such a policy.
func gentle(s fencetest.Given) fencetest.Given {
	one := int32(1)
	s.Decision.Settings.Release = api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, PodsPerMinute: &one, RespectDisruptionBudgets: true}
	s.Decision.Settings.Release.Timeout.Duration = 130 * time.Second
	return s
}

func (s *State) isGentle() bool {
	return s.spec.Decision.Settings.Release.Strategy == api.ReleaseResourceDeletion
}

// mayBeGentle: a release of it may as well begin under such a policy.
func mayBeGentle(s *State) bool {
	return s.st.Phase == api.Releasing && s.st.Release.StartedAt == nil && !s.goes() && !s.isCounted() && !s.isJoined() && !s.isGentle() && !s.isEarly() && !s.isHeld() && !s.checked() &&
		!climbed(s) && s.spec.Decision.Asker() == nil && s.spec.Decision.Settings.Action.Device() && s.spec.Decision.Settings.Kdump == nil && len(s.spec.Decision.Isolation()) == 0 && s.st.Restarts == 0
}

// settled: a release that has ended is like any other.
func settled(s *State) {
	begun := s.st.Release.StartedAt != nil && s.st.Release.DoneAt == nil
	if s.isGentle() && s.st.Phase != api.Releasing && !(begun && s.st.Phase == api.Fencing) {
		plain := fencetest.Spec()
		s.spec.Decision.Settings.Release, s.spec.Decision.Settings.Release.Timeout = plain.Decision.Settings.Release, plain.Decision.Settings.Release.Timeout
		s.sh.deleted = time.Time{}
		s.st.Release.AskedAt, s.st.Release.BatchAt, s.st.Release.InMinute = nil, nil, 0
	}
}

// gentleKey is what such a release reads besides.
func gentleKey(s *State, age func(*api.Time, ...time.Duration) string) []any {
	deleted := observed.StampOf(s.sh.deleted)
	return []any{"gentle", age(s.st.Release.AskedAt, facts.Poll), age(s.st.Release.BatchAt, promisedMinute), s.st.Release.InMinute, age(&deleted, promisedMinute)}
}

// gentleLooks: two pods, of a budget that lets both go, one or none.
func gentleLooks(s *State, with func(func(*observed.Look))) {
	if !s.isGentle() || s.st.Phase != api.Releasing {
		return
	}
	pod := observed.Pod{Name: "p", Ready: true, Budgets: []string{"b"}}
	for allowed := range int32(3) {
		with(func(y *observed.Look) {
			y.Left = &observed.Left{Delete: []observed.Pod{pod, pod}, Attachments: 1, Budgets: map[string]observed.Disruption{"b": {Allowed: allowed, Healthy: 2, Wanted: 2}}}
		})
	}
	with(func(y *observed.Look) {
		y.Left = &observed.Left{Attachments: 1, Detach: []observed.Attachment{{Name: "v"}}}
	})
}

// deletedBy is when pods were really last asked to go.
func (sh *shadow) deletedBy(after *api.NodeFenceStatus, act fence.Action, now time.Time) {
	if act == fence.Release && after.Release.Batch > 0 {
		sh.deleted = now
	}
}

func checkGentle(s *State, sh *shadow, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if !s.isGentle() {
		return
	}
	say(!a.Placed.OutOfService, "S24: no taint frees all at once where the release is pod by pod")
	if act != fence.Release || seen.Left == nil {
		return
	}
	n := a.Release.Batch
	say(n <= 1 && (n == 0 || sh.deleted.IsZero() || now.Sub(sh.deleted) >= promisedMinute), "S24: no minute has more deletions than the rate")
	allowed := int32(0)
	for _, p := range seen.Left.Delete {
		if len(p.Budgets) == 0 {
			allowed++
		}
		for _, b := range p.Budgets {
			allowed = max(allowed, seen.Left.Budgets[b].Allowed)
		}
	}
	say(n <= allowed, "S24: no pod is deleted against its budget")
}
