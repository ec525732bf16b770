package far

import (
	"cmp"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// bounds says what becomes of a timeout that no single call to a device may take.
func (s Seen) bounds() string {
	d, err := Read(s.Object.Spec, s.Node)
	longest := cmp.Or(s.DeviceCall, api.DeviceCall)
	if err != nil || d.Timeout <= longest {
		return ""
	}
	return "; spec.timeout is " + short(d.Timeout) + ": one call to the device takes " + short(longest) +
		" at most (NODEFENCE_DEVICE_CALL_TIMEOUT), and the rest is for the machine to be seen off"
}

// short is a time as people write it: 1m and not 1m0s.
func short(d time.Duration) string {
	if s, whole := strings.CutSuffix(d.String(), "m0s"); whole {
		return s + "m"
	}
	return d.String()
}

// Release tells which strategy a fence of a policy releases by, if an object asks for strategy
// wants. An error says which policy to change: nothing is released in a way that the policy does not
// have.
func Release(wants string, p api.ResolvedPolicy) (api.ReleaseStrategy, error) {
	want, has := api.ReleaseResourceDeletion, p.Settings.Release.Strategy
	if wants == OutOfServiceTaint {
		want = api.ReleaseOutOfServiceTaint
	}
	if has == want || has == api.ReleaseTaintAndDelete {
		return want, nil
	}
	return "", refuse("spec.remediationStrategy", "it is %s, and FencePolicy %s has release.strategy: %s, which is another: change one of them", wants, p.Policy.Name, has)
}
