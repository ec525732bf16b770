package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodefence/nodefence/shared/fence"
)

// machineKinds are where Machines stand, by their groups; of one group the first
// version that is served counts.
var machineKinds = [][]string{
	{"/apis/machine.openshift.io/v1beta1/machines"},
	{"/apis/cluster.x-k8s.io/v1beta2/machines", "/apis/cluster.x-k8s.io/v1beta1/machines"},
}

type machineList struct {
	Items []fence.Machine `json:"items"`
}

// Machines reads all Machines of the kinds that this cluster has.
func (c *Client) Machines(ctx context.Context) (all []fence.Machine, err error) {
	for _, versions := range machineKinds {
		for _, path := range versions {
			l, err := list[machineList](ctx, c, path)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			all = append(all, l.Items...)
			break
		}
	}
	return all, nil
}
