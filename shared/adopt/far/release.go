package far

import (
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// longestCall is the longest that one call to a device takes (NODEFENCE_DEVICE_CALL_TIMEOUT).
const longestCall = 20 * time.Second

// bounds says what becomes of a timeout that no single call to a device may take.
func (s Seen) bounds() string {
	d, err := Read(s.Object.Spec, s.Node)
	if err != nil || d.Timeout <= longestCall {
		return ""
	}
	return "; spec.timeout is " + strings.TrimSuffix(d.Timeout.String(), "0s") + ": one call to the device takes 20s at most, and the rest is for the machine to be seen off"
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
