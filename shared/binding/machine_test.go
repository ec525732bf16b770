package binding

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
)

// TestMachineIsAskedFor: the driver that deletes a Machine is bound only where it is named;
// an instance is restarted by its cloud's own driver.
func TestMachineIsAskedFor(t *testing.T) {
	asked := func(text string) []corev1.ConfigMap {
		return []corev1.ConfigMap{write("fence-config-default", "config.properties", "power_management=end", "fence-method-end", text)}
	}
	for name, tc := range map[string]struct {
		maps             []corev1.ConfigMap
		provider         string
		want, driver, no string
	}{
		"no ConfigMap, on EC2":                  {provider: "aws:///eu-west-1a/i-0123456789abcdef0", driver: "ec2", want: "ec2:eu-west-1/i-0123456789abcdef0"},
		"restart-instance on Compute Engine":    {maps: asked("agent_name=restart-instance"), provider: "gce://my-project/europe-west1-b/worker-7", driver: "gce", want: "gce:my-project/europe-west1-b/worker-7"},
		"machine, of an instance on EC2":        {maps: asked("agent_name=machine\naction=off"), provider: "aws:///eu-west-1a/i-0123456789abcdef0", driver: "machine", want: "machine:aws:///eu-west-1a/i-0123456789abcdef0"},
		"machine, with a cloud's own parameter": {maps: asked("agent_name=machine\naction=off\nendpoint=https://ec2.example"), provider: "aws:///eu-west-1a/i-0123456789abcdef0", driver: "machine", want: "machine:aws:///eu-west-1a/i-0123456789abcdef0"},
		"delete-machine":                        {maps: asked("agent_name=delete-machine"), provider: "aws:///eu-west-1a/i-0123456789abcdef0", driver: "machine", want: "machine:aws:///eu-west-1a/i-0123456789abcdef0"},
		"machine, of no cloud": {maps: asked("agent_name=machine\naction=off"), provider: "metal3://rack-7",
			no: "ConfigMap fence-config-default, key fence-method-end: missing provider_id for driver machine, and node worker-7 was not enrolled with a provider ID that has it"},
		"machine, for good": {maps: asked("agent_name=machine"), provider: "aws:///eu-west-1a/i-0123456789abcdef0",
			no: `ConfigMap fence-config-default, key fence-method-end: method "end" switches on, and driver machine can't: a machine that was deleted is not switched on: its owner makes another one in its place; write action=off`},
	} {
		t.Run(name, func(t *testing.T) {
			var all []config.ConfigMap
			for i := range tc.maps {
				all = append(all, config.ConfigMap{Name: tc.maps[i].Name, Data: tc.maps[i].Data})
			}
			n := config.Node{Name: "worker-7", ProviderID: tc.provider, Enrolment: read("fence-enrolled-worker-7@1")[0]}
			plan, err := config.Of(all, nil, Resolver{Drivers: Drivers}.settings()).Resolve(n)
			text := ""
			if err != nil {
				text = err.Error()
			}
			b := plan.Binding
			if d := cmp.Diff([]string{tc.driver, tc.want, tc.no}, []string{b.Driver, b.Address, text}); d != "" || b.LeaveOff != (tc.driver == "machine") {
				t.Error(b.LeaveOff, d)
			}
		})
	}
	if _, err := Drivers["machine"].Open(map[string]string{"provider_id": "aws:///eu-west-1a/i-0123456789abcdef0"}); !errors.Is(err, device.ErrNoCluster) {
		t.Errorf("without a cluster: %v", err)
	}
}
