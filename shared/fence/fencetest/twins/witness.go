package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenWitness are Decides that lack one guard of the device's check each.
var brokenWitness = map[string]walk.Decider{
	"takes a machine that is on for dead": onRead(func(c *observed.CallResult) bool { return c.Power == "On" }, "Off"),
	"takes unknown power for off":         onRead(func(c *observed.CallResult) bool { return c.Power == "" && !c.Wrong }, "Off"),
	"takes another machine's off for this one's": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := s.Call; asCheck(f) && c != nil && c.Wrong {
			c.Wrong, c.Power = false, "Off"
		}
	}),
	"takes unknown power for on": onRead(func(c *observed.CallResult) bool { return c.Power == "" && !c.Wrong }, "On"),
	"reads the machine before the others have answered": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		eachAnswer(s, func(a api.Answer) api.Answer {
			if a == "" && s.Checked.Results[0].Check == "1" {
				return api.AnswerNone
			}
			return a
		})
		if s.Checked != nil {
			s.Checked.Results[len(s.Checked.Results)-1].Answer = ""
		}
	}),
	"cuts the power instead of going back": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if asCheck(f) && s.Call == nil {
			f.Status.ActivityChecks.Reading = false
		}
	}),
	"goes on from the read without the gate": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if asCheck(f) && st.Phase == api.Pending && st.ActivityChecks != nil && st.ActivityChecks.Failed > 0 {
			st.Phase = api.Isolating
		}
		return st, act
	},
}

func asCheck(f *api.NodeFence) bool {
	return f.Status.Phase == api.Probing && f.Status.ActivityChecks != nil && f.Status.ActivityChecks.Reading
}

func onRead(which func(*observed.CallResult) bool, power string) walk.Decider {
	return Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := s.Call; asCheck(f) && c != nil && c.Call == api.CallRead && which(c) {
			c.Power, c.Err = power, ""
		}
	})
}
