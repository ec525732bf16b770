package look

import (
	"context"
	"fmt"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// excluded says why a missing node is not fenced: its Node object excluded it when it was
// last seen. The source keeps this in the enrolment.
func (l Looker) excluded(ctx context.Context, reader kube.Reader, f *api.NodeFence, seen *observed.Look) error {
	if seen.Node.Exists {
		return nil
	}
	cm, err := reader.Enrolment(ctx, l.Namespace, f.Spec.NodeName)
	if err != nil || cm == nil {
		return err
	}
	if why := cm.Data[kube.Excluded]; why != "" {
		seen.Node.Excluded = fmt.Sprintf("its Node object is gone, and when it was last seen: %s; to end that, take %s out of ConfigMap %s", why, kube.Excluded, cm.Name)
		return nil
	}
	if !slices.Contains(strings.Fields(cm.Data[kube.ExcludedBy]), f.Status.Decision.Policy.Name) {
		return nil
	}
	policies, err := reader.Policies(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(policies, func(p api.FencePolicy) bool { return p.Name == f.Status.Decision.Policy.Name })
	if i < 0 {
		return nil
	}
	if p := policies[i]; p.Spec.Exclude != nil && p.Spec.Exclude.Selector != nil {
		seen.Node.Excluded = fmt.Sprintf("its Node object is gone, and when it was last seen policy %s excluded it by its labels; to end that, take %s out of ConfigMap %s", f.Status.Decision.Policy.Name, kube.ExcludedBy, cm.Name)
	}
	return nil
}
