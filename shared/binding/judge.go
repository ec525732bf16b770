package binding

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
)

// judge notes why the identity as which a node was enrolled is not its machine's alone (S11:
// the device is the node's own).
func (b Resolver) judge(ctx context.Context, r *resolution, n *corev1.Node) error {
	e := r.from.enrolled[n.Name]
	switch {
	case r.node.Identity == "":
		return nil
	case e.byPerson:
		r.node.IdentityFault = device.IdentityFault(e.Identity)
	default:
		r.node.IdentityFault = device.SystemUUIDFault(e.systemUUID, n.Status.NodeInfo.MachineID)
		if r.node.IdentityFault == "" && e.alsoOf != "" {
			r.node.IdentityFault = "is reported by node " + e.alsoOf + " too"
		}
	}
	if r.node.IdentityFault != "" {
		return nil
	}
	other, err := b.alsoEnrolled(ctx, r, e.Identity)
	if other != "" {
		r.node.IdentityFault = "is what node " + other + " was enrolled as too"
	}
	return err
}

// alsoEnrolled returns another node that was enrolled as this machine, and that is there;
// empty if none is.
func (b Resolver) alsoEnrolled(ctx context.Context, r *resolution, identity string) (string, error) {
	for _, name := range r.from.machines[device.MachineKey(identity)] {
		if name == r.node.Name {
			continue
		}
		r.asked = true
		n, err := b.Client.Node(ctx, name)
		if err != nil {
			return "", err
		}
		if n != nil && n.UID == r.from.enrolled[name].uid {
			return name, nil
		}
	}
	return "", nil
}

// checkNamed refuses an identity= that another node was enrolled as.
func (b Resolver) checkNamed(ctx context.Context, r *resolution) error {
	for _, id := range r.configs.Named(r.node, r.plan.Devices()...) {
		r.asked = true // the version of the ConfigMaps does not change when a node is enrolled as that machine
		other, err := b.alsoEnrolled(ctx, r, id)
		if err != nil {
			return err
		}
		if other != "" {
			return &config.Refused{Err: fmt.Errorf("node %s was enrolled as machine %s (ConfigMap %s), which identity= says is node %s's; neither of them is fenced before one is mended",
				other, id, kube.EnrolledName(other), r.node.Name)}
		}
	}
	return nil
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
