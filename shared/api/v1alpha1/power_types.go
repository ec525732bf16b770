package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Power is how a machine's power is cut.
type Power struct {
	// maxLevels is how many of a node's ways to switch its machine are tried, in order, from 1 to
	// 4: the first is power_management of its configuration, the next power_management_2, and so
	// on. The next is tried when one can't show that the machine is off. All that were used are
	// undone in reverse order. By default 4: all that the configuration has.
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4
	// +optional
	MaxLevels *int32 `json:"maxLevels,omitempty"`
	// offTimeout is how long after an accepted Off the machine may still read on, from 1s
	// to 1h; 60s by default.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="power.offTimeout must be between 1s and 1h"
	// +optional
	OffTimeout *Duration `json:"offTimeout,omitempty"`
	// attempts is how many times a step with a device is tried before the next level is,
	// or the flow starts over; from 1 to 100, 3 by default.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Attempts *int32 `json:"attempts,omitempty"`
	// retryInterval is the time between two attempts; from 1s to 1h, 5s by default.
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="power.retryInterval must be between 1s and 1h"
	// +optional
	RetryInterval *Duration `json:"retryInterval,omitempty"`
	// restarts is how many times the whole flow starts over before it is given up; from 0
	// to 100, 2 by default.
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Restarts *int32 `json:"restarts,omitempty"`
}

// PowerSettings are a policy's Power with every default in its place.
type PowerSettings struct {
	// maxLevels is how many of the node's ways to switch its machine are tried, in order.
	// +required
	MaxLevels int32 `json:"maxLevels"`
	// offTimeout is how long after an accepted Off the machine may still read on, such as
	// 1m0s.
	// +required
	OffTimeout metav1.Duration `json:"offTimeout"`
	// attempts is how many times a step with a device is tried before the next level is,
	// or the flow starts over.
	// +required
	Attempts int32 `json:"attempts"`
	// retryInterval is the time between two attempts, such as 5s.
	// +required
	RetryInterval metav1.Duration `json:"retryInterval"`
	// restarts is how many times the whole flow starts over before the fence is given up.
	// +required
	Restarts int32 `json:"restarts"`
}

// Settings are what it says; nil says the defaults.
func (p *Power) Settings() PowerSettings {
	if p == nil {
		p = &Power{}
	}
	return PowerSettings{
		MaxLevels: or(p.MaxLevels, 4), OffTimeout: p.OffTimeout.Or(time.Minute),
		Attempts: or(p.Attempts, 3), RetryInterval: p.RetryInterval.Or(5 * time.Second), Restarts: or(p.Restarts, 2),
	}
}

// Recovery is how a node is given back.
type Recovery struct {
	// bootTimeout is how long a machine may take from power-on to Ready; from 1s to 24h,
	// 15m by default.
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="recovery.bootTimeout must be between 1s and 24h"
	// +optional
	BootTimeout *Duration `json:"bootTimeout,omitempty"`
	// readyDuration is how long a node must be Ready before it is given work again; from
	// 0s to 24h, 30s by default.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) <= duration('24h')",message="recovery.readyDuration must be between 0s and 24h"
	// +optional
	ReadyDuration *Duration `json:"readyDuration,omitempty"`
	// uncordon Automatic, the default, gives a fenced node back once it has been Ready for
	// readyDuration. Manual then keeps it isolated, with taint and cordon, until a person gives
	// it back: by spec.requests.uncordon of its NodeFence or, once it is healthy and waits, by
	// kubectl uncordon, which everybody who may patch Nodes can do. It does so with a node whose
	// power was cut, whose work was released, or which was isolated under action Isolate or from
	// storage or network; a node that healed before that returns by itself. The node holds no
	// slot meanwhile, and counts as unhealthy.
	// +kubebuilder:default=Automatic
	// +optional
	Uncordon *UncordonRule `json:"uncordon,omitempty"`
}

// RecoverySettings are a policy's Recovery with every default in its place.
type RecoverySettings struct {
	// bootTimeout is how long the machine may take from power-on to Ready, such as 15m0s.
	// +required
	BootTimeout metav1.Duration `json:"bootTimeout"`
	// readyDuration is how long the node must be Ready before it is given work again, such
	// as 30s.
	// +required
	ReadyDuration metav1.Duration `json:"readyDuration"`
	// uncordon says who gives the node back once it is healthy: Automatic, nodefence;
	// Manual, a person.
	// +required
	Uncordon UncordonRule `json:"uncordon"`
}

// Settings are what it says; nil says the defaults.
func (r *Recovery) Settings() RecoverySettings {
	if r == nil {
		r = &Recovery{}
	}
	return RecoverySettings{
		BootTimeout: r.BootTimeout.Or(15 * time.Minute), ReadyDuration: r.ReadyDuration.Or(30 * time.Second),
		Uncordon: or(r.Uncordon, UncordonAutomatic),
	}
}

// UncordonRule says who gives a fenced node back once it is healthy.
// +kubebuilder:validation:Enum=Automatic;Manual
type UncordonRule string

// The rules.
const (
	UncordonAutomatic UncordonRule = "Automatic"
	UncordonManual    UncordonRule = "Manual"
)

// or is what a pointer points to, or def where it points to nothing.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
