package v1alpha1

// Cleanup is how the work of a machine that is proven off is released.
// +kubebuilder:validation:XValidation:rule="!(has(self.deleteNode) && self.deleteNode) || self.strategy != 'None' && !has(self.storageClasses)",message="deleteNode has Kubernetes delete every pod of the node: it excludes strategy None and storageClasses, which keep some"
// +kubebuilder:validation:XValidation:rule="self.strategy == 'ResourceDeletion' || !(has(self.deletionsPerMinute) || has(self.storageClasses) || has(self.detachFirst) || (has(self.respectDisruptionBudgets) && self.respectDisruptionBudgets))",message="deletionsPerMinute, respectDisruptionBudgets, storageClasses and detachFirst release pod by pod: they need strategy ResourceDeletion, because the out-of-service taint frees everything at once"
type Cleanup struct {
	// Strategy Both sets Kubernetes' out-of-service taint and force-deletes the
	// pods together, which is the fastest. OutOfService sets the taint alone and
	// leaves the deletions to Kubernetes, at its next sweep. ResourceDeletion sets
	// no taint: it force-deletes the pods, and then the VolumeAttachments of
	// volumes that no pod of the node uses any more. None releases nothing: the
	// machine is switched off and on, and its pods are its own kubelet's. Under
	// each of them nodefence leaves alone what belongs to the node rather than to the
	// work on it: mirror pods, pods of a DaemonSet, and pods that tolerate the
	// out-of-service taint. Under Both and OutOfService Kubernetes' pod garbage
	// collector deletes a DaemonSet's pods too, unless they tolerate the taint. With
	// ResourceDeletion a volume is attached elsewhere up to a minute later: without the
	// taint Kubernetes looks for a deleted attachment once a minute only.
	// +kubebuilder:default=Both
	// +optional
	Strategy CleanupStrategy `json:"strategy,omitempty"`
	// OutOfServiceValue is the value of the taint node.kubernetes.io/out-of-service:
	// nodeshutdown for a machine that is off, or hardwarefailure for one that is
	// beyond repair. Kubernetes frees the work of both alike; others may read it. A
	// person who confirms that the machine is off may choose the other
	// (spec.requests.confirmOff.outOfService of the NodeFence).
	// +kubebuilder:default=nodeshutdown
	// +optional
	OutOfServiceValue OutOfServiceValue `json:"outOfServiceValue,omitempty"`
	// DeletionsPerMinute is how many pods of one node may be force-deleted within
	// any minute. Unless set: as many as there are. Nodes that are fenced at the
	// same time (limits.maxConcurrent) count for themselves.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	DeletionsPerMinute *int32 `json:"deletionsPerMinute,omitempty"`
	// RespectDisruptionBudgets deletes a pod only if its PodDisruptionBudget lets
	// it go, by Kubernetes' eviction API. Such a budget counts a pod on a lost node
	// as unavailable already: where that leaves it nothing to allow, its pods stay
	// held, unless it says unhealthyPodEvictionPolicy AlwaysAllow. A pod that
	// Kubernetes itself has asked to leave (by default five minutes after its node
	// was lost) counts for no budget any more. After
	// timeouts.release nothing more is deleted: under action Reboot the machine is
	// switched on and its kubelet takes the pods up again; under PowerOff they stay
	// bound to it until a person deletes them.
	// +optional
	RespectDisruptionBudgets bool `json:"respectDisruptionBudgets,omitempty"`
	// StorageClasses releases only pods that use a volume of one of these classes,
	// and only the attachments of such volumes. All other pods are left as they are.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	StorageClasses []string `json:"storageClasses,omitempty"`
	// DetachFirst are PersistentVolumes by name, or storage classes: as long as one
	// of these volumes is attached to the node, its attachment is deleted and no pod
	// of the node is. Only attachments that storageClasses, or the covered volumes of
	// a storage cut, let through count. Kubernetes' attach-detach controller looks
	// once a minute, and may attach such a volume again while a pod that uses it
	// still exists: what was seen gone may be back by the time that the pod is
	// deleted, and is detached anew before a later batch of deletions. One that does
	// not go until timeouts.release keeps all pods.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	DetachFirst []string `json:"detachFirst,omitempty"`
	// DeleteNode deletes the Node object of a machine that stays off, for machines that
	// never come back: under action PowerOff, or where the node's configuration has no
	// method that switches it on. It is the last step of the release: the machine is
	// seen off anew, the pods and attachments are gone, and so is the out-of-service
	// taint. Kubernetes then deletes what stayed on the node by rule, such as the pods
	// of DaemonSets. Where something is left after timeouts.release the Node stays. A
	// machine that is switched on later registers anew, without its old labels.
	// +optional
	DeleteNode bool `json:"deleteNode,omitempty"`
}

// CleanupStrategy is how work is released.
// +kubebuilder:validation:Enum=Both;OutOfService;ResourceDeletion;None
type CleanupStrategy string

// The strategies. A record from before there was a choice has none: Both.
const (
	CleanupBoth             CleanupStrategy = "Both"
	CleanupOutOfService     CleanupStrategy = "OutOfService"
	CleanupResourceDeletion CleanupStrategy = "ResourceDeletion"
	CleanupNone             CleanupStrategy = "None"
)

// Taints tells whether the out-of-service taint is set: never where the release
// is pod by pod (S24), whatever the strategy says.
func (c Cleanup) Taints() bool {
	return !c.selective() && (c.Strategy == "" || c.Strategy == CleanupBoth || c.Strategy == CleanupOutOfService)
}

// Deletes tells whether nodefence itself force-deletes pods.
func (c Cleanup) Deletes() bool {
	return c.Strategy != CleanupNone && (c.Strategy != CleanupOutOfService || c.selective())
}

// Detaches tells whether nodefence itself deletes VolumeAttachments: only where no
// taint has Kubernetes do it.
func (c Cleanup) Detaches() bool { return c.Deletes() && !c.Taints() }

func (c Cleanup) selective() bool {
	return c.DeletionsPerMinute != nil || c.RespectDisruptionBudgets || len(c.StorageClasses) > 0 || len(c.DetachFirst) > 0
}
