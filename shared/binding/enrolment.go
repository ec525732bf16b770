package binding

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/kube"
)

// enrolled is a node as it was while it was healthy.
type enrolled struct {
	config.Node
	uid types.UID
	// worker: the node was not of the control plane when it was last Ready.
	worker bool
}

// enrolment reads a ConfigMap that the source has written; false for any other ConfigMap.
func enrolment(cm *corev1.ConfigMap) (enrolled, bool) {
	name := cm.Data["node_name"]
	if cm.Labels[kube.EnrolledLabel] == "" || cm.Name != kube.EnrolledName(name) {
		return enrolled{}, cm.Labels[kube.EnrolledLabel] != ""
	}
	return enrolled{
		Node: config.Node{
			Name: name, Identity: cm.Data["system_uuid"], ProviderID: cm.Data["provider_id"],
			Enrolment: api.ConfigSource{Kind: api.KindConfigMap, Namespace: cm.Namespace, Name: cm.Name, ResourceVersion: cm.ResourceVersion},
		},
		uid: types.UID(cm.Data["node_uid"]), worker: cm.Data["role"] == kube.WorkerRole,
	}, true
}

// checkAlike refuses a machine as which another node was enrolled too (S11: the device is
// the node's own). An enrolment whose Node is gone does not count.
func (b Resolver) checkAlike(ctx context.Context, r resolution, mine api.Binding) error {
	for _, o := range r.configs.Alike(r.node, mine) {
		other, err := b.Client.Node(ctx, o.Name)
		if err != nil {
			return err
		}
		if other != nil && r.from.enrolled[o.Name].uid == other.UID {
			return &config.Refused{Err: fmt.Errorf("node %s was enrolled as the same machine as node %s, %s; neither of them is fenced before one is mended", o.Name, r.node.Name, mine.Address)}
		}
	}
	return nil
}
