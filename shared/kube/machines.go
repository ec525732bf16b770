package kube

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/policy"
)

// machineKinds are where Machines stand, by their groups; of one group the first
// version that is served counts.
var machineKinds = [][]string{
	{"/apis/machine.openshift.io/v1beta1/machines"},
	{"/apis/cluster.x-k8s.io/v1beta2/machines", "/apis/cluster.x-k8s.io/v1beta1/machines"},
}

type machineList struct {
	Items []policy.Machine `json:"items"`
}

// Machines reads all Machines of the kinds that this cluster has.
func (c *Client) Machines(ctx context.Context) (all []policy.Machine, err error) {
	for _, versions := range machineKinds {
		some, _, err := c.machinesOf(ctx, versions)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// machinesOf reads those of one kind, where its first version is that is served; none
// where none is.
func (c *Client) machinesOf(ctx context.Context, versions []string) (all []policy.Machine, path string, err error) {
	for _, path := range versions {
		l, err := list[machineList](ctx, c, path)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		for i := range l.Items {
			l.Items[i].TypeMeta = metav1.TypeMeta{APIVersion: strings.TrimSuffix(strings.TrimPrefix(path, "/apis/"), "/machines"), Kind: "Machine"}
		}
		return l.Items, path, nil
	}
	return nil, "", nil
}

// DeleteMachine deletes the Machine with this UID, if may has nothing against it as it
// stands now. One that is gone, or being deleted, is left to whoever does that.
func (c *Client) DeleteMachine(ctx context.Context, uid types.UID, may func(*policy.Machine) error) error {
	for _, versions := range machineKinds {
		all, path, err := c.machinesOf(ctx, versions)
		if err != nil {
			return err
		}
		for i := range all {
			if m := &all[i]; m.UID == uid {
				return c.deleteMachine(ctx, strings.TrimSuffix(path, "/machines"), m, may)
			}
		}
	}
	return nil
}

func (c *Client) deleteMachine(ctx context.Context, group string, m *policy.Machine, may func(*policy.Machine) error) error {
	if m.DeletionTimestamp != nil {
		return nil
	}
	if err := may(m); err != nil {
		return err
	}
	how := deletion(m.UID, nil)
	how.Preconditions.ResourceVersion = &m.ResourceVersion
	err := c.rest.Delete().AbsPath(group + "/namespaces/" + m.Namespace + "/machines/" + m.Name).Body(how).Do(ctx).Error()
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("delete Machine %s/%s: it is not as it was looked at: %w", m.Namespace, m.Name, ErrConflict)
	}
	return err
}
