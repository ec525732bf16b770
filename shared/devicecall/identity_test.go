package devicecall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// answering is a device that reads on, as this machine, or refuses us. It may be a set of which one
// can't be read.
type answering struct {
	as          string
	unread, err error
}

func (a answering) State(context.Context) (device.Reading, error) {
	if a.err != nil {
		return device.Reading{}, a.err
	}
	return device.Reading{Power: device.On, Identity: a.as, Unread: a.unread}, nil
}
func (a answering) Off(context.Context) error { return a.err }
func (a answering) On(context.Context) error  { return a.err }

const (
	mine    = "00112233-4455-6677-8899-aabbccddeeff"
	swapped = "33221100-5544-7766-8899-aabbccddeeff"
	theirs  = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	another = "3c2d1e0f-5a4b-7869-8796-a5b4c3d2e1f0"
)

func said(t *testing.T, d device.Driver, b *api.Binding, a fence.Action) *observed.CallResult {
	t.Helper()
	now := time.Now()
	k := Caller{
		Now:  func() time.Time { return now },
		Open: func(context.Context, *api.Binding, Claim) (device.Driver, error) { return d, nil },
		Whose: func(_ context.Context, identity string) (node, enrolled string, err error) {
			if device.SameIdentity(identity, theirs) {
				return "b", theirs, nil
			}
			return "", "", nil
		},
	}
	f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "7"}, Status: api.NodeFenceStatus{Claim: &api.Claim{NotAfter: metav1.NewMicroTime(now.Add(time.Minute))}}}
	c, err := k.Make(t.Context(), f, b, a)
	if (err == nil) != (c.Err == "") {
		t.Errorf("%v is no %q", err, c.Err)
	}
	c.At = time.Time{}
	return c
}

// TestWhichMachineAnswers: a machine is written as it was enrolled, whatever the order of
// its bytes in the device; another one by its node; and an identity that was told before
// is demanded (S11).
func TestWhichMachineAnswers(t *testing.T) {
	dead := fmt.Errorf("device bmc of the set: %w", device.ErrUnreachable)
	read := func(c observed.CallResult) observed.CallResult { c.Call = api.CallRead; return c }
	for name, tc := range map[string]struct {
		as     string
		unread error
		bound  api.Binding
		want   observed.CallResult
	}{
		"as it was enrolled":            {mine, nil, api.Binding{Identity: mine}, read(observed.CallResult{Power: "On", Identity: mine})},
		"in another order of its bytes": {swapped, nil, api.Binding{Identity: mine}, read(observed.CallResult{Power: "On", Identity: mine})},
		"it never told":                 {"", nil, api.Binding{Identity: mine}, read(observed.CallResult{Power: "On"})},
		"none was enrolled":             {swapped, nil, api.Binding{}, read(observed.CallResult{Power: "On", Identity: swapped})},
		"it told before, and does no more": {"", nil, api.Binding{Driver: "ipmi", Identity: mine, Tells: true}, read(observed.CallResult{
			Err: "device does not know this machine: it told before that it is machine " + mine + ", and tells no machine now; see what answers at its address, or mend the address of its device",
		})},
		"it told before, and may be the one of the set that can't be read": {"", dead, api.Binding{Driver: "set", Identity: mine, Tells: true}, read(observed.CallResult{Err: dead.Error()})},
		"another of the set can't be read":                                 {mine, dead, api.Binding{Driver: "set", Identity: mine, Tells: true}, read(observed.CallResult{Power: "On", Identity: mine})},
		"another node's": {another, nil, api.Binding{Identity: mine}, read(observed.CallResult{
			Wrong: true, Identity: theirs, Whose: "b",
			Err: "device does not know this machine: it is the device of node b: it answers for " + theirs + ", enrolled is " + mine + "; mend the address of its device",
		})},
		"the enrolled one, which two nodes have": {mine, nil, api.Binding{Identity: mine, IdentityFault: "two nodes have"}, read(observed.CallResult{
			Wrong: true, Identity: mine,
			Err: "device does not know this machine: it answers for " + mine + ", and enrolled is " + mine + ", which two nodes have; see that the device is the node's, then write identity= into its method, or kubectl fence enrol 7",
		})},
		"it never told, and two nodes have the enrolled one": {"", nil, api.Binding{Identity: mine, IdentityFault: "two nodes have"}, read(observed.CallResult{Power: "On"})},
		"nobody's": {"x", nil, api.Binding{Identity: mine}, read(observed.CallResult{
			Wrong: true, Identity: "x", Err: "device does not know this machine: it answers for x, enrolled is " + mine + "; mend the address of its device",
		})},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(&tc.want, said(t, answering{as: tc.as, unread: tc.unread}, &tc.bound, fence.Read)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestRemedyOfASet names the Secret of each of its devices, once.
func TestRemedyOfASet(t *testing.T) {
	of := func(secret string) api.SetMember {
		return api.SetMember{SecretRefs: []api.SecretRef{{Parameter: "password", Kind: api.KindSecret, Name: secret, Key: "pass"}}}
	}
	got := Remedy(&api.Binding{Members: []api.SetMember{of("pdu-b"), of("pdu-a"), of("pdu-b"), {}}})
	if want := "mend its user, its password or what it may do: Secret pdu-a, key pass or Secret pdu-b, key pass"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestARefusedAccountLeadsWithTheRemedy, also where the device says much.
func TestARefusedAccountLeadsWithTheRemedy(t *testing.T) {
	err := errors.Join(device.ErrDenied, errors.New(strings.Repeat("protocol ", 100)))
	b := &api.Binding{SecretRefs: []api.SecretRef{{Parameter: "password", Kind: api.KindSecret, Name: "bmc-7", Key: "pass"}}}
	for _, a := range []fence.Action{fence.Read, fence.Off} {
		c := said(t, answering{err: err}, b, a)
		if !c.Denied || !strings.HasPrefix(c.Err, "mend its user, its password or what it may do: Secret bmc-7, key pass: device denied access") {
			t.Errorf("%s: %+v", a, c)
		}
	}
}
