package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// policyWatch learns which nodes policies select, expect and exclude. A policy with a field
// that this program does not know can only add to the nodes that it named before: the
// unknown field may be about these nodes.
func (s *Source) policyWatch() watched {
	seen := func(obj any) {
		p := obj.(*api.FencePolicy)
		s.counting.Policy(p.Name, p)
		s.targets.manages(p.Name, p)
		if !p.NotUnderstood.Any() {
			s.left.expects(p.Name, expectedBy(p))
			s.nodes.excludes(p.Name, p.Spec.Exclude)
			return
		}
		s.left.expectsToo(p.Name, expectedBy(p))
		if p.Spec.Exclude != nil {
			s.nodes.excludes(p.Name, p.Spec.Exclude)
		}
	}
	return watched{
		gv: api.GroupVersion, path: "/apis", resource: policies, name: policies, selector: fields.Everything(), of: &api.FencePolicy{},
		slim: slim.Policy, handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, first bool) {
				s.changed()
				seen(obj)
				s.acts.Policy(obj.(*api.FencePolicy), first)
			},
			UpdateFunc: func(old, obj any) {
				if old.(*api.FencePolicy).Generation != obj.(*api.FencePolicy).Generation {
					s.changed()
				}
				seen(obj)
				s.acts.Policy(obj.(*api.FencePolicy), false)
			},
			DeleteFunc: func(obj any) {
				s.changed()
				s.counting.Policy(nameOf(obj), nil)
				s.left.expects(nameOf(obj), nil)
				s.nodes.excludes(nameOf(obj), nil)
				s.targets.manages(nameOf(obj), nil)
			},
		},
	}
}

// exclusions starts once the policies are known. Until then, the policies that an enrolment
// names stay in it.
func (s *Source) exclusions(ctx context.Context, policies cache.InformerSynced) {
	if !cache.WaitForCacheSync(ctx.Done(), policies) {
		return
	}
	s.nodes.exclude()
}
