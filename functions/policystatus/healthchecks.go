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
	"github.com/nodefence/nodefence/shared/policy"
)

// HealthCheckObjects is the part of the API server's client that HealthChecks needs.
type HealthCheckObjects interface {
	MachineHealthChecks(ctx context.Context) []kube.HealthChecks
	MachinesIn(ctx context.Context, group string) ([]policy.Machine, error)
	SaveHealthCheckStatus(ctx context.Context, apiVersion string, m metav1.ObjectMeta, fields map[string]any) error
	Nodes(ctx context.Context) ([]corev1.Node, error)
	LabelNode(ctx context.Context, n *corev1.Node, labels map[string]any) error
	PoliciesLabelled(ctx context.Context, label, value string) (map[string]map[string]any, error)
	CreatePolicy(ctx context.Context, object map[string]any) error
	SavePolicy(ctx context.Context, name string, object map[string]any) error
	DeletePolicy(ctx context.Context, name string, uid types.UID, version string) error
	LeaseIn(ctx context.Context, namespace, name string) (*coordinationv1.Lease, error)
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	SaveConfigMap(ctx context.Context, cm *corev1.ConfigMap) error
	ReportAbout(ctx context.Context, o corev1.ObjectReference, reporter, name, reason, message string, warning bool) error
}

// HealthChecks answers MachineHealthChecks: it keeps a FencePolicy for each, labels the Nodes that
// the policy is to select, and writes the object's status. What follows from an object is decided in
// package mhc.
//
// A policy is there before a Node is labelled for it, and is deleted, or held, before the label is taken
// off. So a process that dies in between leaves a policy that selects too few nodes, or a label that no policy selects,
// and the next tick continues. A fence under way is not touched by any of it: it runs to its end by its
// record (S25).
type HealthChecks struct {
	Objects HealthCheckObjects
	// Namespace holds the ConfigMap in which it is kept since when the Leases of others stand still.
	Namespace string
	// Namespaces are those whose objects are answered; without any, OpenShift's own for its kind.
	Namespaces []string
	// Now is the API server's time.
	Now func() time.Time
	Log *slog.Logger

	mu       sync.Mutex
	unserved map[string]bool
}

// leasesSeen is the ConfigMap in which it is kept what was last seen of the Leases of others.
const leasesSeen = "nodefence-adopt-leases"

// Keep brings everything up to date. If something can't be read, nothing is changed that follows from
// it: what was not seen is not gone. Policies that are not kept up to date hold by their age.
func (h *HealthChecks) Keep(ctx context.Context) error {
	r, err := h.read(ctx)
	if err != nil {
		return fmt.Errorf("look at the MachineHealthChecks: %w; what follows from them stays as it is until the next tick", err)
	}
	if r == nil {
		return nil
	}
	for i := range r.kinds {
		for _, raw := range r.kinds[i].Items {
			r.check(ctx, &r.kinds[i], raw)
		}
	}
	r.deletePolicies(ctx)
	r.label(ctx)
	return errors.Join(r.failed...)
}

// kind is one kind of MachineHealthChecks, as it was read. With Err it has no Items.
type kind struct {
	kube.HealthChecks
	mhc.Leader
	machines []policy.Machine
	// alive: its own controller may be. unread: an object of it can't be read at all.
	alive, unread bool
}

// round is one look at everything, and what comes of it.
type round struct {
	*HealthChecks
	kinds    []kind
	nodes    []corev1.Node
	policies map[string]map[string]any
	now      time.Time
	// kept are the policies that stay, and marks the labels that each Node is to have. The labels of a
	// policy that is stuck stay too.
	kept, stuck map[string]bool
	marks       map[string]map[string]bool
	failed      []error
}

// read reads everything, each kind by itself; nil if no kind is served.
func (h *HealthChecks) read(ctx context.Context) (*round, error) {
	r := &round{HealthChecks: h, kept: map[string]bool{}, stuck: map[string]bool{}, marks: map[string]map[string]bool{}, now: h.Now()}
	kinds := h.Objects.MachineHealthChecks(ctx)
	if !h.note(kinds) {
		return nil, nil
	}
	var err error
	if r.nodes, err = h.Objects.Nodes(ctx); err != nil {
		return nil, err
	}
	if r.policies, err = h.Objects.PoliciesLabelled(ctx, mhc.AdoptedLabel, mhc.AdoptedValue); err != nil {
		return nil, err
	}
	for i, l := range mhc.Leaders {
		k := kind{HealthChecks: kinds[i], Leader: l}
		if k.APIVersion != "" && k.Err == nil {
			k.machines, k.alive, k.Err = h.beside(ctx, l, r.now)
		}
		if k.Err != nil {
			k.Items = nil
			r.fail("look at the MachineHealthChecks of "+l.Group, k.Err)
		}
		r.kinds = append(r.kinds, k)
	}
	return r, nil
}

// beside reads what counts beside the objects of a kind: the Machines, and whether its own controller
// may be alive.
func (h *HealthChecks) beside(ctx context.Context, l mhc.Leader, now time.Time) (machines []policy.Machine, alive bool, err error) {
	if machines, err = h.Objects.MachinesIn(ctx, l.Group); err == nil && l.Name != "" {
		alive, err = h.alive(ctx, l, now)
	}
	return machines, alive, err
}

// note logs once for each kind that it is not served, and tells whether any is.
func (h *HealthChecks) note(kinds []kube.HealthChecks) (any bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unserved == nil {
		h.unserved = map[string]bool{}
	}
	for i, k := range kinds {
		group := mhc.Leaders[i].Group
		missing := k.APIVersion == "" && k.Err == nil
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

// alive tells whether a controller may be alive, and keeps what was seen of its Lease.
func (h *HealthChecks) alive(ctx context.Context, l mhc.Leader, now time.Time) (bool, error) {
	kept, err := h.Objects.ConfigMap(ctx, h.Namespace, leasesSeen)
	if err != nil {
		return true, err
	}
	if kept == nil {
		return true, fmt.Errorf("there is no ConfigMap %s/%s, in which it is kept what was seen of Lease %s: create it, without data", h.Namespace, leasesSeen, l)
	}
	lease, err := h.Objects.LeaseIn(ctx, l.Namespace, l.Name)
	if err != nil {
		return true, err
	}
	alive, keep := mhc.Moves(kept.Data[l.Key()], lease, now)
	if keep == kept.Data[l.Key()] {
		return alive, nil
	}
	if kept.Data == nil {
		kept.Data = map[string]string{}
	}
	kept.Data[l.Key()] = keep
	return alive, unlessLost(h.Objects.SaveConfigMap(ctx, kept)) // what another process has seen counts as well
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
			if o, stays := r.policies[name]; is && !r.marks[n.Name][key] && (!stays || r.kindOf(o) != nil) && !r.stuck[name] {
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
