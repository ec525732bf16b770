package remediation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// healthCheck is the part of a NodeHealthCheck that names its remediators.
type healthCheck struct {
	Spec struct {
		RemediationTemplate    *reference `json:"remediationTemplate"`
		EscalatingRemediations []struct {
			RemediationTemplate reference `json:"remediationTemplate"`
		} `json:"escalatingRemediations"`
	} `json:"spec"`
	Status struct {
		UnhealthyNodes []struct {
			Name         string    `json:"name"`
			Remediations []started `json:"remediations"`
		} `json:"unhealthyNodes"`
	} `json:"status"`
}

// reference names a template, or the object of a remediator.
type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// started is a remediation of a node that the NodeHealthCheck has begun.
type started struct {
	Resource     reference       `json:"resource"`
	TimedOut     json.RawMessage `json:"timedOut"`
	TemplateName string          `json:"templateName"`
}

const (
	// holderPrefix stands before the name of a NodeHealthCheck in the holder of a Lease.
	holderPrefix = "NodeHealthCheck-"
	// templateSuffix is how the kind of a template ends.
	templateSuffix = "Template"
)

// onlyAsksUs tells whether the holder of the Lease is a NodeHealthCheck without a remediator for the node but
// nodefence: the only template is a FenceRequestTemplate, or each foreign template has timed out. The Lease then
// keeps the node for nodefence, also after the FenceRequest has failed (S27: every end is reachable). A NodeHealthCheck
// that is gone, or that nodefence may not read, is waited for.
func (l *Leases) onlyAsksUs(ctx context.Context, node string, was *coordinationv1.Lease) (bool, error) {
	name, is := strings.CutPrefix(holderOf(was), holderPrefix)
	if !is {
		return false, nil
	}
	raw, err := l.Cluster.NodeHealthCheck(ctx, name)
	switch {
	case apierrors.IsForbidden(err), err == nil && raw == nil:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look which remediators NodeHealthCheck %s has: %w", name, err)
	}
	var c healthCheck
	if json.Unmarshal(raw, &c) != nil {
		return false, nil // a later version of the kind
	}
	return c.onlyAsksUs(node), nil
}

// onlyAsksUs: a foreign template that has not timed out by the status is under way, or may be taken at any moment. A
// foreign remediation is under way also after its template was removed from the spec.
func (c *healthCheck) onlyAsksUs(node string) bool {
	var begun []started
	for _, n := range c.Status.UnhealthyNodes {
		if n.Name == node {
			begun = append(begun, n.Remediations...)
		}
	}
	for _, r := range begun {
		if !r.hasTimedOut() && !r.Resource.isOurs() {
			return false
		}
	}
	if t := c.Spec.RemediationTemplate; t != nil {
		return t.isOurs()
	}
	for _, step := range c.Spec.EscalatingRemediations {
		if t := step.RemediationTemplate; !t.isOurs() && !t.hasTimedOutIn(begun) {
			return false
		}
	}
	return len(c.Spec.EscalatingRemediations) > 0
}

// isOurs tells whether the reference is to a FenceRequest or a FenceRequestTemplate.
func (r reference) isOurs() bool {
	group, _, _ := strings.Cut(r.APIVersion, "/")
	return group == api.GroupVersion.Group && strings.TrimSuffix(r.Kind, templateSuffix) == "FenceRequest"
}

// hasTimedOutIn tells whether the remediation by the template has timed out. Older versions of NodeHealthCheck name no
// template in the status, and compare the kind.
func (r reference) hasTimedOutIn(begun []started) bool {
	for _, b := range begun {
		same := b.Resource.APIVersion == r.APIVersion && b.Resource.Kind == strings.TrimSuffix(r.Kind, templateSuffix)
		if same && b.hasTimedOut() && cmp.Or(b.TemplateName, r.Name) == r.Name {
			return true
		}
	}
	return false
}

// hasTimedOut tells whether NodeHealthCheck has gone on to the next template.
func (s started) hasTimedOut() bool { return len(s.TimedOut) > 0 && string(s.TimedOut) != "null" }
