package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ProvenCut is a power cut by nodefence that two reads of off have proven. The boot ID that the node's kubelet
// says next confirms or refutes the cut.
type ProvenCut struct {
	// fenceNumber is the number of the fence that cut the power.
	// +required
	FenceNumber int64 `json:"fenceNumber"`
	// nodeUID is the UID of the Node object that was fenced.
	// +required
	NodeUID types.UID `json:"nodeUID"`
	// device is the device that read off, by driver and address: at most 1024 letters.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Device string `json:"device"`
	// level is the device's place among the node's devices for power, from 1.
	// +required
	Level int32 `json:"level"`
	// bootID is the boot ID of the node before the cut: at most 128 letters.
	// +kubebuilder:validation:MaxLength=128
	// +required
	BootID string `json:"bootID"`
	// heartbeat is the lastHeartbeatTime of the Node's condition Ready when the cut was proven, empty if there was
	// none: at most 64 letters. It is compared only with the heartbeat of another look (S30): another heartbeat
	// shows that the kubelet has written the Node's status since.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Heartbeat string `json:"heartbeat,omitempty"`
	// heartbeatSince is the first heartbeat of the Node that was seen after the cut beside bootID: at most 64 letters.
	// The kubelet may have sent this heartbeat before the cut, in a request that the network delayed. A second, other
	// heartbeat beside bootID refutes the cut.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	HeartbeatSince string `json:"heartbeatSince,omitempty"`
	// provenAt is when the second read was made, by the API server's clock.
	// +required
	ProvenAt Time `json:"provenAt"`
}

// Refutation is what is known of a power cut that the boot ID refutes: the node's kubelet said, after the cut, the
// boot ID that the node had before the cut. The machine never was off, and two writers may have run.
type Refutation struct {
	// at is when the refutation was seen, by the API server's clock. spec.trust names the refutation by this time.
	// +required
	At Time `json:"at"`
	// fenceNumber is the number of the fence that cut the power.
	// +required
	FenceNumber int64 `json:"fenceNumber"`
	// device is the device that read off, by driver and address: at most 1024 letters.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Device string `json:"device"`
	// level is the device's place among the node's devices for power, from 1.
	// +required
	Level int32 `json:"level"`
	// bootID is the boot ID before and after the cut: at most 128 letters.
	// +kubebuilder:validation:MaxLength=128
	// +required
	BootID string `json:"bootID"`
	// provenAt is when the device had read off twice, by the API server's clock.
	// +required
	ProvenAt Time `json:"provenAt"`
}

// Trust is a person's statement that a device may be believed again after a power cut that the boot ID refuted.
type Trust struct {
	// by is your own name, as the API server knows you (kubectl auth whoami): 1 to 256 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	By string `json:"by,omitempty"`
	// at is when you say so: a time of the years 2000 to 9998, such as 2026-01-02T03:04:05Z.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Type=string
	// +required
	At metav1.Time `json:"at"`
	// reason says what you have found, for the history of the node's fence: 1 to 256 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Reason string `json:"reason,omitempty"`
	// refutedAt is status.refuted.at of the refutation that is meant.
	// +required
	RefutedAt Time `json:"refutedAt"`
}

// Refuted returns the power cut that the boot ID refutes and of which no person has said that the device may be
// believed again; nil if there is none. Until a person says so no fence of the node goes by its devices (S1).
func (f *NodeFence) Refuted() *Refutation {
	if f == nil || f.Spec.Trust.Names(f.Status.Refuted) {
		return nil
	}
	return f.Status.Refuted
}

// Words says what is refuted, and how that ends.
func (r *Refutation) Words() string {
	return fmt.Sprintf("fence %d cut the power, %s (level %d) read off twice until %s, and then the node's kubelet said the boot ID of before, %s: "+
		"the machine never was off, and two writers may have run. No read of off is believed, and no power is cut, until a person has looked and says so (kubectl fence trust NODE --reason …)",
		r.FenceNumber, r.Device, r.Level, r.ProvenAt.UTC().Format(time.RFC3339), r.BootID)
}

// Names tells whether the statement is about this refutation.
func (t *Trust) Names(r *Refutation) bool {
	return t != nil && r != nil && t.RefutedAt.Equal(&r.At)
}
