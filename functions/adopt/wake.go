package adopt

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// wakeChecks asks for a check of the nodes of a new or changed template at once: their FenceTargets say NoBinding, or show a
// device by the former spec, until a check has read the template. The annotation that people use asks for the check,
// and the check has a turn in the ledger (S7: one device call at a time). No object of Fence Agents Remediation is
// written, so the operator may still run.
func (a *Adopter) wakeChecks(ctx context.Context, templates []far.Template) error {
	a.wakes.mu.Lock()
	defer a.wakes.mu.Unlock()
	next := map[types.UID]wake{}
	var failed error
	for i := range templates {
		t := &templates[i]
		w, known := a.wakes.all[t.UID]
		if !known || w.generation != t.Generation {
			w = wake{generation: t.Generation, left: far.Listed(t.Spec.Template.Spec), changed: known}
		}
		now := w.left[:min(len(w.left), mostTargets)]
		err := a.wakeThese(ctx, t, now, w.changed)
		switch {
		case err == nil:
			w.left = w.left[len(now):]
		case apierrors.IsForbidden(err):
			w.left, failed = nil, err // reported once for each spec; the regular checks go on without the right
		default:
			failed = err
		}
		next[t.UID] = w
	}
	a.wakes.all = next
	return failed
}

// wakeThese asks for checks of these nodes of a template.
func (a *Adopter) wakeThese(ctx context.Context, t *far.Template, nodes []string, changed bool) error {
	for _, node := range nodes {
		if err := a.wakeCheck(ctx, t, node, changed); err != nil {
			return fmt.Errorf("ask for a check of node %s, whose device %s %s/%s may give: %w", node, far.TemplateKind, t.Namespace, t.Name, err)
		}
	}
	return nil
}

// wakeCheck asks for a check of the node, unless a check was already asked for. A process that has just started
// does not know which templates have changed, and asks only for nodes without a device.
func (a *Adopter) wakeCheck(ctx context.Context, t *far.Template, node string, changed bool) error {
	is, err := a.Objects.Target(ctx, node)
	if err != nil || is == nil {
		return err // a node without a FenceTarget is checked first anyway
	}
	c := meta.FindStatusCondition(is.Status.Conditions, api.Fenceable)
	unbound := c != nil && c.Status == metav1.ConditionFalse && c.Reason == string(api.NoBinding)
	waits := is.AskedNow() != "" && !is.Heeded(is.AskedNow())
	if waits || !changed && !unbound {
		return nil
	}
	_, err = a.Objects.RequestCheck(ctx, node, fmt.Sprintf("%s/%d", t.UID, t.Generation))
	return err
}
