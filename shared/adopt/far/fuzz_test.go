package far

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// FuzzObject reads a FenceAgentsRemediation as somebody else wrote it. A device that is read has
// something that is about its node alone (S9: what is for all nodes chooses no machine).
func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"n"},"spec":{"agent":"fence_ipmilan","sharedparameters":{"--lanplus":"","--ip":"{{.NodeName}}-bmc"}}}`), "n")
	f.Add([]byte(`{"metadata":{"name":"n","annotations":{"remediation.medik8s.io/node-name":"m"}},"spec":{"agent":"fence_ipmilan","nodeparameters":{"--ip":{"m":"192.0.2.1"}},"retryinterval":"5s","timeout":"60s"}}`), "m")
	f.Add([]byte(`{"spec":{"agent":"fence_x","nodeparameters":{"--action":{"n":"off"}},"timeout":"-1s"}}`), "n")
	f.Add([]byte(`{"spec":null}`), "")
	f.Fuzz(func(t *testing.T, text []byte, node string) {
		var o Object
		if json.Unmarshal(text, &o) != nil {
			return
		}
		if name, err := Node(&o); err == nil && len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("%q is taken for a node's name", name)
		}
		_ = o.Words() + RequestName(&o, node)
		d, err := Read(o.Spec, node)
		if err != nil {
			if err.Error() == "" {
				t.Error("a refusal without a word")
			}
			return
		}
		own := false
		for _, p := range d.Params {
			own = own || p.OfNode
		}
		if !own || !strings.HasPrefix(d.Agent, "fence_") {
			t.Errorf("%q is read as the device %+v of node %q", text, d, node)
		}
	})
}
