package aws

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions"
)

// TestWhatIsDeployedStarts: of each combination of times the template takes those with which the
// functions start, and refuses the others.
func TestWhatIsDeployedStarts(t *testing.T) {
	s := stack(t)
	values := func(name string) []any { return s.Parameters[name].(map[string]any)["AllowedValues"].([]any) }
	taken, refused := 0, 0
	for _, call := range values("DeviceCallTimeout") {
		for _, seconds := range values("InvocationSeconds") {
			given := map[string]string{"DeviceCallTimeout": fmt.Sprint(call), "InvocationSeconds": fmt.Sprint(seconds)}
			deployed, err := s.With(given)
			starts := started(t, fmt.Sprint(call), fmt.Sprint(seconds)+"s")
			switch {
			case (err == nil) != (starts == nil):
				t.Errorf("%v: the template says %v, and a function %v", given, err, starts)
			case err != nil && (!strings.HasPrefix(err.Error(), "rule CallsFitInto"+fmt.Sprint(seconds)+"Seconds: ") || !strings.Contains(err.Error(), "with "+fmt.Sprint(call))):
				t.Errorf("%v: %v", given, err)
			case err != nil:
				refused++
			default:
				taken++
				if is := deployed.Globals.Function["Timeout"]; is != fmt.Sprint(seconds) {
					t.Errorf("%v: Lambda gives an invocation %v", given, is)
				}
			}
		}
	}
	if taken == 0 || refused == 0 {
		t.Errorf("%d taken, %d refused", taken, refused)
	}
}

// started is why a function with these times in its environment would not start.
func started(t *testing.T, call, invocation string) error {
	t.Helper()
	s := functions.Settings{Cluster: "c"}
	if err := s.DeviceCall.Decode(call); err != nil {
		return err
	}
	var err error
	if s.Invocation, err = time.ParseDuration(invocation); err != nil {
		return err
	}
	_, err = functions.NewParts(context.Background(), s, &rest.Config{}, slog.Default(), prometheus.NewRegistry())
	return err
}
