package devicecall

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/fence"
)

// jobs is a device whose words are carried out by Jobs, some of which are seen to end.
type jobs struct {
	call        Claim
	made, ended int
	err         error
}

func (j *jobs) do() error {
	for range j.made {
		j.call.Made("call")
	}
	for i := range j.ended {
		j.call.Ended(time.Duration(i+1) * time.Second)
	}
	return j.err
}

func (j *jobs) State(context.Context) (device.Reading, error) { return device.Reading{}, j.do() }
func (j *jobs) Off(context.Context) error                     { return j.do() }
func (j *jobs) On(context.Context) error                      { return j.do() }

// TestWhatWasSeenToEnd: a call is known to have ended if it returned without an error, all
// its Jobs were seen to end, and nothing else carried it out (S10).
func TestWhatWasSeenToEnd(t *testing.T) {
	second := time.Second
	two := 2 * time.Second
	for name, tc := range map[string]struct {
		jobs    jobs
		members int
		act     fence.Action
		want    *time.Duration
	}{
		"its Job was":             {jobs: jobs{made: 1, ended: 1}, act: fence.Off, want: &second},
		"an on, too":              {jobs: jobs{made: 1, ended: 1}, act: fence.On, want: &second},
		"the slower one counts":   {jobs: jobs{made: 2, ended: 2}, act: fence.Off, want: &two},
		"its Job was not":         {jobs: jobs{made: 1}, act: fence.Off},
		"one of two was":          {jobs: jobs{made: 2, ended: 1}, act: fence.Off},
		"it was, and failed":      {jobs: jobs{made: 1, ended: 1, err: errors.New("no")}, act: fence.Off},
		"there was none":          {act: fence.Off},
		"a set has other members": {jobs: jobs{made: 1, ended: 1}, members: 2, act: fence.Off},
		"a read changes nothing":  {jobs: jobs{made: 1, ended: 1}, act: fence.Read},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			k := Caller{Now: func() time.Time { return now }, Open: func(_ context.Context, _ *api.Binding, c Claim) (device.Driver, error) {
				tc.jobs.call = c
				return &tc.jobs, nil
			}}
			f := &api.NodeFence{Status: api.NodeFenceStatus{Claim: &api.Claim{NotAfter: metav1.NewMicroTime(now.Add(time.Minute))}}}
			got, err := k.Make(t.Context(), f, &api.Binding{Members: make([]api.SetMember, tc.members)}, tc.act)
			if !errors.Is(err, tc.jobs.err) {
				t.Error(err)
			}
			if d := cmp.Diff(tc.want, got.Late); d != "" {
				t.Error(d)
			}
		})
	}
}
