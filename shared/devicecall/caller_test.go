package devicecall

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/mem"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestNothingIsSaidAfterTheClaimsTime, also if this process was stopped while it opened the
// device: another process may have gone on since (S8).
func TestNothingIsSaidAfterTheClaimsTime(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for stood, want := range map[time.Duration]int{0: 1, 9 * time.Second: 1, 10 * time.Second: 0, time.Hour: 0} {
		now := start
		rack := mem.NewRack(func() time.Time { return now })
		talk := Caller{Now: func() time.Time { return now }, Open: func(context.Context, *api.Binding, Claim) (device.Driver, error) {
			now = now.Add(stood)
			return rack.Kind().Open(map[string]string{"name": "m"})
		}}
		f := &api.NodeFence{Status: api.NodeFenceStatus{Claim: &api.Claim{Holder: "me", Call: api.CallOff, NotAfter: metav1.NewMicroTime(start.Add(10 * time.Second))}}}
		_, err := talk.Make(t.Context(), f, &api.Binding{Driver: "mem"}, fence.Off)
		if got := len(rack.Commands("m")); got != want || (err == nil) != (want == 1) {
			t.Errorf("after %s: %d commands, %v", stood, got, err)
		}
	}
}

// TestASecretForAnotherHost has its own reason in a fence's record.
func TestASecretForAnotherHost(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	talk := Caller{Now: func() time.Time { return now }, Open: func(context.Context, *api.Binding, Claim) (device.Driver, error) {
		return nil, fmt.Errorf("%w: Secret s", device.ErrNotForHost)
	}}
	f := &api.NodeFence{Status: api.NodeFenceStatus{Claim: &api.Claim{Holder: "me", Call: api.CallRead, NotAfter: metav1.NewMicroTime(now.Add(time.Second))}}}
	got, _ := talk.Make(t.Context(), f, &api.Binding{Driver: "mem"}, fence.Action(api.CallRead))
	want := &observed.CallResult{Call: api.CallRead, At: now, Err: "SecretNotForThisHost: Secret s", Why: api.SecretNotForThisHost}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// late is a device whose conversation takes longer than this machine is awake.
type late struct {
	device.Driver
	pass func()
}

func (l late) Off(ctx context.Context) error {
	l.pass()
	return device.InTime(ctx)
}

// TestTheClaimEndsInMidConversation: the machine was suspended after the call had begun,
// and the driver notices that right before it sends the command (S8).
func TestTheClaimEndsInMidConversation(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for slept, want := range map[time.Duration]bool{0: true, 9 * time.Second: true, 10 * time.Second: false} {
		now := start
		k := Caller{Now: func() time.Time { return now }, Open: func(context.Context, *api.Binding, Claim) (device.Driver, error) {
			return late{pass: func() { now = now.Add(slept) }}, nil
		}}
		f := &api.NodeFence{Status: api.NodeFenceStatus{Claim: &api.Claim{Holder: "me", Call: api.CallOff, NotAfter: metav1.NewMicroTime(start.Add(10 * time.Second))}}}
		if _, err := k.Make(t.Context(), f, &api.Binding{Driver: "mem"}, fence.Off); (err == nil) != want {
			t.Errorf("asleep for %s: %v", slept, err)
		}
	}
}

// kept is a device whose library has its call's context after the call has ended.
type kept struct {
	device.Driver
	ctx context.Context
}

func (k *kept) Off(ctx context.Context) error {
	k.ctx = ctx
	return nil
}

// TestTheTimeOfACallIsKnownAfterIt, when the next decision has taken the claim off the record: net/http
// may still read the body of a request whose call has ended.
func TestTheTimeOfACallIsKnownAfterIt(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now, d := start, &kept{}
	k := Caller{Now: func() time.Time { return now }, Open: func(context.Context, *api.Binding, Claim) (device.Driver, error) { return d, nil }}
	f := &api.NodeFence{Status: api.NodeFenceStatus{Claim: &api.Claim{Holder: "me", Call: api.CallOff, NotAfter: metav1.NewMicroTime(start.Add(10 * time.Second))}}}
	if _, err := k.Make(t.Context(), f, &api.Binding{Driver: "mem"}, fence.Off); err != nil {
		t.Fatal(err)
	}
	f.Status.Claim = nil
	now = start.Add(time.Hour)
	if left, bounded := device.Left(d.ctx); !bounded || left != 10*time.Second-time.Hour {
		t.Errorf("%s are left (%v)", left, bounded)
	}
}

// slow is a device that answers when its caller gives up.
type slow struct{ device.Driver }

func (slow) Off(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestACallIsNoLongerThanItsProcessMayMakeIt, though the claim of a gate that is set otherwise
// lasts longer (S7, S10).
func TestACallIsNoLongerThanItsProcessMayMakeIt(t *testing.T) {
	for longest, want := range map[time.Duration]time.Duration{0: time.Minute, 20 * time.Second: 20 * time.Second, 2 * time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			k := Caller{Now: time.Now, Longest: longest, Open: func(context.Context, *api.Binding, Claim) (device.Driver, error) { return slow{}, nil }}
			start := time.Now()
			f := &api.NodeFence{Status: api.NodeFenceStatus{Claim: &api.Claim{Holder: "me", Call: api.CallOff, NotAfter: metav1.NewMicroTime(start.Add(time.Minute))}}}
			if _, err := k.Make(t.Context(), f, &api.Binding{Driver: "mem"}, fence.Off); err == nil || time.Since(start) != want {
				t.Errorf("a process of %s: %s, %v; want %s", longest, time.Since(start), err, want)
			}
		})
	}
}
