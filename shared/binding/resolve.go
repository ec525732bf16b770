package binding

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/config"
)

// resolve reads everything that the ConfigMaps say of a node. A fault in them is a
// config.Refused; any other error is a failure to read them.
func (b Resolver) resolve(ctx context.Context, from *snapshot, n *corev1.Node) (r resolution, err error) {
	r = resolution{node: from.node(n), from: from}
	s := b.telling(&r.outside)
	r.configs = from.configs.With(s)
	if n.UID == "" && r.node.Enrolment.Name == "" {
		return r, &config.Refused{Err: fmt.Errorf("node %s is missing, and it was not enrolled as a worker while it was there: which machine it was is not known for certain", n.Name)}
	}
	if err := b.judge(ctx, &r, n); err != nil {
		return r, err
	}
	if err := b.adopt(ctx, &r, s); err != nil {
		return r, err
	}
	r.plan, err = r.configs.Resolve(r.node)
	if err == nil {
		err = b.specific(&r)
	}
	if err == nil {
		err = r.duplicates(s)
	}
	if err == nil {
		r.cluster, err = r.configs.Cluster()
	}
	if errors.Is(err, config.ErrNoBinding) {
		err = fmt.Errorf("%w; looked in namespace %s", err, b.Namespace)
	}
	if err != nil {
		return r, &config.Refused{Err: r.where(err)}
	}
	err = b.checkNamed(ctx, &r)
	for _, d := range r.plan.Devices() {
		if err == nil {
			err = b.checkAlike(ctx, r, d)
		}
	}
	r.adopted.name(&r.plan, s)
	return r, err
}
