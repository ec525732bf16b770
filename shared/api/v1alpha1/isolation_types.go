package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Isolation is how a node is isolated before its machine's power is cut.
type Isolation struct {
	// powerDelay is how long a node is isolated before its machine's power is cut, from 0s to 1h;
	// 0s by default. A node that is healthy again within that time is given back, and its power is
	// not cut. Isolated is a node that has the taint nodefence.io/isolated; what cuts it off from
	// storage and network is asked before the time is waited for. The machine is not read meanwhile,
	// so the work of one that is off already waits too. The fence holds no slot while it waits:
	// limits.maxConcurrent does not bound how many nodes are isolated and wait. It does not wait
	// where a person confirms that the machine is off, or where the Node object is missing. A fence
	// that only an event or a FenceRequest asks for expires after 15 minutes, so it needs a shorter
	// delay. Only under action Reboot and PowerOff.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) <= duration('1h')",message="isolation.powerDelay must be between 0s and 1h"
	// +optional
	PowerDelay *Duration `json:"powerDelay,omitempty"`
}

// IsolationSettings are a policy's Isolation with every default in its place.
type IsolationSettings struct {
	// powerDelay is how long the node is isolated before its machine's power is cut, such as
	// 5m0s; 0s for no time.
	// +optional
	PowerDelay metav1.Duration `json:"powerDelay,omitzero"`
}

// Settings are what it says; nil says the defaults.
func (i *Isolation) Settings() IsolationSettings {
	if i == nil {
		return IsolationSettings{}
	}
	return IsolationSettings{PowerDelay: i.PowerDelay.Or(0)}
}

// Coverage is the storage that a device of role Storage cuts the machine off from.
type Coverage struct {
	// storageClassNames are those whose volumes a cut stops.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	StorageClassNames []string `json:"storageClassNames,omitempty"`
	// csiDriverNames are those whose volumes a cut stops.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	CSIDriverNames []string `json:"csiDriverNames,omitempty"`
}

// Empty covers nothing.
func (c *Coverage) Empty() bool {
	return c == nil || len(c.StorageClassNames)+len(c.CSIDriverNames) == 0
}

// IsolationRecord is what was asked of one device of status.decision.devices that
// cuts the machine off, and what it said.
//
// It is removed with its device, unless the device has cut the machine off: then it stays,
// because access must be given back. A device stays bound until access was given back. If the
// device of a record is gone nevertheless, the record holds the fence until a person ends it.
type IsolationRecord struct {
	// device is the name of the device, in status.decision.devices.
	// +kubebuilder:validation:MaxLength=32
	// +required
	Device string `json:"device"`
	// driver is the name of the driver that speaks with the device. If the device gets another
	// driver or address, its record starts again from the beginning.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Driver string `json:"driver"`
	// address is the device's, in the driver's one spelling (S11).
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Address string `json:"address"`

	DeviceRecord `json:",inline"`
	// firstCut is the first of the answers in a row that say that there is no access.
	// +optional
	FirstCut *Read `json:"firstCut,omitempty"`
	// seenCutAt is when it was last seen without access.
	// +optional
	SeenCutAt *Time `json:"seenCutAt,omitempty"`
	// gaveUp says that the device could not cut the machine off, and that the fence continued
	// without it.
	// +optional
	GaveUp bool `json:"gaveUp,omitempty"`
	// abandoned says that a person ended the record before access could be given back.
	// +optional
	Abandoned bool `json:"abandoned,omitempty"`
	// tries counts the calls of the device so far.
	// +optional
	Tries int32 `json:"tries,omitempty"`
}

// RecordOf is the empty record of a device.
func RecordOf(b *Binding) IsolationRecord {
	return IsolationRecord{Device: b.Name, Driver: b.Driver, Address: b.Address}
}

// Of tells whether the record is of that device.
func (r *IsolationRecord) Of(b *Binding) bool {
	return r.Device == b.Name && r.Driver == b.Driver && r.Address == b.Address
}

// Words name the device to people.
func (r *IsolationRecord) Words() string { return r.Driver + " " + r.Address }

// RestoreRecord says where a fence continues once access is given back, and why.
type RestoreRecord struct {
	// then is the phase that follows once access is given back.
	// +required
	Then Phase `json:"then"`
	// reason is the one word for it, of the closed list in infra/crd/REASONS.md.
	// +required
	Reason Reason `json:"reason"`
	// message says it in a sentence, with the numbers, for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}
