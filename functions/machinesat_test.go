package functions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestMachinesOfAnotherCluster: the settings name the other cluster and which Cluster there is this one,
// or neither. Its API server may be away when a function starts.
func TestMachinesOfAnotherCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, clusters: [{name: m, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: m, context: {cluster: m}}], current-context: m}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kubeconfig, cluster, want string }{
		{"", "", ""},
		{file, "clusters/shop", ""},
		{file, "", "NODEFENCE_MACHINES_CLUSTER is not"},
		{"", "clusters/shop", "NODEFENCE_MACHINES_KUBECONFIG is not"},
		{file + ".none", "clusters/shop", "read NODEFENCE_MACHINES_KUBECONFIG"},
		{file, "shop", `"shop" names no Cluster of Cluster API: write namespace/name`},
		{file, "clusters/shop/x", "names no Cluster"},
		{file, "../x/shop", "names no Cluster"},
	} {
		s := Settings{MachinesKubeconfig: c.kubeconfig}
		err := s.MachinesCluster.Decode(c.cluster)
		client := kubetest.Client(t, nil)
		if err == nil {
			err = s.readMachinesAt(client)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %q", c.kubeconfig, c.cluster, err, c.want)
		}
		if elsewhere := client.MachinesAt().Client != client; elsewhere != (c.want == "" && c.cluster != "") {
			t.Errorf("%q %q: elsewhere is %v", c.kubeconfig, c.cluster, elsewhere)
		}
	}
}
