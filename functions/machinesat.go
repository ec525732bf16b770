package functions

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/shared/kube"
)

// ClusterObject names a Cluster of Cluster API, as namespace/name.
type ClusterObject types.NamespacedName

// Decode reads it from the environment.
func (c *ClusterObject) Decode(text string) error {
	namespace, name, _ := strings.Cut(text, "/")
	if text != "" && (len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0) {
		return fmt.Errorf("%q names no Cluster of Cluster API: write namespace/name, as in clusters/shop", text)
	}
	*c = ClusterObject{Namespace: namespace, Name: name}
	return nil
}

// readMachinesAt has the client read Machines in the cluster that the settings name, if they name one.
// That cluster need not answer now: what needs it says so later.
func (s Settings) readMachinesAt(c *kube.Client) error {
	switch none := s.MachinesCluster == (ClusterObject{}); {
	case s.MachinesKubeconfig == "" && none:
		return nil
	case none:
		return errors.New("NODEFENCE_MACHINES_KUBECONFIG is set, and NODEFENCE_MACHINES_CLUSTER is not: set it to the Cluster object there that is this cluster, as namespace/name, because the Machines there are those of other clusters too")
	case s.MachinesKubeconfig == "":
		return errors.New("NODEFENCE_MACHINES_CLUSTER is set, and NODEFENCE_MACHINES_KUBECONFIG is not: set it to the kubeconfig file of the cluster that has the Machines, or take the other away if that is this cluster")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", s.MachinesKubeconfig)
	if err != nil {
		return fmt.Errorf("read NODEFENCE_MACHINES_KUBECONFIG: %w", err)
	}
	return c.ReadMachinesAt(cfg, types.NamespacedName(s.MachinesCluster))
}
