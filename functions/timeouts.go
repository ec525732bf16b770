package functions

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// shortestCall is the shortest longest call to a device: in less, none answers.
const shortestCall = time.Second

// longestInvocation is as long as Knative gives one at most, unless its operator says otherwise.
const longestInvocation = 10 * time.Minute

// CallTimeout is how long one call to a device may take.
type CallTimeout time.Duration

// Decode reads one from the environment. None at all is refused too: only a variable that is not
// set means the usual time.
func (c *CallTimeout) Decode(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil {
		return fmt.Errorf("%w; write for example 20s", err)
	}
	*c = CallTimeout(d)
	return inBounds(d)
}

func inBounds(call time.Duration) error {
	if call < shortestCall || call > api.LongestDeviceCall {
		return fmt.Errorf("one call to a device takes from %s to %s", short(shortestCall), short(api.LongestDeviceCall))
	}
	return nil
}

// LongestCall is the longest that one call to a device may take in this process; zero in the
// settings is the usual time.
func (s Settings) LongestCall() time.Duration {
	return cmp.Or(time.Duration(s.DeviceCall), api.DeviceCall)
}

// InvocationTimeout is how long the platform gives one invocation; zero in the settings is the
// usual time.
func (s Settings) InvocationTimeout() time.Duration {
	return cmp.Or(s.Invocation, api.DeviceCall+api.BesideDeviceCall)
}

// timely says what is wrong with the two. A call must end, and its end be saved, before the
// platform ends the invocation (S7, S10).
func (s Settings) timely() error {
	call, invocation := s.LongestCall(), s.InvocationTimeout()
	if err := inBounds(call); err != nil {
		return fmt.Errorf("NODEFENCE_DEVICE_CALL_TIMEOUT=%s: %w", short(call), err)
	}
	switch needs := call + api.BesideDeviceCall; {
	case invocation > longestInvocation:
		return fmt.Errorf("NODEFENCE_INVOCATION_TIMEOUT=%s: no invocation takes longer than %s", short(invocation), short(longestInvocation))
	case invocation < needs:
		return fmt.Errorf("NODEFENCE_DEVICE_CALL_TIMEOUT=%s: an invocation with such a call to a device needs %s, and the platform gives it %s (NODEFENCE_INVOCATION_TIMEOUT). "+
			"Set the platform's own limit to %.0f seconds (Timeout of each Lambda function, timeoutSeconds of each Knative Service) and NODEFENCE_INVOCATION_TIMEOUT=%s for every function, or let calls be shorter",
			short(call), short(needs), short(invocation), needs.Seconds(), short(needs))
	}
	return nil
}

// short is a time as people write it: 1m and not 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
