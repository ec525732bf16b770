package binding

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodefence/nodefence/shared/adopt/far"
	"github.com/nodefence/nodefence/shared/config"
)

// unread is why the objects of a namespace can't be read. Without the right to read them no device
// is known for certain, and the node's record says so.
func unread(namespace string, err error) error {
	if apierrors.IsForbidden(err) {
		return &config.Refused{Err: fmt.Errorf("the FenceAgentsRemediations of namespace %s can't be read, which NODEFENCE_ADOPT asks for: give the rights of infra/knative/components/far there, or those of infra/aws/cluster/far where functions run on AWS: %w", namespace, err)}
	}
	return err
}

// adoptable are the objects that give devices, by node: those that ask for the fence of the node,
// or else the templates that list it, so that its device can be read before it fails. Whatever else an
// object or a template says of a node is a claim: no other node may have that machine.
func (b Resolver) adoptable(ctx context.Context) (gives, claims map[string][]*adopted, err error) {
	asking, listing := map[string][]*adopted{}, map[string][]*adopted{}
	claims = map[string][]*adopted{}
	for _, namespace := range b.Adopts {
		objects, _, err := b.Client.FARs(ctx, namespace)
		if err != nil {
			return nil, nil, unread(namespace, err)
		}
		for i := range objects {
			o := &objects[i]
			if node, err := far.Node(o); err == nil && far.Asks(o) {
				a := saidOf(far.Kind, &o.ObjectMeta, o.Spec, node)
				a.RebootBegun = a.failed == nil && !a.device.LeaveOff && far.Begun(o)
				asking[node] = append(asking[node], a)
				for _, other := range append(far.Listed(o.Spec), node) {
					claims[other] = append(claims[other], saidOf(far.Kind, &o.ObjectMeta, o.Spec, other))
				}
			}
		}
		templates, err := b.Client.FARTemplates(ctx, namespace)
		if err != nil {
			return nil, nil, unread(namespace, err)
		}
		for i := range templates {
			t := &templates[i]
			for _, node := range far.Listed(t.Spec.Template.Spec) {
				listing[node] = append(listing[node], saidOf(far.TemplateKind, &t.ObjectMeta, t.Spec.Template.Spec, node))
				claims[node] = append(claims[node], saidOf(far.TemplateKind, &t.ObjectMeta, t.Spec.Template.Spec, node))
			}
		}
	}
	for node, all := range listing {
		if len(asking[node]) == 0 {
			asking[node] = all
		}
	}
	inOrder(asking)
	inOrder(claims)
	return asking, claims, nil
}

// inOrder sorts them by what they are called.
func inOrder(by map[string][]*adopted) {
	for _, all := range by {
		slices.SortFunc(all, func(x, y *adopted) int { return strings.Compare(x.words(), y.words()) })
	}
}
