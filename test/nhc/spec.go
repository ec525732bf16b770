package nhc

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// CRD is the kind NodeHealthCheck.
//
//go:embed crd.yaml
var CRD string

const (
	// Leases is the namespace of the Leases.
	Leases = "medik8s-leases"

	group        = "remediation.medik8s.io"
	nodeName     = group + "/node-name"
	templateName = group + "/template-name"
	timedOut     = group + "/nhc-timed-out"
	several      = group + "/multiple-templates-support"
	controlPlane = group + "/isControlPlaneNode"
	excluded     = group + "/exclude-from-remediation"
)

// checks is where NodeHealthChecks are.
var checks = schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "nodehealthchecks"}

// check is a NodeHealthCheck.
type check struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector               metav1.LabelSelector `json:"selector"`
		UnhealthyConditions    []condition          `json:"unhealthyConditions"`
		PauseRequests          []string             `json:"pauseRequests"`
		RemediationTemplate    *reference           `json:"remediationTemplate"`
		EscalatingRemediations []step               `json:"escalatingRemediations"`
	} `json:"spec"`
}

type condition struct {
	Type     corev1.NodeConditionType `json:"type"`
	Status   corev1.ConditionStatus   `json:"status"`
	Duration metav1.Duration          `json:"duration"`
}

type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// step is one of the templates that are tried one after the other.
type step struct {
	RemediationTemplate reference       `json:"remediationTemplate"`
	Order               int             `json:"order"`
	Timeout             metav1.Duration `json:"timeout"`
}

// steps are in their order. The single template of a check without steps has no timeout.
func (c *check) steps() []step {
	if c.Spec.RemediationTemplate != nil {
		return []step{{RemediationTemplate: *c.Spec.RemediationTemplate}}
	}
	return slices.SortedFunc(slices.Values(c.Spec.EscalatingRemediations), func(a, b step) int { return cmp.Compare(a.Order, b.Order) })
}

// unhealthy tells whether a condition of the node has been as the check has it for long enough, and
// whether one will be.
func (c *check) unhealthy(n *corev1.Node, now time.Time) (is, soon bool) {
	for _, want := range c.Spec.UnhealthyConditions {
		for _, have := range n.Status.Conditions {
			if have.Type == want.Type && have.Status == want.Status {
				is = is || now.After(have.LastTransitionTime.Add(want.Duration.Duration))
				soon = true
			}
		}
	}
	return is, soon && !is
}

// resource is where the objects of a template's kind are, and, with the end Template, the templates.
func resource(r reference, end string) (schema.GroupVersionResource, error) {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	kind, is := strings.CutSuffix(r.Kind, "Template")
	if err != nil || !is {
		return schema.GroupVersionResource{}, fmt.Errorf("%s of %s is no template", r.Kind, r.APIVersion)
	}
	return gv.WithResource(strings.ToLower(kind+end) + "s"), nil
}

// object is what a check makes of a template for a node.
func object(c *check, n *corev1.Node, template *unstructured.Unstructured) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(template.GetAPIVersion())
	o.SetKind(strings.TrimSuffix(template.GetKind(), "Template"))
	o.SetNamespace(template.GetNamespace())
	if template.GetAnnotations()[several] == "true" {
		o.SetGenerateName(n.Name + "-")
	} else {
		o.SetName(n.Name)
	}
	o.SetAnnotations(map[string]string{nodeName: n.Name, templateName: template.GetName()})
	labels := map[string]string{"app.kubernetes.io/part-of": "node-healthcheck-controller"}
	if _, is := n.Labels["node-role.kubernetes.io/control-plane"]; is {
		labels[controlPlane] = ""
	}
	o.SetLabels(labels)
	no := false
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: group + "/v1alpha1", Kind: "NodeHealthCheck", Name: c.Name, UID: c.UID, Controller: &no}})
	if spec, found, _ := unstructured.NestedMap(template.Object, "spec", "template", "spec"); found {
		o.Object["spec"] = spec
	}
	return o
}

// owns tells whether the check has made an object.
func owns(uid types.UID, o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == uid })
}

// says is the status of a condition of an object; empty if it has none.
func says(o *unstructured.Unstructured, typ string) string {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if c, is := c.(map[string]any); is && c["type"] == typ {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}

// read converts an object.
func read[T any](u *unstructured.Unstructured) (*T, error) {
	out := new(T)
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
}
