package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Limits bound how much is fenced at once. All counts are over the nodes that
// the policy selects.
// +kubebuilder:validation:XValidation:rule="!(has(self.maxUnhealthy) && has(self.minHealthy))",message="maxUnhealthy and minHealthy exclude each other: set one"
type Limits struct {
	// MaxUnhealthy is the most unhealthy nodes, number or percent (rounded
	// down), with which a fence may still begin: it begins while unhealthy <=
	// maxUnhealthy. Unless maxUnhealthy or minHealthy is set: 40%.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 && int(self) <= 1000000 : string(self).matches('^(100|[0-9]{1,2})%$')",message="must be a number of nodes from 0 to 1000000, or a percentage from 0% to 100%"
	// +optional
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
	// MinHealthy is the fewest healthy nodes, number or percent (rounded up),
	// with which a fence may still begin.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 && int(self) <= 1000000 : string(self).matches('^(100|[0-9]{1,2})%$')",message="must be a number of nodes from 0 to 1000000, or a percentage from 0% to 100%"
	// +optional
	MinHealthy *intstr.IntOrString `json:"minHealthy,omitempty"`
	// UnhealthyRange "[a-b]": a fence may begin only while at least a and at most
	// b nodes are unhealthy. It wins over the two above.
	// +kubebuilder:validation:Pattern=`^\[[0-9]{1,5}-[0-9]{1,5}\]$`
	// +kubebuilder:validation:MaxLength=13
	// +optional
	UnhealthyRange string `json:"unhealthyRange,omitempty"`
	// AtLeastOne lets one fence begin where a percentage of few nodes rounds
	// down to none.
	// +optional
	AtLeastOne bool `json:"atLeastOne,omitempty"`
	// TopologyKey is a node label, such as topology.kubernetes.io/zone. With it
	// every count of these limits, maxConcurrent included, is over the nodes that
	// share the failed node's value: a bad zone does not stop the others. Limits
	// over all nodes besides are another policy's, or a FenceBudget's.
	// +kubebuilder:validation:MaxLength=316
	// +optional
	TopologyKey string `json:"topologyKey,omitempty"`
	// Rate is how many fences may begin in a time. A fence counts as the node's labels
	// were when it was admitted, whatever has become of its Node object.
	// +optional
	Rate *Rate `json:"rate,omitempty"`
	// MaxConcurrent is how many nodes may be between reservation and release at once,
	// those included whose Node object is deleted, or relabelled, meanwhile.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`
	// StormCoolDown is how long nothing begins after a storm (more unhealthy
	// nodes than allowed) has ended.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="self >= duration('0s') && self <= duration('24h')",message="stormCoolDown must be between 0s and 24h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	StormCoolDown metav1.Duration `json:"stormCoolDown,omitempty"`
	// PerNodePerDay is how many times in 24 hours one node's power may be cut.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	PerNodePerDay int32 `json:"perNodePerDay,omitempty"`
}

// Rate is so many fences in a time.
type Rate struct {
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Fences int32 `json:"fences"`
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('24h')",message="within must be between 1s and 24h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	Within metav1.Duration `json:"within"`
}

// Timeouts bound the steps.
type Timeouts struct {
	// DeviceCall is the longest that one call to a device may take.
	// +kubebuilder:default="20s"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('20s')",message="deviceCall must be between 1s and 20s"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	DeviceCall metav1.Duration `json:"deviceCall,omitempty"`
	// PowerOff is how long after an accepted Off the machine may still read on.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('1h')",message="powerOff must be between 1s and 1h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	PowerOff metav1.Duration `json:"powerOff,omitempty"`
	// Release is how long a power-on waits for the node's pods and attachments
	// to be gone.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('1h')",message="release must be between 1s and 1h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	Release metav1.Duration `json:"release,omitempty"`
	// Boot is how long a machine may take from power-on to Ready.
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('24h')",message="boot must be between 1s and 24h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	Boot metav1.Duration `json:"boot,omitempty"`
	// HealthyFor is how long a node must be Ready before it is given work again.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="self >= duration('0s') && self <= duration('24h')",message="healthyFor must be between 0s and 24h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	HealthyFor metav1.Duration `json:"healthyFor,omitempty"`
}

// Retries bound repetition.
type Retries struct {
	// PerStep is how many times a device step is tried before the flow fails.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	PerStep int32 `json:"perStep,omitempty"`
	// Interval lies between two tries.
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:XValidation:rule="self >= duration('1s') && self <= duration('1h')",message="interval must be between 1s and 1h"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}([.][0-9]{1,9})?(h|m|s|ms|us|µs|ns)){1,4}$`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:Type=string
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`
	// Flow is how many times the whole flow starts over before it is given up.
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Flow *int32 `json:"flow,omitempty"`
}
