package readiness

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/devicecall"
)

// TestVerdict: each way in which a device may answer, in one word.
func TestVerdict(t *testing.T) {
	const lacks = "device pdu2 of the set can't be read"
	on := device.Reading{Power: device.On, Identity: "x"}
	for name, tc := range map[string]struct {
		driver, enrolled string
		reading          device.Reading
		err              error
		ready            bool
		want             api.Reason
	}{
		"on, and it":                            {"ipmi", "x", on, nil, true, api.DeviceAnswers},
		"on, and it can't tell whose":           {"pdu", "x", device.Reading{Power: device.On}, nil, true, api.DeviceAnswers},
		"off, and its node is not Ready":        {"ipmi", "x", device.Reading{Power: device.Off, Identity: "x"}, nil, false, api.DeviceAnswers},
		"off, and its node is Ready":            {"pdu", "", device.Reading{Power: device.Off}, nil, true, api.SignOfLife},
		"another's":                             {"ipmi", "y", on, nil, true, api.WrongMachine},
		"another's, off, and its node is Ready": {"ipmi", "y", device.Reading{Power: device.Off, Identity: "x"}, nil, true, api.WrongMachine},
		"a set of which one can't be read":      {"set", "x", device.Reading{Power: device.On, Identity: "x", MissingSupply: lacks, Unread: fmt.Errorf("%w: x", device.ErrUnreachable)}, nil, true, api.DeviceUnreachable},
		"a set of which one refuses us":         {"set", "x", device.Reading{Power: device.On, Identity: "x", MissingSupply: lacks, Unread: fmt.Errorf("%w: x", device.ErrDenied)}, nil, true, api.DeviceDenied},
		"a set of which one does not tell":      {"set", "x", device.Reading{Power: device.On, Identity: "x", MissingSupply: lacks, Unread: errors.New("its power is not known")}, nil, true, api.DeviceFailed},
		"a set of which one reads off":          {"set", "x", device.Reading{Power: device.On, Identity: "x", MissingSupply: lacks}, nil, true, api.DeviceFailed},
		"another's set, of which one is dead":   {"set", "y", device.Reading{Power: device.On, Identity: "x", MissingSupply: lacks, Unread: device.ErrUnreachable}, nil, true, api.WrongMachine},
		"it does not tell":                      {"vsphere", "x", device.Reading{Identity: "x"}, nil, true, api.DeviceFailed},
		"it knows no such machine":              {"vsphere", "x", device.Reading{}, fmt.Errorf("%w: x", device.ErrUnknown), true, api.MachineUnknown},
		"nobody is there":                       {"ipmi", "x", device.Reading{}, fmt.Errorf("%w: x", device.ErrUnreachable), true, api.DeviceUnreachable},
		"it took too long":                      {"ipmi", "x", device.Reading{}, fmt.Errorf("read: %w", context.DeadlineExceeded), true, api.DeviceUnreachable},
		"what came was no answer of it":         {"ipmi", "x", device.Reading{}, fmt.Errorf("%w: x", device.ErrInvalid), true, api.DeviceFailed},
		"it lets nobody in":                     {"ipmi", "x", device.Reading{}, fmt.Errorf("%w: x", device.ErrDenied), true, api.DeviceDenied},
		"it can't":                              {"ipmi", "x", device.Reading{}, fmt.Errorf("%w: x", device.ErrUnsupported), true, api.DeviceFailed},
		"a person is its device":                {"manual", "x", device.Reading{}, fmt.Errorf("%w: x", device.ErrUnsupported), true, api.ManualOnly},
		"its Secret names other hosts":          {"ipmi", "x", device.Reading{}, fmt.Errorf("%w: %w: Secret s", errCredentials, device.ErrNotForHost), true, api.SecretNotForThisHost},
		"its Secret is missing":                 {"ipmi", "x", device.Reading{}, fmt.Errorf("%w: secret s does not exist", errCredentials), true, api.BindingInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdict(api.TargetDevice{}, "7", &api.Binding{Driver: tc.driver, Identity: tc.enrolled}, tc.reading, tc.err, tc.ready)
			if d := cmp.Diff(tc.want, got.Reason); d != "" {
				t.Error(d)
			}
			if (got.Message == "") != (tc.want == api.DeviceAnswers) {
				t.Errorf("it says %q", got.Message)
			}
		})
	}
}

// TestNamelessVerdict: what a device has told once it must tell for ever (S11).
func TestNamelessVerdict(t *testing.T) {
	b := &api.Binding{Driver: "ipmi", Identity: "x"}
	never := verdict(api.TargetDevice{}, "7", b, device.Reading{Power: device.On}, nil, true)
	once := verdict(never, "7", b, device.Reading{Power: device.On, Identity: "x"}, nil, true)
	failed := verdict(once, "7", b, device.Reading{}, fmt.Errorf("%w: x", device.ErrUnreachable), true)
	silent := verdict(failed, "7", b, device.Reading{Power: device.On, Unread: device.ErrUnreachable}, nil, true) // the one of a set that tells
	nameless := verdict(silent, "7", b, device.Reading{Power: device.On}, nil, true)
	got := []api.Reason{never.Reason, once.Reason, failed.Reason, silent.Reason, nameless.Reason}
	if d := cmp.Diff([]api.Reason{api.DeviceAnswers, api.DeviceAnswers, api.DeviceUnreachable, api.DeviceUnreachable, api.WrongMachine}, got); d != "" {
		t.Error(d)
	}
}

// TestVerdictWithoutAnIdentity: where the enrolled identity is none, no answer for a machine is
// in order, and an answer without a machine is as ever (S11).
func TestVerdictWithoutAnIdentity(t *testing.T) {
	b := &api.Binding{Driver: "ipmi", Identity: "x", IdentityFault: "is shared"}
	for identity, want := range map[string]api.TargetDevice{
		"x": {Identity: "x", State: api.PoweredOn, Reason: api.NoIdentity, Message: "it answers for machine x, and enrolled is x, which is shared; see that the device is the node's, then write identity= into its method, or kubectl fence enrol 7"},
		"":  {State: api.PoweredOn, Reason: api.DeviceAnswers},
	} {
		if d := cmp.Diff(want, verdict(api.TargetDevice{}, "7", b, device.Reading{Power: device.On, Identity: identity}, nil, true)); d != "" {
			t.Error(d)
		}
	}
}

// TestWhatIsSaidOfANode: the first device that can't be used speaks for its node. Where there is none, a person
// does, who is in order if that is meant, and then one that was not read.
func TestWhatIsSaidOfANode(t *testing.T) {
	well, unread, person, silent, denied := api.DeviceAnswers, api.NotCheckedYet, api.ManualOnly, api.DeviceUnreachable, api.DeviceDenied
	for _, tc := range []struct {
		devices []api.Reason
		want    string
	}{
		{[]api.Reason{well, well}, "True DeviceAnswers: each of its devices answers, and for this machine as far as it can tell"},
		{[]api.Reason{well, unread}, "Unknown NotCheckedYet: level 2 of 2, d 1: it was not read yet"},
		{[]api.Reason{unread, silent}, "False DeviceUnreachable: level 2 of 2, d 1: m1"},
		{[]api.Reason{silent, denied}, "False DeviceUnreachable: level 1 of 2, d 0: m0"},
		{[]api.Reason{well, person}, "False ManualOnly: level 2 of 2, d 1: m1"},
		{[]api.Reason{person, unread}, "False ManualOnly: level 1 of 2, d 0: m0"},
		{[]api.Reason{person, silent}, "False DeviceUnreachable: level 2 of 2, d 1: m1"},
		{[]api.Reason{person, person}, "False ManualOnly: level 1 of 2, d 0: m0"},
	} {
		ft := &api.FenceTarget{}
		for i, r := range tc.devices {
			ft.Status.Devices = append(ft.Status.Devices, api.TargetDevice{Role: api.RolePower, Driver: "d", Address: fmt.Sprint(i), Reason: r, Message: fmt.Sprint("m", i)})
		}
		summarise(ft, nil, "", metav1.NowMicro())
		c := ft.Status.Conditions[0]
		if got := fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.devices, got, tc.want)
		}
	}
}

// TestARefutedCutMakesANodeUnfenceable: whatever its device says. A fault in the configuration comes first.
func TestARefutedCutMakesANodeUnfenceable(t *testing.T) {
	for _, unfit := range []*Unfit{nil, {Reason: api.BindingInvalid, Err: errors.New("no key")}} {
		ft := &api.FenceTarget{}
		ft.Status.Devices = []api.TargetDevice{{Role: api.RolePower, Driver: "d", Address: "a", Reason: api.DeviceAnswers}}
		summarise(ft, unfit, "it never was off", metav1.NowMicro())
		want := "False CutRefuted: it never was off"
		if unfit != nil {
			want = "False BindingInvalid: no key"
		}
		c := ft.Status.Conditions[0]
		if got := fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestADeviceThatRefusedUsRests: a check of a healthy node is not to lock the account.
func TestADeviceThatRefusedUsRests(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *api.Time { t := metav1.NewMicroTime(now.Add(-d)); return &t }
	denied, well := api.DeviceDenied, api.DeviceAnswers
	for name, tc := range map[string]struct {
		devices []api.TargetDevice
		wish    *api.CheckNow
		want    int
	}{
		"it refused us just now":              {[]api.TargetDevice{{Reason: denied, LastChecked: ago(10 * time.Minute)}}, nil, -1},
		"a person has asked since":            {[]api.TargetDevice{{Reason: denied, LastChecked: ago(10 * time.Minute)}}, &api.CheckNow{At: *ago(time.Minute)}, 0},
		"it refused us since a person asked":  {[]api.TargetDevice{{Reason: denied, LastChecked: ago(10 * time.Minute)}}, &api.CheckNow{At: *ago(11 * time.Minute)}, -1},
		"a person asked, and was answered":    {[]api.TargetDevice{{Reason: denied, LastChecked: ago(10 * time.Minute)}}, &api.CheckNow{At: *ago(time.Minute), DoneAt: ago(time.Minute)}, -1},
		"it refused us an hour ago":           {[]api.TargetDevice{{Reason: denied, LastChecked: ago(time.Hour)}}, nil, 0},
		"another one has its turn":            {[]api.TargetDevice{{Reason: denied, LastChecked: ago(20 * time.Minute)}, {Reason: well, LastChecked: ago(time.Minute)}}, nil, 1},
		"the one of longest ago":              {[]api.TargetDevice{{Reason: well, LastChecked: ago(time.Minute)}, {Reason: denied, LastChecked: ago(2 * time.Hour)}}, nil, 1},
		"one that was never read comes first": {[]api.TargetDevice{{Reason: well, LastChecked: ago(time.Minute)}, {Reason: api.NotCheckedYet}}, nil, 1},
	} {
		got, ok := oldest(&api.FenceTargetStatus{Devices: tc.devices, CheckNow: tc.wish}, now.Add(-time.Hour))
		if !ok {
			got = -1
		}
		if got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestNotLearnt: an API server that does not answer for a Secret says nothing of the
// device, whose own network errors do.
func TestNotLearnt(t *testing.T) {
	broken := &url.Error{Op: "Get", URL: "x", Err: context.DeadlineExceeded}
	if !notLearnt(fmt.Errorf("%w: get secret: %w", errCredentials, broken)) || notLearnt(broken) || notLearnt(errCredentials) {
		t.Error("the two are not told apart")
	}
}

// accounts is a device whose account has too few rights.
type accounts struct {
	device.Driver
	read  device.Reading
	err   error
	lacks []string
	know  error
}

func (a accounts) State(context.Context) (device.Reading, error) { return a.read, a.err }
func (a accounts) Lacking(context.Context) ([]string, error)     { return a.lacks, a.know }

// TestAllRightsAtOnce: an account is told all that it lacks, and before a fence needs it.
func TestAllRightsAtOnce(t *testing.T) {
	on, both := device.Reading{Power: device.On}, []string{"start", "stop"}
	for name, tc := range map[string]struct {
		device accounts
		want   string
	}{
		"it may read, and not switch": {accounts{read: on, lacks: both}, "device denied access: its account lacks the right to start, stop"},
		"it may do nothing":           {accounts{err: device.ErrDenied, lacks: both}, "device denied access: its account lacks the right to start, stop"},
		"it may do all":               {accounts{read: on}, ""},
		"nobody knows what it may":    {accounts{read: on, lacks: both, know: device.ErrUnsupported}, ""},
		"it can't be reached":         {accounts{err: device.ErrUnreachable, lacks: both}, "device unreachable"},
		"it is another machine's":     {accounts{read: device.Reading{Power: device.On, Identity: "y"}, lacks: both}, ""},
	} {
		k := &Checker{Open: func(context.Context, *api.Binding, devicecall.Claim) (device.Driver, error) { return tc.device, nil }}
		_, err := k.readDevice(t.Context(), &api.Binding{Identity: "x"}, time.Minute, devicecall.Claim{})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
