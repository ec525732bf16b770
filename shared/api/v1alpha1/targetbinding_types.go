package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TargetBinding is what the ConfigMaps say of a node, kept with what that was made of. No
// secret is in it (S29). What may change, and how that is noticed, stands in
// shared/binding/holds.go.
type TargetBinding struct {
	// resolver names the program that made this and its settings: another program makes its
	// own.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Resolver string `json:"resolver"`
	// nodeUID is the UID of the Node that this is about.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +required
	NodeUID types.UID `json:"nodeUID"`
	// nodeDigest is a digest of those fields of the Node that choose its configuration.
	// +kubebuilder:validation:MaxLength=64
	// +required
	NodeDigest string `json:"nodeDigest"`
	// enrolment is the ConfigMap in which the node is enrolled; none: it was not enrolled.
	// +optional
	Enrolment *TargetSource `json:"enrolment,omitempty"`
	// configsVersion is the version of all ConfigMaps, as the ledger's status.configs has it.
	// +kubebuilder:validation:MaxLength=64
	// +required
	ConfigsVersion string `json:"configsVersion"`
	// configMaps are those that say something of this node, in the versions that were read,
	// 64 at most. Where no device is bound, they are not named.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	ConfigMaps []TargetSource `json:"configMaps,omitempty"`
	// devices are those by which the machine would be fenced, 8 at most, as a decision has
	// them. Whether a device tells its machine is not said here, but in status.devices.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Devices []Binding `json:"devices,omitempty"`
	// refused is why no device is bound: the object, the key and what to mend. Empty where
	// devices are bound.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Refused string `json:"refused,omitempty"`
	// unconfigured says that no ConfigMap is about the node, and that this is why.
	// +optional
	Unconfigured bool `json:"unconfigured,omitempty"`
	// grace is how long a node must have been unhealthy, by the cluster's ConfigMaps; none
	// where they say nothing of it.
	// +optional
	Grace metav1.Duration `json:"grace,omitempty"`
	// retries is the number of tries for a step, by the cluster's ConfigMaps; 0 where they
	// say nothing of it.
	// +optional
	Retries int32 `json:"retries,omitempty"`
	// skipFrom is the percentage of unhealthy nodes from which on no fence begins, by the
	// cluster's ConfigMaps; 0 where they say nothing of it.
	// +optional
	SkipFrom int32 `json:"skipFrom,omitempty"`
}

// The bounds of a TargetBinding: what is longer is not kept.
const (
	MaxBindingSources = 64
	MaxBindingRefused = 4096
)

// TargetSource is an object as it was read.
type TargetSource struct {
	// name is the name of a ConfigMap in nodefence's namespace.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// uid tells it from another one of its name.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +required
	UID types.UID `json:"uid"`
	// resourceVersion is the version that was read.
	// +kubebuilder:validation:MaxLength=64
	// +required
	ResourceVersion string `json:"resourceVersion"`
}
