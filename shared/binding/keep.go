package binding

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
)

// keep returns a resolution for a FenceTarget; nil if it depends on more than what holds
// compares, or is too long. It has no secret: a plan and a refusal have none (S29).
func (b Resolver) keep(n *corev1.Node, r resolution, failed error) *api.TargetBinding {
	var refused *config.Refused
	// Nobody keeps a version of other projects' objects, which may change at any time.
	if len(b.Adopts) > 0 || failed != nil && !errors.As(failed, &refused) || n.UID == "" || r.from.resolver == "" || !r.apart() {
		return nil
	}
	k := &api.TargetBinding{
		Resolver: r.from.resolver, NodeUID: n.UID, NodeDigest: digestOf(n), ConfigsVersion: r.from.version(),
	}
	madeOf(k, n, r)
	if refused != nil {
		k.Refused, k.Unconfigured, k.ConfigMaps = refused.Error(), errors.Is(refused, config.ErrNoBinding), nil
	} else {
		k.Devices, k.Grace = r.plan.Devices(), metav1.Duration{Duration: r.cluster.Grace}
		k.Retries, k.SkipFrom = r.cluster.Retries, r.cluster.SkipFrom
	}
	if len(k.ConfigMaps) > api.MaxBindingSources || len(k.Refused) > api.MaxBindingRefused {
		return nil
	}
	return k
}

// apart reports whether a resolution depends on nothing but what holds compares.
func (r resolution) apart() bool {
	devices := r.plan.Devices()
	if r.outside || r.asked || len(devices) > 0 && !r.configs.Apart(r.node, devices...) {
		return false
	}
	return !slices.ContainsFunc(devices, func(d api.Binding) bool {
		return len(r.configs.Alike(r.node, d)) > 0 // whether the Nodes of these are there was asked too
	})
}

// madeOf names the ConfigMaps that say something of a node.
func madeOf(k *api.TargetBinding, n *corev1.Node, r resolution) {
	sources := slices.Clone(r.cluster.Sources)
	for _, d := range r.plan.Devices() {
		sources = append(sources, d.Sources...)
	}
	for i := range r.from.all {
		cm := &r.from.all[i]
		is := api.TargetSource{Name: cm.Name, UID: cm.UID, ResourceVersion: cm.ResourceVersion}
		if r.from.enrolled[n.Name].Enrolment.Name == cm.Name {
			k.Enrolment = &is
		} else if slices.ContainsFunc(sources, func(s api.ConfigSource) bool { return s.Name == cm.Name }) {
			k.ConfigMaps = append(k.ConfigMaps, is)
		}
	}
}

// clusterOf is what the cluster's ConfigMaps say, as it was kept.
func clusterOf(k *api.TargetBinding) config.Cluster {
	return config.Cluster{Grace: k.Grace.Duration, Retries: k.Retries, SkipFrom: k.SkipFrom}
}

// refusal is why no device is bound, as it was kept; nil if devices are.
func refusal(k *api.TargetBinding) error {
	if k.Refused == "" {
		return nil
	}
	return &config.Refused{Err: keptError{k.Refused, k.Unconfigured}}
}

// keptError is an error of which the words and the kind were kept.
type keptError struct {
	words        string
	unconfigured bool
}

func (e keptError) Error() string { return e.words }

// Is tells the kinds apart.
func (e keptError) Is(kind error) bool { return e.unconfigured && kind == config.ErrNoBinding }
