package mhc

import "testing"

// FuzzRead reads a MachineHealthCheck of either project as somebody else wrote it.
func FuzzRead(f *testing.F) {
	f.Add("machine.openshift.io/v1beta1", []byte(`{"metadata":{"name":"m","namespace":"openshift-machine-api"},"spec":{"selector":{},"unhealthyConditions":[{"type":"Ready","status":"False","timeout":"300s"}],"maxUnhealthy":"40%"}}`))
	f.Add("cluster.x-k8s.io/v1beta1", []byte(`{"metadata":{"name":"m"},"spec":{"clusterName":"c","selector":{"matchLabels":{"a":"b"}},"unhealthyConditions":[{"type":"Ready","status":"Unknown","timeout":"5m"}],"unhealthyRange":"[0-3]"}}`))
	f.Add("cluster.x-k8s.io/v1beta2", []byte(`{"spec":{"checks":{"unhealthyNodeConditions":[{"type":"Ready","status":"Unknown","timeoutSeconds":300}]}}}`))
	f.Add("", []byte(`{}`))
	f.Fuzz(func(t *testing.T, version string, raw []byte) {
		c, err := Read(version, raw)
		if c == nil && err == nil || err != nil && err.Error() == "" {
			t.Errorf("%s %q is read as %+v, and as the error %v", version, raw, c, err)
		}
	})
}
