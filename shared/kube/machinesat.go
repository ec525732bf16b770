package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/policy"
)

// ErrElsewhere says that the cluster that has the Machines could not be asked.
var ErrElsewhere = errors.New("ask the cluster that has the Machines")

// ReadMachinesAt has the Machines and MachineHealthChecks be those of another cluster, as Cluster API's
// management cluster has them. There only Cluster API's kinds count, and of these only the objects that
// are in the namespace of this Cluster and name it (spec.clusterName): the others are other clusters',
// whose nodes may have the same names (S11: never the wrong machine). Call it before the first request.
func (c *Client) ReadMachinesAt(cfg *rest.Config, cluster types.NamespacedName) error {
	there, err := New(cfg)
	if err != nil {
		return err
	}
	c.machines = &MachinesAt{there, &cluster}
	return nil
}

// MachinesAt is the cluster that has the Machines.
func (c *Client) MachinesAt() MachinesAt {
	if c.machines != nil {
		return *c.machines
	}
	return MachinesAt{Client: c}
}

// served are those of these paths by which objects of this cluster may be had.
func (at MachinesAt) served(paths []string) []string {
	if at.cluster == nil {
		return paths
	}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !strings.HasPrefix(path, "/apis/cluster.x-k8s.io/") })
}

// within is the path by which those of all namespaces are listed, or those of the Cluster's own.
func (at MachinesAt) within(path string) string {
	if at.cluster == nil {
		return path
	}
	i := strings.LastIndex(path, "/")
	return path[:i] + "/namespaces/" + at.cluster.Namespace + path[i:]
}

// ofPath is whom to ask for a path, and by which: for Machines this cluster of theirs, and else the other.
func (at MachinesAt) ofPath(other *Client, path string) (*Client, string) {
	is := slices.ContainsFunc(machineKinds, func(versions []string) bool {
		return slices.ContainsFunc(versions, func(v string) bool {
			return path == v || strings.HasPrefix(path, strings.TrimSuffix(v, "machines")+"namespaces/")
		})
	})
	switch {
	case !is:
		return other, path
	case strings.HasSuffix(path, "/machines"):
		return at.Client, at.within(path)
	}
	return at.Client, path
}

// in tells whether objects of that namespace may be this cluster's.
func (at MachinesAt) in(namespace string) bool {
	return at.cluster == nil || namespace == at.cluster.Namespace
}

// others tells whether an object of that spec.clusterName is another cluster's.
func (at MachinesAt) others(clusterName string) bool {
	return at.cluster != nil && clusterName != at.cluster.Name
}

// othersCheck is others, of a MachineHealthCheck as the API server sent it. One that can't be read may be
// this cluster's.
func (at MachinesAt) othersCheck(raw []byte) bool {
	var o struct {
		Spec struct {
			ClusterName string `json:"clusterName"`
		} `json:"spec"`
	}
	return json.Unmarshal(raw, &o) == nil && at.others(o.Spec.ClusterName)
}

// ofCluster are the Machines of this cluster among these. It notes for Cluster API's whether their Cluster
// is paused (spec.paused), as it is while all of it is moved to another management cluster. Where that
// can't be read, nobody knows, and they are left alone.
func (at MachinesAt) ofCluster(ctx context.Context, all []policy.Machine, path string) []policy.Machine {
	all = slices.DeleteFunc(all, func(m policy.Machine) bool { return at.others(m.Spec.ClusterName) })
	if len(all) == 0 || !strings.HasPrefix(path, "/apis/cluster.x-k8s.io/") {
		return all
	}
	clusters, err := list[clusterList](ctx, at.Client, at.within(path))
	if apierrors.IsNotFound(err) {
		return all // there are no Clusters
	}
	paused := map[types.NamespacedName]bool{}
	if err == nil {
		for _, c := range clusters.Items {
			paused[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] = c.Spec.Paused
		}
	}
	for i := range all {
		m := &all[i]
		switch {
		case err != nil:
			m.HeldByCluster = clip.Message("nobody knows whether its Cluster " + m.Spec.ClusterName + " is paused: " + err.Error())
		case paused[types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.ClusterName}]:
			m.HeldByCluster = "its Cluster " + m.Spec.ClusterName + " is paused (spec.paused)"
		}
	}
	return all
}

// clusterList is what is read of Cluster API's Clusters.
type clusterList struct {
	Items []struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Paused bool `json:"paused,omitempty"`
		} `json:"spec"`
	} `json:"items"`
}

// failed says of an error that it came from another cluster, if it did.
func (at MachinesAt) failed(err error) error {
	if err == nil || at.cluster == nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrElsewhere, err)
}

// machineKinds are the kinds of Machines, by their groups; of one group the first version that is
// served counts.
var machineKinds = [][]string{
	{"/apis/machine.openshift.io/v1beta1/machines"},
	{"/apis/cluster.x-k8s.io/v1beta2/machines", "/apis/cluster.x-k8s.io/v1beta1/machines"},
}
