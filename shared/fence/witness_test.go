package fence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestTheDevicesAnswer: what each reading is worth, and that the slot is given back.
func TestTheDevicesAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		spec   fencetest.Given
		call   observed.CallResult
		answer api.Answer
		says   string
		done   int32
		failed int32
	}{
		"off is a witness for dead":                  {specs.DeviceAlone(), observed.CallResult{Power: "Off"}, api.AnswerNone, "reads off", 1, 1},
		"on alone is done, and has not failed":       {specs.DeviceAlone(), observed.CallResult{Power: "On"}, api.AnswerNeither, "is on", 1, 0},
		"on leaves it to the others":                 {specs.Device(), observed.CallResult{Power: "On"}, api.AnswerNeither, "is on", 1, 1},
		"off beside the others":                      {specs.Device(), observed.CallResult{Power: "Off"}, api.AnswerNone, "reads off", 1, 1},
		"unknown is neither, and is repeated (S2)":   {specs.Device(), observed.CallResult{Err: "timeout"}, api.AnswerError, "timeout", 0, 0},
		"stopping is not stopped":                    {specs.DeviceAlone(), observed.CallResult{Err: "stopping", Stopping: true}, api.AnswerError, "stopping", 0, 0},
		"another machine's off is nobody's (S11)":    {specs.DeviceAlone(), observed.CallResult{Wrong: true}, api.AnswerError, "another machine", 0, 0},
		"another machine's, whatever power it tells": {specs.DeviceAlone(), observed.CallResult{Wrong: true, Power: "Off"}, api.AnswerError, "another machine", 0, 0},
	} {
		at, now := observed.StampOf(fencetest.Start), fencetest.Start.Add(time.Minute)
		started := observed.StampOf(now.Add(-time.Second))
		f := &api.NodeFence{Spec: c.spec.AsSpec(), Status: c.spec.In(api.NodeFenceStatus{})}
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
			Phase: api.Probing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, DecidedAt: &started,
			Lease:          api.LeaseRecord{Renewed: "r0", StillSince: &at},
			Claim:          &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, At: started, NotAfter: observed.StampOf(now.Add(time.Second))},
			ActivityChecks: &api.ActivityRecord{Reading: true, CheckRound: api.CheckRound{Number: 1, StartedAt: &started, Since: &at}},
		}
		for i, check := range c.spec.Decision.Settings.ActivityChecks.Checks {
			r := api.CheckResult{Check: fmt.Sprintf("%d kubelet", i+1), Answer: api.AnswerNone, Message: "silent"}
			if check.Type == api.CheckDevice {
				r = api.CheckResult{Check: facts.DeviceCheck(i + 1)}
			}
			f.Status.ActivityChecks.Results = append(f.Status.ActivityChecks.Results, r)
		}
		seen := fencetest.Look(f, now, "Unknown", false, "a")
		c.call.Call, c.call.At = api.CallRead, now
		seen.Call = &c.call
		st, act := fence.Decide(f, seen, now)
		last := st.ActivityChecks.Results[len(st.ActivityChecks.Results)-1]
		if last.Answer != c.answer || !strings.Contains(last.Message, c.says) {
			t.Errorf("%s: %+v", name, last)
		}
		if st.Phase != api.Pending || act != fence.None || st.ActivityChecks.Reading || st.DecidedAt != nil || st.Power.LastRead != nil {
			t.Errorf("%s: %s, action %q, %+v", name, st.Phase, act, st.ActivityChecks)
		}
		if d := cmp.Diff([]int32{c.done, c.failed}, []int32{st.ActivityChecks.Done, st.ActivityChecks.Failed}); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(&started, st.GivenBack); d != "" {
			t.Errorf("%s: the slot: %s", name, d)
		}
	}
}
