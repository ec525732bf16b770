package v1alpha1

// Placed is what nodefence put on the node.
type Placed struct {
	// taint says that the taint nodefence.io/isolated was placed.
	// +optional
	Taint bool `json:"taint,omitempty"`
	// isolatedAt is when that taint was first seen on the node. isolation.powerDelay counts from
	// here; where the policy sets none, it is empty.
	// +optional
	IsolatedAt *Time `json:"isolatedAt,omitempty"`
	// cordon is ours: the node was schedulable before.
	// +optional
	Cordon bool `json:"cordon,omitempty"`
	// outOfService says that Kubernetes' out-of-service taint was placed.
	// +optional
	OutOfService bool `json:"outOfService,omitempty"`
	// outOfServiceAs is that taint's value: it stays the same until the taint is gone, whatever a
	// person asks for meanwhile.
	// +optional
	OutOfServiceAs OutOfServiceValue `json:"outOfServiceAs,omitempty"`
}

// ReleaseRecord is how the release went.
type ReleaseRecord struct {
	// startedAt is when the release began, by the API server's clock.
	// +optional
	StartedAt *Time `json:"startedAt,omitempty"`
	// markedAt is when nodefence set Ready to Unknown. A node that is Ready after that shows a
	// sign of life.
	// +optional
	MarkedAt *Time `json:"markedAt,omitempty"`
	// deadline is when a power-on no longer waits for the release.
	// +optional
	Deadline *Time `json:"deadline,omitempty"`
	// doneAt is when nothing was left to release, by the API server's clock.
	// +optional
	DoneAt *Time `json:"doneAt,omitempty"`
	// timedOut says that the release ended before all was free: its time was over, or a person
	// ended it.
	// +optional
	TimedOut bool `json:"timedOut,omitempty"`
	// deleteNodeUntil is until when nodefence tries to delete the Node object. It is set before
	// the first try.
	// +optional
	DeleteNodeUntil *Time `json:"deleteNodeUntil,omitempty"`
	// notAfter is the time after which nothing of the last batch is begun.
	// +optional
	NotAfter *Time `json:"notAfter,omitempty"`
	// batches counts the batches that were begun: each is saved before it is carried out.
	// +optional
	Batches int32 `json:"batches,omitempty"`
	// pods counts the pods that were left and are released.
	// +optional
	Pods int32 `json:"pods,omitempty"`
	// askedAt is when a pod or an attachment was last asked to be released, pod by pod.
	// +optional
	AskedAt *Time `json:"askedAt,omitempty"`
	// batchAt is when pods were last asked to be deleted.
	// +optional
	BatchAt *Time `json:"batchAt,omitempty"`
	// batch is how many pods the last batch was.
	// +optional
	Batch int32 `json:"batch,omitempty"`
	// inMinute counts the pods that were asked to be deleted at batchAt, and by the
	// batches less than a minute before it.
	// +optional
	InMinute int32 `json:"inMinute,omitempty"`
	// by is the proof on which the first batch rested. It is kept where access is to be
	// given back.
	// +optional
	By ProofKind `json:"by,omitempty"`
	// bootID is the boot of the machine that the proof is about. It is kept as long as by
	// is.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	BootID string `json:"bootID,omitempty"`
	// volumes are those of the pods that were released because their storage is cut,
	// as the kubelet names them in the node's volumesInUse.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Volumes []string `json:"volumes,omitempty"`
	// rebootOnly says that not every released volume would be in volumesInUse, so that only a
	// reboot shows that nobody on the machine writes to them any more.
	// +optional
	RebootOnly bool `json:"rebootOnly,omitempty"`
	// keptPods says which pods stay because their storage is not cut.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	KeptPods string `json:"keptPods,omitempty"`
	// podsLeft counts the Pods that were left at the last look.
	// +optional
	PodsLeft int32 `json:"podsLeft,omitempty"`
	// attachmentsLeft counts the VolumeAttachments that were left at the last look.
	// +optional
	AttachmentsLeft int32 `json:"attachmentsLeft,omitempty"`
}
