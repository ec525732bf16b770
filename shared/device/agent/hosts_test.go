package agent

import (
	"strings"
	"testing"
)

// TestNoOtherHostByAPath: a value that comes behind or within a host in the agent's URL can't
// make it another host, to which a Secret would then be sent (S29).
func TestNoOtherHostByAPath(t *testing.T) {
	for name, tc := range map[string]struct {
		agent, param, value string
		ok                  bool
	}{
		"a path":                      {"fence_rhevm", "api_path", "/ovirt-engine/api", true},
		"a path that is a user's end": {"fence_rhevm", "api_path", "@evil.example", false},
		"a region":                    {"fence_ibm_vpc", "region", "us-south", true},
		"a region that ends the host": {"fence_ibm_vpc", "region", "evil.example/x?", false},
		"a region that is a host":     {"fence_aliyun", "region", "evil.example", false},
	} {
		k, err := Declared(tc.agent, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Hosts(map[string]string{tc.param: tc.value})
		if (err == nil) != tc.ok || err != nil && !strings.Contains(err.Error(), "another host") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
