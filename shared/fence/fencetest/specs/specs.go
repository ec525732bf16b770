package specs

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Held is of a node whose policies have pause windows.
func Held() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Policy.Name = "held"
	s.Decision.Settings.Release.Timeout.Duration = 200 * time.Second // a release may go on after a restore
	return s
}

// Gone is of a node whose Node object is deleted when its work is released.
func Gone() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Settings.Action, s.Decision.Settings.Release.DeleteNode = api.ActionOff, true
	return s
}

// WaitForOff is of a machine that may be read and never switched.
func WaitForOff() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Settings.Action = api.ActionWaitForOff
	return s
}

const (
	// EarlyStill is for how long a Lease stands still before Early opens.
	EarlyStill = 6 * time.Second
	// EarlyFor is for how long the policy's condition must hold, of Early and of Joined.
	EarlyFor = 20 * time.Second
)

// Early is of a fence that opens for a still Lease alone.
func Early() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Trigger = api.Trigger{Type: api.TriggerLeaseStill, LeaseStill: &api.LeaseStillTrigger{}, Since: metav1.NewMicroTime(fencetest.Start)}
	s.Decision.Settings.EarlyProbe = &api.ProbeSetting{LeaseStillDuration: metav1.Duration{Duration: EarlyStill}}
	s.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Ready", Status: "Unknown", Duration: metav1.Duration{Duration: EarlyFor}}}
	return s
}

// Manual is of a node that is given back when a person says so.
func Manual() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Settings.Recovery.Uncordon = api.UncordonManual
	return s
}

// PowerDelay is how long a node of Delayed is isolated before its power is cut. It is longer than
// a yes of the gate is valid.
const PowerDelay = 90 * time.Second

// Delayed is of a node that is isolated for some time before its power is cut.
func Delayed() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Settings.Isolation.PowerDelay.Duration = PowerDelay
	return s
}

// DrainTimeout is how long a node of Draining and GivesUp is drained.
const DrainTimeout = 40 * time.Second

// DrainSilence is how long their nodes are not Ready before that is a condition of the policy.
const DrainSilence = 25 * time.Second

// Draining is of a fence that somebody asks for, whose node is drained while it lives.
func Draining() fencetest.Given {
	s := Request()
	s.Decision.Settings.Drain = api.DrainSettings{Timeout: metav1.Duration{Duration: DrainTimeout}, OnTimeout: api.DrainThenFence}
	s.Decision.Settings.UnhealthyConditions[0].Duration.Duration = DrainSilence
	s.Decision.AskedBy[0].User = "ann"
	return s
}

// Skips is of one that two ask for, of whom the second wants no drain.
func Skips() fencetest.Given {
	s := Draining()
	s.Decision.AskedBy = append(s.Decision.AskedBy, api.AskedBy{ID: "2", Source: "/me", Type: "t", User: "bob", Drain: api.DrainSkip, JoinedAt: observed.StampOf(fencetest.Start)})
	return s
}

// GivesUp is of one that is given up if its node is not empty in time.
func GivesUp() fencetest.Given {
	s := Draining()
	s.Decision.Settings.Drain.OnTimeout = api.DrainThenGiveUp
	return s
}

// Request is of a fence that an event asked for, whatever the node's health.
func Request() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Trigger, s.Decision.AskedBy = api.Trigger{Type: api.TriggerRequest}, []api.AskedBy{{ID: "1", Source: "/me", Type: "t", JoinedAt: observed.StampOf(fencetest.Start)}}
	return s
}

// Isolate is of a node of which no device is touched.
func Isolate() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Settings.Action = api.ActionIsolate
	return s
}

// Levels is of a node that can be switched in two ways.
func Levels() fencetest.Given {
	s := fencetest.Spec()
	fencetest.Powered(&s.Decision, *s.Decision.Power(0), api.Binding{Driver: "mem", Address: "m", EffectDelay: metav1.Duration{Duration: time.Second}, Lead: &metav1.Duration{Duration: fencetest.Lead}})
	return s
}

// Reported is of a fence that reports of problems opened, under a policy whose condition must hold for
// a while.
func Reported() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Trigger = api.Trigger{Type: api.TriggerProblem, Since: metav1.NewMicroTime(fencetest.Start)}
	s.Decision.AskedBy = []api.AskedBy{{ID: "1", Source: "/me", Type: api.ProblemEventType, User: "node problem TaskHung", JoinedAt: observed.StampOf(fencetest.Start)}}
	s.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Ready", Status: "Unknown", Duration: metav1.Duration{Duration: EarlyFor}}}
	return s
}
