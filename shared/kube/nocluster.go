package kube

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
)

// NoCluster says why no cluster was found, and how one is named. Where nothing names one
// client-go speaks of a variable that it does not read itself.
func NoCluster(how string, err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return fmt.Errorf("find the cluster: nothing names one, set %s", how)
	}
	return fmt.Errorf("find the cluster (set %s): %w", how, err)
}
