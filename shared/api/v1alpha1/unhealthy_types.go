package v1alpha1

// EarlyProbe is a Lease that stands still. It is enough to read the machine's power, under all
// limits, and to release what ran on a machine that is seen off; it is never enough to switch a
// machine off, or to mark a node whose machine is on: that waits for a condition of the policy.
type EarlyProbe struct {
	// leaseStillDuration is how long the Lease must have been seen to stand still, from 5s to
	// 10m; 12s by default. The machine is not read before every node that was lost at the same
	// moment would show too, so that a storm is seen as one. That takes 2.2 renewals and a
	// second, which is 23 s where Leases are renewed each 10 s.
	// +kubebuilder:default="12s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('5s') && duration(self) <= duration('10m')",message="earlyProbe.leaseStillDuration must be between 5s and 10m"
	// +optional
	LeaseStillDuration *Duration `json:"leaseStillDuration,omitempty"`
}

// UnhealthyCondition is one node condition that makes a node unhealthy.
// +kubebuilder:validation:XValidation:rule="!(self.type == 'Ready' && self.status == 'True')",message="unhealthyConditions[] with type Ready and status True would make every healthy node unhealthy: write status Unknown or False"
type UnhealthyCondition struct {
	// type is the type of the condition, such as Ready: at most 316 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +required
	Type string `json:"type,omitempty"`
	// status is that in which the condition makes the node unhealthy: True, False or
	// Unknown.
	// +kubebuilder:validation:Enum=True;False;Unknown
	// +required
	Status string `json:"status,omitempty"`
	// duration is how long the condition must have held, by the API server's clock, from
	// 0s to 24h; 0s by default.
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="unhealthyConditions[].duration must be between 0s and 24h"
	// +optional
	Duration *Duration `json:"duration,omitempty"`
}
