package checks

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestChecksConnectToNodesOnly: a Node's addresses are its kubelet's word, and nodefence
// would connect for it to whatever it names.
func TestChecksConnectToNodesOnly(t *testing.T) {
	for name, c := range map[string]struct{ networks, address, says string }{
		"a node's":                           {"", "10.1.2.3", ""},
		"a node's, of IPv6":                  {"", "fd00::7", ""},
		"a public one":                       {"", "192.0.2.7", ""},
		"nodefence's own machine":            {"", "127.0.0.1", "the address 127.0.0.1, to which no check connects"},
		"its own machine, otherwise written": {"", "::ffff:127.0.0.1", "to which no check connects"},
		"a cloud's metadata server":          {"", "169.254.169.254", "to which no check connects"},
		"the link's, of IPv6":                {"", "fe80::1", "to which no check connects"},
		"a group":                            {"", "224.0.0.1", "to which no check connects"},
		"everybody":                          {"", "255.255.255.255", "to which no check connects"},
		"none":                               {"", "0.0.0.0", "to which no check connects"},
		"a name":                             {"", "vault.internal", `"vault.internal" as its InternalIP, which is no IP address`},
		"in the nodes' networks":             {"10.0.0.0/8, fd00::/8", "fd00::7", ""},
		"in none of the nodes' networks":     {"10.0.0.0/8,fd00::/8", "192.0.2.7", "in none of the nodes' networks (NODEFENCE_NODE_NETWORKS)"},
		"one of those that a person names":   {"127.0.0.0/8", "127.0.0.2", ""},
	} {
		var n Networks
		if err := n.Decode(c.networks); err != nil {
			t.Fatal(err)
		}
		if got := n.refusal(c.address); c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if err := new(Networks).Decode("10.0.0.7"); err == nil || !strings.Contains(err.Error(), `"10.0.0.7" is not a network such as 10.0.0.0/16`) {
		t.Errorf("an address for a network: %v", err)
	}
}

// TestACheckOfAnAddressThatIsNoNodes goes wrong, which is neither activity nor none; and
// an address of another node that is none is not compared with.
func TestACheckOfAnAddressThatIsNoNodes(t *testing.T) {
	at := func(address string) (n corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
		return n
	}
	r := &rounding{Checker: &Checker{KubeletPort: 80}, target: at("169.254.169.254"), others: []corev1.Node{at("10.0.0.2")}}
	r.askKubelet(t.Context(), "1 kubelet")
	if len(r.results) != 1 || r.results[0].Answer != api.AnswerError || !strings.Contains(r.results[0].Message, "no check connects") {
		t.Errorf("%+v", r.results)
	}
	r = &rounding{Checker: &Checker{KubeletPort: 80}, target: at("10.0.0.1"), others: []corev1.Node{at("127.0.0.1"), at("10.0.0.2")}}
	target, beside, err := r.findAddresses()
	if err != nil || target != "10.0.0.1:80" || strings.Join(beside, " ") != "10.0.0.2:80" {
		t.Errorf("%s beside %v: %v", target, beside, err)
	}
}
