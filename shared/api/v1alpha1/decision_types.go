package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Decision is what the gate decided when the fence was opened, and what it resolved since.
type Decision struct {
	// nodeUID is the Node object that failed; another one of the same name is
	// another node (S6).
	// +required
	NodeUID types.UID `json:"nodeUID"`
	// trigger is why the fence opened.
	// +required
	Trigger Trigger `json:"trigger"`
	// askedBy are the events that asked for this fence, oldest first: the first one that counts,
	// which may have opened it, and the last ones that came after. An event that comes while the
	// fence is open joins it, and the fence answers all of them.
	// +kubebuilder:validation:MaxItems=17
	// +listType=map
	// +listMapKey=id
	// +listMapKey=source
	// +optional
	AskedBy []AskedBy `json:"askedBy,omitempty"`
	// reports are the UIDs of the Kubernetes Events that asked for this fence, or for earlier
	// fences of the node, at most the last 200. They are used up: none of them asks again.
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=atomic
	// +optional
	Reports []string `json:"reports,omitempty"`
	// The policy as resolved last. It is resolved again until a slot is reserved. After that an
	// edit does not change the fence, but a policy that has become stricter sends it back to the
	// gate, or stops its further Offs.
	ResolvedPolicy `json:",inline"`
	// deviceCallTimeout is the longest that one call to a device may take, as the gate that
	// opened this fence was set (NODEFENCE_DEVICE_CALL_TIMEOUT). It is shorter from when the
	// fence goes on with a slot that was reserved for shorter calls.
	// +optional
	DeviceCallTimeout metav1.Duration `json:"deviceCallTimeout,omitempty"`
	// devices are those by which this machine is fenced, as its configuration has them, without
	// secrets, at most 8: what switches its power, in order of level, and then what cuts it off
	// from storage or network, in the order in which that is done; access is given back in
	// reverse. They are resolved again each time that the fence asks for a slot, also for a
	// retry, until one of them has switched something off: the same device must switch it on
	// again.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Devices []Binding `json:"devices,omitempty"`
	// devicesError says why there are none, with ConfigMap and key.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	DevicesError string `json:"devicesError,omitempty"`
}
