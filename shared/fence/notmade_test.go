package fence_test

import (
	"slices"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAnOffThatWasNotMade waited for too long for its turn. The record says so and counts no
// Off (S28), and no Off is sent until somebody has counted anew (S25).
func TestAnOffThatWasNotMade(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: observed.StampOf(now)}
	})
	st, act := fence.Decide(f, s, now)
	if act != fence.Off || st.Power.OffCalls != 1 || st.Claim == nil {
		t.Fatalf("%s, %s, %d Offs, claim %v", st.Message, act, st.Power.OffCalls, st.Claim)
	}
	f.Status, s.Call, s.Brakes.Counted = st, &observed.CallResult{NotMade: true}, false
	st, act = fence.Decide(f, s, now)
	if act != fence.None || st.Claim != nil || st.Power.OffCalls != 0 {
		t.Errorf("not made: %s, %d Offs, claim %v", act, st.Power.OffCalls, st.Claim)
	}
	if !slices.ContainsFunc(st.History, func(h api.HistoryEntry) bool { return h.Reason == api.CallNotMade }) {
		t.Errorf("history does not say that the Off was not made: %+v", st.History)
	}
	f.Status, s.Call, s.Brakes.Counted = st, nil, true
	if st, act = fence.Decide(f, s, now); act != fence.Off || st.Power.OffCalls != 1 {
		t.Errorf("counted anew: %s, %s, %d Offs", st.Message, act, st.Power.OffCalls)
	}
}
