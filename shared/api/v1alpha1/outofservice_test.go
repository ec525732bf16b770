package v1alpha1

import "testing"

// TestOutOfServiceAs: nodeshutdown, unless the person who confirms says otherwise; and
// what was once asked for stands until it is cleared (S22, S23).
func TestOutOfServiceAs(t *testing.T) {
	confirms := func(as OutOfServiceValue) func(*NodeFence) {
		return func(f *NodeFence) { f.Spec.Requests.ConfirmOff = &Confirmation{OutOfServiceValue: as} }
	}
	for name, c := range map[string]struct {
		change []func(*NodeFence)
		want   OutOfServiceValue
	}{
		"nobody says anything":          {nil, NodeShutdown},
		"a person":                      {[]func(*NodeFence){confirms(HardwareFailure)}, HardwareFailure},
		"a person who leaves it open":   {[]func(*NodeFence){confirms("")}, NodeShutdown},
		"what is placed already stands": {[]func(*NodeFence){confirms(HardwareFailure), func(f *NodeFence) { f.Status.Placed.OutOfServiceAs = NodeShutdown }}, NodeShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			var f NodeFence
			for _, change := range c.change {
				change(&f)
			}
			if got := f.OutOfServiceAs(); got != c.want {
				t.Errorf("the taint's value is %q, want %q", got, c.want)
			}
		})
	}
}
