package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSettle: how long a device may read off before the machine is off is what its
// driver declares, unless the method says it (S5). A set is off when its slowest is.
func TestSettle(t *testing.T) {
	const at = "ConfigMap fence-config-node-7, key fence-method-ipmi, line 6: "
	for name, tc := range map[string]struct {
		cm   ConfigMap
		want time.Duration
		err  string
	}{
		"nothing is said":               {cm: own(config, good), want: 5 * time.Second},
		"longer":                        {cm: own(config, good+"\nsettle=8s"), want: 8 * time.Second},
		"none":                          {cm: own(config, good+"\nsettle=0s"), want: 0},
		"the default, said":             {cm: own(config, good+"\nsettle=5s"), want: 5 * time.Second},
		"no duration":                   {cm: own(config, good+"\nsettle=8"), err: at + "settle= takes a duration, such as 5s: how long the device may read off before the machine is off"},
		"before it was sent":            {cm: own(config, good+"\nsettle=-1s"), err: at + "settle=-1s is not between 0s and 5m0s"},
		"for ever":                      {cm: own(config, good+"\nsettle=1h"), err: at + "settle=1h is not between 0s and 5m0s"},
		"two devices, of which one is":  {cm: withSettle(supplies("a b", "a p1 1 reboot", "b p2 1 reboot"), "b", "9s"), want: 9 * time.Second},
		"two devices, and none is said": {cm: supplies("a b", "a p1 1 reboot", "b p2 1 reboot"), want: 5 * time.Second},
		"two methods of one device":     {cm: withSettle(supplies("a b", "a p1 1 off", "b p1 1 on"), "b", "9s"), want: 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := resolved([]ConfigMap{tc.cm}, node7, settings())
			text := ""
			if err != nil {
				text = err.Error()
			} else if got := leadOf(p.Binding.Lead); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if d := cmp.Diff(tc.err, text); d != "" {
				t.Error(d)
			}
		})
	}
}

func withSettle(m ConfigMap, method, settle string) ConfigMap {
	m.Data["fence-method-"+method] += "\nsettle=" + settle
	return m
}
