package policystatus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/mhc"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

// HealthCheckObjects is the part of the API server's client that HealthChecks needs.
type HealthCheckObjects interface {
	look.Machines
	MachineHealthChecks(ctx context.Context) ([]kube.HealthChecks, error)
	SaveHealthCheckStatus(ctx context.Context, apiVersion string, m metav1.ObjectMeta, fields map[string]any) error
	Nodes(ctx context.Context) ([]corev1.Node, error)
	LabelNode(ctx context.Context, n *corev1.Node, labels map[string]any) error
	PoliciesLabelled(ctx context.Context, label, value string) (map[string]map[string]any, error)
	CreatePolicy(ctx context.Context, object map[string]any) error
	SavePolicy(ctx context.Context, name string, object map[string]any) error
	DeletePolicy(ctx context.Context, name string, uid types.UID, version string) error
	LeaseIn(ctx context.Context, namespace, name string) (*coordinationv1.Lease, error)
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	CreateConfigMap(ctx context.Context, cm *corev1.ConfigMap) error
	SaveConfigMap(ctx context.Context, cm *corev1.ConfigMap) error
	ReportAbout(ctx context.Context, o corev1.ObjectReference, reporter, name, reason, message string, warning bool) error
}

// HealthChecks answers MachineHealthChecks: it keeps a FencePolicy for each, labels the Nodes that
// the policy is to select, and writes the object's status. What follows from an object is decided in
// package mhc.
//
// A policy is there before a Node is labelled for it, and is deleted before the label is taken off. So
// a process that dies in between leaves a policy that selects too few nodes, or a label that no policy selects,
// and the next tick continues. A fence under way is not touched by any of it: it runs to its end by its
// record (S25).
type HealthChecks struct {
	Objects HealthCheckObjects
	// Namespace holds the ConfigMap in which it is kept since when the Leases of others stand still.
	Namespace string
	// Now is the API server's time.
	Now func() time.Time
	Log *slog.Logger

	mu       sync.Mutex
	unserved map[string]bool
}

// leasesSeen is the ConfigMap in which it is kept what was last seen of the Leases of others.
const leasesSeen = "nodefence-adopt-leases"

// Keep brings everything up to date. If something can't be read, nothing is changed: what was not
// seen is not gone.
func (h *HealthChecks) Keep(ctx context.Context) error {
	r, err := h.read(ctx)
	if err != nil {
		return fmt.Errorf("look at the MachineHealthChecks: %w; what follows from them stays as it is until the next tick", err)
	}
	if r == nil {
		return nil
	}
	for _, kind := range r.kinds {
		for _, raw := range kind.Items {
			r.check(ctx, kind.APIVersion, raw)
		}
	}
	r.deletePolicies(ctx)
	r.label(ctx)
	return errors.Join(r.failed...)
}

// round is one look at everything, and what comes of it.
type round struct {
	*HealthChecks
	kinds    []kube.HealthChecks
	machines []policy.Machine
	nodes    []corev1.Node
	policies map[string]map[string]any
	alive    map[string]bool
	now      time.Time
	// kept are the policies that stay, and marks the labels that each Node is to have.
	kept   map[string]bool
	marks  map[string]map[string]bool
	failed []error
}

// read reads everything; nil if no kind is served.
func (h *HealthChecks) read(ctx context.Context) (*round, error) {
	r := &round{HealthChecks: h, kept: map[string]bool{}, marks: map[string]map[string]bool{}, now: h.Now()}
	var err error
	if r.kinds, err = h.Objects.MachineHealthChecks(ctx); err != nil {
		return nil, err
	}
	if !h.note(r.kinds) {
		return nil, nil
	}
	if r.machines, err = h.Objects.Machines(ctx); err != nil {
		return nil, err
	}
	if r.nodes, err = h.Objects.Nodes(ctx); err != nil {
		return nil, err
	}
	if r.policies, err = h.Objects.PoliciesLabelled(ctx, mhc.AdoptedLabel, mhc.AdoptedValue); err != nil {
		return nil, err
	}
	r.alive, err = h.leaders(ctx, r)
	return r, err
}

// note logs once for each kind that it is not served, and tells whether any is.
func (h *HealthChecks) note(kinds []kube.HealthChecks) (any bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unserved == nil {
		h.unserved = map[string]bool{}
	}
	for i, kind := range kinds {
		group := mhc.Leaders[i].Group
		missing := kind.APIVersion == ""
		if missing && !h.unserved[group] {
			h.Log.Info("no MachineHealthCheck is answered of a group that is not installed; each tick looks again", "function", Name, "group", group)
		}
		h.unserved[group] = missing
		any = any || !missing
	}
	return any
}

// Detail says, for /readyz, which groups are not installed; empty if both are.
func (h *HealthChecks) Detail() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, l := range mhc.Leaders {
		if h.unserved[l.Group] {
			all = append(all, l.Group)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "adopt mhc: no MachineHealthChecks are installed of " + strings.Join(all, ", ")
}

// leaders tells of each group whether its own controller may be alive.
func (h *HealthChecks) leaders(ctx context.Context, r *round) (map[string]bool, error) {
	kept, err := h.Objects.ConfigMap(ctx, h.Namespace, leasesSeen)
	if err != nil {
		return nil, err
	}
	isNew, changed := kept == nil, false
	if isNew {
		kept = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: leasesSeen}}
	}
	alive, seen := map[string]bool{}, map[string]string{}
	for i, l := range mhc.Leaders {
		if r.kinds[i].APIVersion == "" {
			continue
		}
		lease, err := h.Objects.LeaseIn(ctx, l.Namespace, l.Name)
		if err != nil {
			return nil, err
		}
		var keep string
		if alive[l.Group], keep = mhc.Moves(kept.Data[l.Key()], lease, r.now); keep != "" {
			seen[l.Key()] = keep
		}
		changed = changed || keep != kept.Data[l.Key()]
	}
	switch kept.Data = seen; {
	case !changed:
		return alive, nil
	case isNew:
		err = h.Objects.CreateConfigMap(ctx, kept)
	default:
		err = h.Objects.SaveConfigMap(ctx, kept)
	}
	return alive, unlessLost(err) // what another process has seen counts as well
}

// deletePolicies deletes the policies of MachineHealthChecks that are gone, or are answered no more.
func (r *round) deletePolicies(ctx context.Context) {
	for name, o := range r.policies {
		if r.kept[name] || !r.served(o) {
			continue
		}
		m := metaOf(o)
		if err := unlessLost(r.Objects.DeletePolicy(ctx, name, m.UID, m.ResourceVersion)); err != nil {
			r.fail("delete FencePolicy "+name, err)
			continue
		}
		r.Log.Info("deleted a FencePolicy whose MachineHealthCheck is gone, or is answered no more", "function", Name, "policy", name, "from", m.Annotations[mhc.FromAnnotation])
	}
}

// served tells whether the kind of object that a policy was made from was read. If the kind is not
// installed any more, its policies stay, for a person to delete: an API server that is starting may
// not serve it yet.
func (r *round) served(o map[string]any) bool {
	group, _, _ := strings.Cut(metaOf(o).Annotations[mhc.FromAnnotation], "/")
	for i, l := range mhc.Leaders {
		if l.Group == group {
			return r.kinds[i].APIVersion != ""
		}
	}
	return true
}

// label sets and takes off the labels of Nodes. It takes off those alone that no policy needs.
func (r *round) label(ctx context.Context) {
	for i := range r.nodes {
		n := &r.nodes[i]
		change := map[string]any{}
		for key := range r.marks[n.Name] {
			if n.Labels[key] != mhc.LabelValue {
				change[key] = mhc.LabelValue
			}
		}
		for key := range n.Labels {
			name, is := strings.CutPrefix(key, mhc.LabelPrefix)
			if o, stays := r.policies[name]; is && !r.marks[n.Name][key] && (!stays || r.served(o)) {
				change[key] = nil
			}
		}
		if len(change) == 0 {
			continue
		}
		if err := unlessLost(r.Objects.LabelNode(ctx, n, change)); err != nil {
			r.fail("label Node "+n.Name, err)
		}
	}
}

func (r *round) fail(what string, err error) {
	r.failed = append(r.failed, fmt.Errorf("%s: %w; the next tick tries again", what, err))
}
