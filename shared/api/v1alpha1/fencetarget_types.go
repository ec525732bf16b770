package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FenceTarget says whether a node could be fenced: how the devices that would do it were last
// seen, while nothing had failed. It is not the target of a fence that is under way: that is a
// NodeFence. A fence takes status.binding while that is still what the configuration says; no
// decision rests on anything else of it. It has the name of its Node and is deleted with it.
// nodefence creates it and writes its status; people write its annotation nodefence.io/check-now.
// One without a status was not checked yet.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=fencing
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=DEVICE,type=string,JSONPath=`.status.devices[0].address`
// +kubebuilder:printcolumn:name=IDENTITY,type=string,JSONPath=`.status.devices[0].identity`
// +kubebuilder:printcolumn:name=FENCEABLE,type=string,JSONPath=`.status.conditions[?(@.type=="Fenceable")].status`
// +kubebuilder:printcolumn:name=REASON,type=string,JSONPath=`.status.conditions[?(@.type=="Fenceable")].reason`
// +kubebuilder:printcolumn:name=HOST-HA,type=string,JSONPath=`.status.hostHA`
// +kubebuilder:printcolumn:name=CHECKED,type=date,JSONPath=`.status.lastChecked`
// +kubebuilder:printcolumn:name=DRIVER,type=string,JSONPath=`.status.devices[0].driver`,priority=1
// +kubebuilder:printcolumn:name=ENROLLED,type=string,JSONPath=`.status.devices[0].enrolled`,priority=1
// +kubebuilder:printcolumn:name=MESSAGE,type=string,JSONPath=`.status.conditions[?(@.type=="Fenceable")].message`,priority=1
type FenceTarget struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is the node's devices as last seen.
	// +optional
	// +structType=atomic
	Status FenceTargetStatus `json:"status,omitzero"`
}

// FenceTargetStatus is a node's devices as last seen.
type FenceTargetStatus struct {
	// nodeUID is the UID of the Node object that was looked at; it tells two of one name apart.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +optional
	NodeUID types.UID `json:"nodeUID,omitempty"`
	// hostHA is the node's state in the words of CloudStack's Host HA. It follows from the
	// node's NodeFence, condition Fenceable and the policies; the source writes it when it
	// changes. Empty: not written yet.
	// +optional
	HostHA HostHA `json:"hostHA,omitempty"`
	// lastChecked is when anything of this node was looked at last.
	// +optional
	LastChecked *Time `json:"lastChecked,omitempty"`
	// devices are those of all power levels, in order, and then those of the isolation: at
	// most 16.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Devices []TargetDevice `json:"devices,omitempty"`
	// claim is the read of one of them that is under way (S7). Until its notAfter, or until the
	// claim is gone, no fence of this node gets a slot.
	// +optional
	Claim *TargetClaim `json:"claim,omitempty"`
	// checkNow is the last request to read all devices at once that nodefence took up.
	// +optional
	CheckNow *CheckNow `json:"checkNow,omitempty"`
	// conditions are Fenceable: True where each of the node's devices answers, and for the
	// right machine.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// binding is the devices that the node's configuration comes to, or why it comes to none,
	// with what it was made of. A fence takes it instead of reading all ConfigMaps where
	// nothing of that has changed. None: the node's devices depend on something else too, and
	// each fence resolves them anew.
	// +optional
	Binding *TargetBinding `json:"binding,omitempty"`
}

// HostHA is a host's state as CloudStack's Host HA has it.
// +kubebuilder:validation:Enum=DISABLED;INELIGIBLE;AVAILABLE;SUSPECT;CHECKING;DEGRADED;RECOVERING;RECOVERED;FENCING;FENCED
type HostHA string

// The states of Host HA. What makes a node be in one stands in functions/power/CHECKS.md.
const (
	HostHADisabled   HostHA = "DISABLED"
	HostHAIneligible HostHA = "INELIGIBLE"
	HostHAAvailable  HostHA = "AVAILABLE"
	HostHASuspect    HostHA = "SUSPECT"
	HostHAChecking   HostHA = "CHECKING"
	HostHADegraded   HostHA = "DEGRADED"
	HostHARecovering HostHA = "RECOVERING"
	HostHARecovered  HostHA = "RECOVERED"
	HostHAFencing    HostHA = "FENCING"
	HostHAFenced     HostHA = "FENCED"
)

// CheckNow is a person's request to read a node's devices at once.
type CheckNow struct {
	// value is that of annotation nodefence.io/check-now: its first 64 letters.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Value string `json:"value"`
	// at is when nodefence took it up, by the API server's clock.
	// +required
	At Time `json:"at"`
	// doneAt is when each of the devices had been asked since. It is not set before.
	// +optional
	DoneAt *Time `json:"doneAt,omitempty"`
}

// CheckNowAnnotation of a FenceTarget asks to have its node's devices read at once. Each new
// value, of which the first 64 letters count, is a new request. Everybody who may patch the
// FenceTarget may ask.
const CheckNowAnnotation = "nodefence.io/check-now"

// AskedNow is the request that the annotation has now; empty if it has none.
func (t *FenceTarget) AskedNow() string {
	v := []rune(t.Annotations[CheckNowAnnotation])
	return string(v[:min(len(v), 64)])
}

// Heeded tells whether that request has been carried out.
func (t *FenceTarget) Heeded(wish string) bool {
	c := t.Status.CheckNow
	return c != nil && c.Value == wish && c.DoneAt != nil
}

// TargetDevice is one device as last seen. No secret is in it (S29).
type TargetDevice struct {
	// driver is the name of the driver that speaks with it, such as ipmi.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Driver string `json:"driver"`
	// address is the outlet or machine in the driver's one spelling (S11).
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Address string `json:"address"`
	// role is what it does to the machine: Power switches it, Storage and Network cut it
	// off from these while it runs on.
	// +required
	Role Role `json:"role,omitempty"`
	// identity is what the device says its machine is, where it can tell. Where that is the
	// enrolled one it is spelt as enrolled.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Identity string `json:"identity,omitempty"`
	// enrolled is what it must say its machine is; empty if nothing was enrolled.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Enrolled string `json:"enrolled,omitempty"`
	// tells says that the device has told this identity since it was enrolled. From then on an
	// answer without an identity is refused, by a fence too.
	// +optional
	Tells bool `json:"tells,omitempty"`
	// state is what it said of the machine: PoweredOn, PoweredOff or Unknown. For roles Storage
	// and Network PoweredOn means access, and PoweredOff none. It is not set before the device
	// was first read.
	// +optional
	State PowerState `json:"state,omitempty"`
	// lastChecked is when the device was last spoken with. It is not set before the first time.
	// +optional
	LastChecked *Time `json:"lastChecked,omitempty"`
	// lastAsked is when the function that speaks with it was asked to read it, where that is not
	// the one that binds it. It is not set once the device has answered.
	// +optional
	LastAsked *Time `json:"lastAsked,omitempty"`
	// reason is the one word for how it stands, of the closed list in
	// infra/crd/REASONS.md.
	// +required
	Reason Reason `json:"reason"`
	// message says what is wrong with it, and what to mend.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// TargetClaim says who reads a device, and until when.
type TargetClaim struct {
	// holder names the invocation that reads it.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Holder string `json:"holder"`
	// at is when the read began, by the API server's clock.
	// +required
	At Time `json:"at"`
	// notAfter is when the read is over for certain: 20s after at, or as much later as a call
	// to a device may take, and not after the end of the node's turn.
	// +required
	NotAfter Time `json:"notAfter"`
}

// Fenceable is the condition of a FenceTarget: True where each of the node's
// devices answers, and for the right machine.
const Fenceable = "Fenceable"

// CheckTurn is how long a node may be in the FenceLedger's status.checks for one
// check: only then is its device read.
const CheckTurn = 40 * time.Second

// FenceTargetList is a list of FenceTarget.
// +kubebuilder:object:root=true
type FenceTargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FenceTarget `json:"items"`
}
