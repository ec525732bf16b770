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

// started is a remediation that the NodeHealthCheck has started for a node.
type started struct {
	Resource     reference       `json:"resource"`
	TimedOut     json.RawMessage `json:"timedOut"`
	TemplateName string          `json:"templateName"`
}

const (
	// holderPrefix is how NodeHealthCheck's operator begins the holder of a Lease; the name of the NodeHealthCheck follows.
	holderPrefix = "NodeHealthCheck-"
	// templateSuffix is how the kind of a template ends.
	templateSuffix = "Template"
)

// onlyAsksUs tells whether the holder of the Lease is a NodeHealthCheck that has no remediator for the node but
// nodefence: its only template is a FenceRequestTemplate, or each template of another remediator has timed out.
// Such a NodeHealthCheck holds the Lease for nodefence, also after its FenceRequest has failed (S27: a fence that
// a person retries goes on). A NodeHealthCheck that nodefence may not read, or that is gone, is waited for.
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

// onlyAsksUs: a template of another remediator that the status does not show as timed out is under way, or may
// be taken at any moment, and so is a remediation whose template was taken out of the spec.
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

// isOurs tells whether the object, or the object that follows from the template, is a FenceRequest.
func (r reference) isOurs() bool {
	group, _, _ := strings.Cut(r.APIVersion, "/")
	return group == api.GroupVersion.Group && strings.TrimSuffix(r.Kind, templateSuffix) == "FenceRequest"
}

// hasTimedOutIn tells whether the remediation by this template is over. NodeHealthCheck's older versions name no
// template in the status: the kind decides then, as it does there.
func (r reference) hasTimedOutIn(begun []started) bool {
	for _, b := range begun {
		same := b.Resource.APIVersion == r.APIVersion && b.Resource.Kind == strings.TrimSuffix(r.Kind, templateSuffix)
		if same && b.hasTimedOut() && cmp.Or(b.TemplateName, r.Name) == r.Name {
			return true
		}
	}
	return false
}

// hasTimedOut tells whether NodeHealthCheck has gone on from it.
func (s started) hasTimedOut() bool { return len(s.TimedOut) > 0 && string(s.TimedOut) != "null" }
