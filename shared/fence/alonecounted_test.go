package fence

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestADeletionIsCountedAnew: storm and budgets are asked once more right before a Machine
// is deleted, and before each further try, as before an Off (S14, S15).
func TestADeletionIsCountedAnew(t *testing.T) {
	type end struct {
		Phase api.Phase
		Act   Action
	}
	for name, c := range map[string]struct {
		brakes Brakes
		tried  bool
		want   end
	}{
		"nothing stands against it":              {Brakes{Looked: true, Counted: true}, false, end{api.Fencing, DeleteMachine}},
		"nobody has counted again":               {Brakes{Looked: true}, false, end{api.Fencing, None}},
		"a storm has begun":                      {Brakes{Looked: true, Counted: true, Storm: true}, false, end{api.Pending, None}},
		"nobody has counted before a second try": {Brakes{Looked: true}, true, end{api.Fencing, None}},
	} {
		t.Run(name, func(t *testing.T) {
			s := bareFound(state{now: walkStart, spec: bareSpec(), sh: shadow{moved: walkStart, renewed: "r0"}})
			now := walkStart.Add(time.Minute)
			f := &api.NodeFence{Spec: s.spec.spec(), Status: s.spec.in(s.st)}
			at, long := stampOf(now), stampOf(now.Add(-50*time.Second))
			f.Status.Phase, f.Status.PhaseSince, f.Status.DecidedAt = api.Fencing, &at, &at
			f.Status.Decision.Settings.Power.Attempts = 3
			if c.tried {
				f.Status.Machine = &api.MachineRecord{AskedAt: long, Tries: 1}
			}
			seen := usual(&s, now, "Unknown", false, "a")
			seen.Node, seen.MachineLooked, seen.Machine, seen.Brakes = Node{}, true, bareMachine(&s, true), c.brakes
			st, act := Decide(f, seen, now)
			if d := cmp.Diff(c.want, end{st.Phase, act}); d != "" {
				t.Errorf("%s(%s: %s)", d, st.Reason, st.Message)
			}
			if !AsksAnew(f) {
				t.Error("power is not told to count")
			}
		})
	}
}
