package v1alpha1

import (
	"k8s.io/apimachinery/pkg/types"
)

// Proof is why it is safe to release, bound to this fence, node, boot and device (S3).
type Proof struct {
	// type is what the proof rests on: SeenOff, Confirmed, StorageCut or Kdump.
	// +required
	Type ProofKind `json:"type"`
	// fenceUID is the UID of the NodeFence.
	// +required
	FenceUID types.UID `json:"fenceUID"`
	// fenceNumber is the number of the fence that the proof is of: it counts for no
	// other.
	// +required
	FenceNumber int64 `json:"fenceNumber"`
	// nodeUID is the UID of the Node object that was fenced.
	// +required
	NodeUID types.UID `json:"nodeUID"`
	// bootIDBefore is the boot ID of the node before the fence.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	BootIDBefore string `json:"bootIDBefore,omitempty"`
	// device is the name of the device that was read, in status.decision.devices, or the
	// names, where the proof rests on several; of a Kdump proof, who sent the messages.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Device string `json:"device,omitempty"`
	// identity is what the device said its machine is, where it can tell.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Identity string `json:"identity,omitempty"`
	// reads are the two looks that saw the machine off; of a StorageCut proof, two of each
	// device that it rests on.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Reads []Read `json:"reads,omitempty"`
	// by is the name of the person who confirmed it, where one did.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	By string `json:"by,omitempty"`
	// at is when the proof was made; it ages from here.
	// +required
	At Time `json:"at"`
}
