package mhc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Refused says which field of a MachineHealthCheck has no counterpart here, and what to do.
type Refused struct{ Field, Why string }

func (r *Refused) Error() string { return r.Field + ": " + r.Why }

func refused(field, why string, args ...any) error {
	return &Refused{Field: field, Why: fmt.Sprintf(why, args...)}
}

// object is a MachineHealthCheck of any version.
type object struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec"`
	Status            map[string]any  `json:"status"`
}

// common is what all versions say, and the names that each has for it.
type common struct {
	clusterName string
	selector    metav1.LabelSelector
	conditions  []condition
	names       names
	max         *intstr.IntOrString
	minHealthy  *intstr.IntOrString
	inRange     string
	startup     time.Duration
}

type condition struct {
	typ, status string
	timeout     time.Duration
}

// names are the fields' names in one version, for messages.
type names struct{ conditions, timeout, max, inRange, startup string }

// v1beta1 is spec in machine.openshift.io/v1beta1 and cluster.x-k8s.io/v1beta1. minHealthy is in
// neither schema, but in the proposal.
type v1beta1 struct {
	ClusterName         string               `json:"clusterName"`
	Selector            metav1.LabelSelector `json:"selector"`
	UnhealthyConditions []struct {
		Type    string `json:"type"`
		Status  string `json:"status"`
		Timeout string `json:"timeout"`
	} `json:"unhealthyConditions"`
	UnhealthyMachineConditions []json.RawMessage   `json:"unhealthyMachineConditions"`
	MaxUnhealthy               *intstr.IntOrString `json:"maxUnhealthy"`
	MinHealthy                 *intstr.IntOrString `json:"minHealthy"`
	UnhealthyRange             string              `json:"unhealthyRange"`
	NodeStartupTimeout         *string             `json:"nodeStartupTimeout"`
	RemediationTemplate        json.RawMessage     `json:"remediationTemplate"`
}

// v1beta2 is spec in cluster.x-k8s.io/v1beta2.
type v1beta2 struct {
	ClusterName string               `json:"clusterName"`
	Selector    metav1.LabelSelector `json:"selector"`
	Checks      struct {
		NodeStartupTimeoutSeconds *int32 `json:"nodeStartupTimeoutSeconds"`
		UnhealthyNodeConditions   []struct {
			Type           string `json:"type"`
			Status         string `json:"status"`
			TimeoutSeconds int32  `json:"timeoutSeconds"`
		} `json:"unhealthyNodeConditions"`
		UnhealthyMachineConditions []json.RawMessage `json:"unhealthyMachineConditions"`
	} `json:"checks"`
	Remediation struct {
		TriggerIf struct {
			UnhealthyLessThanOrEqualTo *intstr.IntOrString `json:"unhealthyLessThanOrEqualTo"`
			UnhealthyInRange           string              `json:"unhealthyInRange"`
		} `json:"triggerIf"`
		TemplateRef json.RawMessage `json:"templateRef"`
	} `json:"remediation"`
}

// startupDefault is how long a Machine may be without a node if its MachineHealthCheck does not say.
const startupDefault = 10 * time.Minute

// Read reads a MachineHealthCheck of that version, as the API server sent it. If its spec is
// refused, the error is a Refused, and the rest of the Check is there.
func Read(apiVersion string, raw []byte) (*Check, error) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("read a MachineHealthCheck of %s: %w", apiVersion, err)
	}
	c := &Check{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "MachineHealthCheck"}, ObjectMeta: o.ObjectMeta, Status: o.Status}
	is, err := specOf(apiVersion, o.Spec)
	if err != nil {
		return c, err
	}
	return c, c.take(is)
}

func specOf(apiVersion string, spec []byte) (common, error) {
	if strings.HasSuffix(apiVersion, "/v1beta2") {
		var s v1beta2
		if err := strictly(spec, &s); err != nil {
			return common{}, err
		}
		return s.common()
	}
	var s v1beta1
	if err := strictly(spec, &s); err != nil {
		return common{}, err
	}
	return s.common()
}

// strictly refuses a field that this program does not know: nobody knows what it would change.
func strictly(spec []byte, into any) error {
	if len(spec) == 0 {
		return refused("spec", "missing")
	}
	d := json.NewDecoder(bytes.NewReader(spec))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return refused("spec", "nodefence can't read it: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func (s v1beta1) common() (common, error) {
	is := common{
		clusterName: s.ClusterName, selector: s.Selector, max: s.MaxUnhealthy, minHealthy: s.MinHealthy, inRange: s.UnhealthyRange, startup: startupDefault,
		names: names{"spec.unhealthyConditions", "timeout", "spec.maxUnhealthy", "spec.unhealthyRange", "spec.nodeStartupTimeout"},
	}
	if err := unmapped("spec.unhealthyMachineConditions", s.UnhealthyMachineConditions, "spec.remediationTemplate", s.RemediationTemplate); err != nil {
		return is, err
	}
	for i, c := range s.UnhealthyConditions {
		timeout, err := time.ParseDuration(c.Timeout)
		if err != nil {
			return is, refused(fmt.Sprintf("%s[%d].timeout", is.names.conditions, i), "%q is no duration, such as 300s", c.Timeout)
		}
		is.conditions = append(is.conditions, condition{c.Type, c.Status, timeout})
	}
	if s.NodeStartupTimeout == nil {
		return is, nil
	}
	var err error
	if is.startup, err = time.ParseDuration(*s.NodeStartupTimeout); err != nil {
		return is, refused(is.names.startup, "%q is no duration, such as 10m", *s.NodeStartupTimeout)
	}
	return is, nil
}

func (s v1beta2) common() (common, error) {
	is := common{
		clusterName: s.ClusterName, selector: s.Selector, startup: startupDefault,
		max: s.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo, inRange: s.Remediation.TriggerIf.UnhealthyInRange,
		names: names{
			"spec.checks.unhealthyNodeConditions", "timeoutSeconds", "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
			"spec.remediation.triggerIf.unhealthyInRange", "spec.checks.nodeStartupTimeoutSeconds",
		},
	}
	if err := unmapped("spec.checks.unhealthyMachineConditions", s.Checks.UnhealthyMachineConditions, "spec.remediation.templateRef", s.Remediation.TemplateRef); err != nil {
		return is, err
	}
	for _, c := range s.Checks.UnhealthyNodeConditions {
		is.conditions = append(is.conditions, condition{c.Type, c.Status, time.Duration(c.TimeoutSeconds) * time.Second})
	}
	if t := s.Checks.NodeStartupTimeoutSeconds; t != nil {
		is.startup = time.Duration(*t) * time.Second
	}
	return is, nil
}

// unmapped refuses what nodefence has no counterpart for.
func unmapped(ofMachines string, conditions []json.RawMessage, template string, ref json.RawMessage) error {
	switch {
	case len(conditions) > 0:
		return refused(ofMachines, "nodefence looks at conditions of Nodes alone: leave the field out, or let Cluster API's controller handle this object")
	case len(ref) > 0 && string(ref) != "null" && string(ref) != "{}":
		return refused(template, "nodefence makes no remediation objects from templates: leave the field out, or let this API's own controller make them")
	}
	return nil
}
