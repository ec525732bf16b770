package healthchecks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/mhc"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
)

// Objects is the part of the API server's client that a Keeper needs.
type Objects interface {
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

// Keeper answers MachineHealthChecks: it keeps a FencePolicy for each, labels the Nodes that
// the policy is to select, and writes the object's status. What follows from an object is decided in
// package mhc.
//
// A policy is there before a Node is labelled for it, and is deleted, or held, before the label is taken
// off. So a process that dies in between leaves a policy that selects too few nodes, or a label that no policy selects,
// and the next tick continues. A fence under way is not touched by any of it: it runs to its end by its
// record (S25).
type Keeper struct {
	Objects Objects
	// Function is the function that this is part of.
	Function string
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
	*Keeper
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

func (r *round) fail(what string, err error) {
	r.failed = append(r.failed, fmt.Errorf("%s: %w; the next tick tries again", what, err))
}

// unlessLost returns err, or nil if another process has written first: the next tick looks again.
func unlessLost(err error) error {
	if errors.Is(err, kube.ErrConflict) {
		return nil
	}
	return err
}

// tell writes an Event about it, once for as long as the Event is kept.
func (r *round) tell(ctx context.Context, c *mhc.Check, reason, message string, warning bool) {
	sum := sha256.Sum256([]byte(string(c.UID) + reason + message))
	about := corev1.ObjectReference{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}
	name := clip.To(200, c.Name) + "." + hex.EncodeToString(sum[:8])
	if err := r.Objects.ReportAbout(ctx, about, r.Function, name, reason, clip.Message(message), warning); err != nil {
		r.Log.Warn("cannot write an Event; the next tick tries again", "function", r.Function, "about", c.String(), "error", err.Error())
	}
}

// metaOf is the metadata of an object as the API server sent it.
func metaOf(o map[string]any) (m metav1.ObjectMeta) {
	raw, err := json.Marshal(o["metadata"])
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return metav1.ObjectMeta{UID: types.UID("unreadable")} // no object has this UID
	}
	return m
}

// The reasons of the Events about a MachineHealthCheck. RemediationRestricted is its own controller's
// word.
const (
	eventAdopted    = "Adopted"
	eventRefused    = mhc.CannotBeMapped
	eventPassive    = "LeftToItsController"
	eventNamespace  = "NamespaceDoesNotCount"
	eventElsewhere  = "NodesElsewhere"
	eventPaused     = "ClusterPaused"
	eventRestricted = "RemediationRestricted"
)
