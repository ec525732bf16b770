package plan

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// nodefence runs elsewhere, with settings of its own. It may have fence agents and images, and adopt
// objects of other projects, of which this program was not told. What it has found of a node stands
// in the node's FenceTarget.

// settings are the flags by which this program resolves devices as nodefence does.
const settings = "give --adopt, --adopt-namespaces, --request-namespaces, --agents-dir and --job-images as nodefence has them"

// target is the node's FenceTarget; nil if there is none of this very Node, or if the user may not
// read it, which the report then says.
func (w *world) target(ctx context.Context, r *Report, n *corev1.Node) (*api.FenceTarget, error) {
	t, err := w.Client.Target(ctx, n.Name)
	switch {
	case apierrors.IsForbidden(err):
		r.Notes = append(r.Notes, "the FenceTarget was not looked at: "+err.Error())
		return nil, nil
	case err != nil || t == nil || t.Status.NodeUID != n.UID:
		return nil, err
	}
	return t, nil
}

// refuse says that no device is bound: err is of the kind config.Refused. Where nodefence itself has
// bound devices, of the same ConfigMaps as far as that is known, err says nothing about the node.
func (w *world) refuse(r *Report, t *api.FenceTarget, err error) {
	switch {
	case apierrors.IsForbidden(err):
		r.Unknown = "you may not read what nodefence reads: " + err.Error()
	case t != nil && len(t.Status.Devices) > 0 && w.madeOfThese(t):
		r.Unknown = "nodefence has bound the node's devices, and here they can't be resolved: " + err.Error() + "; " + settings
	default:
		r.Refused = err.Error()
	}
}

// doubt says so where devices are bound here, and nodefence itself has bound none, of the same
// ConfigMaps as far as that is known.
func (w *world) doubt(r *Report, t *api.FenceTarget) {
	if t == nil || len(t.Status.Devices) > 0 {
		return
	}
	c := meta.FindStatusCondition(t.Status.Conditions, api.Fenceable)
	unbound := c != nil && c.Status == metav1.ConditionFalse && (c.Reason == string(api.BindingInvalid) || c.Reason == string(api.NoBinding))
	if !unbound || !w.madeOfThese(t) {
		return
	}
	r.Unknown = fmt.Sprintf("nodefence has bound no device (%s: %s), and here one is; %s, or have nodefence look again (--read)", c.Reason, c.Message, settings)
}

// madeOfThese: for all that is known, nodefence has resolved the node's devices from the ConfigMaps
// of now.
func (w *world) madeOfThese(t *api.FenceTarget) bool {
	return t.Status.Binding == nil || w.planner.MadeOfThese(t.Status.Binding)
}
