package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Release is how the work of a machine that is proven off is released.
// +kubebuilder:validation:XValidation:rule="!has(self.resourceDeletion) || self.strategy == 'ResourceDeletion'",message="resourceDeletion releases pod by pod: it needs strategy ResourceDeletion, because the out-of-service taint frees everything at once"
// +kubebuilder:validation:XValidation:rule="!has(self.strategy) || self.strategy != 'ResourceDeletion' || has(self.resourceDeletion)",message="strategy ResourceDeletion says in resourceDeletion how it deletes: write resourceDeletion: {} to delete all at once, or what it has to choose"
// +kubebuilder:validation:XValidation:rule="!(has(self.deleteNode) && self.deleteNode) || self.strategy != 'None' && !(has(self.resourceDeletion) && has(self.resourceDeletion.storageClassNames))",message="deleteNode has Kubernetes delete every pod of the node: it excludes strategy None and storageClassNames, which keep some"
type Release struct {
	// strategy TaintAndDelete, the default, sets Kubernetes' out-of-service taint and
	// force-deletes the pods together, which is the fastest. OutOfServiceTaint sets the taint
	// alone and leaves the deletions to Kubernetes, at its next sweep. ResourceDeletion sets no
	// taint: it force-deletes the pods, and then the VolumeAttachments of volumes that no pod of
	// the node uses any more. None releases nothing: the machine is switched off and on, and its
	// own kubelet starts its pods again; under action PowerOff it is refused. Under each of them
	// nodefence leaves alone what belongs to the node rather than to the work on it: mirror pods,
	// pods of a DaemonSet, and pods that tolerate the out-of-service taint. Under TaintAndDelete
	// and OutOfServiceTaint Kubernetes' pod garbage collector deletes a DaemonSet's pods too,
	// unless they tolerate the taint. With ResourceDeletion a volume is attached elsewhere up to
	// a minute later: without the taint Kubernetes looks for a deleted attachment once a minute
	// only.
	// +kubebuilder:default=TaintAndDelete
	// +optional
	Strategy *ReleaseStrategy `json:"strategy,omitempty"`
	// resourceDeletion says what strategy ResourceDeletion deletes, and how fast. The strategy
	// needs it. {} deletes all at once.
	// +optional
	ResourceDeletion *ResourceDeletion `json:"resourceDeletion,omitempty"`
	// timeout is how long a power-on waits for the node's pods and attachments to be
	// gone; from 1s to 1h, 5m by default. After it nothing more is deleted.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="release.timeout must be between 1s and 1h"
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`
	// deleteNode deletes the Node object of a machine that stays off, for machines that never
	// come back; false by default. It needs action PowerOff. It is the last step of the release:
	// the machine is seen off again, the pods and attachments are gone, and so is the
	// out-of-service taint. Kubernetes then deletes what stayed on the node by rule, such as the
	// pods of DaemonSets. Where something is left after timeout the Node stays. A machine that is
	// switched on later registers again, without its old labels.
	// +kubebuilder:default=false
	// +optional
	DeleteNode *bool `json:"deleteNode,omitempty"`
}

// ResourceDeletion is how pods and attachments are deleted one by one.
type ResourceDeletion struct {
	// podsPerMinute is how many pods of one node may be force-deleted within any minute,
	// from 1 to 10000. Unless set: as many as there are. Nodes that are fenced at the
	// same time (limits.maxConcurrent) count for themselves.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	PodsPerMinute *int32 `json:"podsPerMinute,omitempty"`
	// respectDisruptionBudgets deletes a pod only if its PodDisruptionBudget lets it go,
	// by Kubernetes' eviction API; false by default. Such a budget counts a pod on a lost
	// node as unavailable already: where that leaves it nothing to allow, its pods stay
	// held, unless it says unhealthyPodEvictionPolicy AlwaysAllow. A pod that Kubernetes
	// itself has asked to leave (by default five minutes after its node was lost) counts
	// for no budget any more. After release.timeout nothing more is deleted: under action
	// Reboot the machine is switched on and its kubelet takes the pods up again; under
	// PowerOff they stay bound to it until a person deletes them.
	// +kubebuilder:default=false
	// +optional
	RespectDisruptionBudgets *bool `json:"respectDisruptionBudgets,omitempty"`
	// storageClassNames are storage classes, 1 to 32: only pods that use a volume of one
	// of them are released, and only the attachments of such volumes. All other pods are
	// left as they are. Unless set, everything is released.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	StorageClassNames []string `json:"storageClassNames,omitempty"`
	// detachFirst are PersistentVolumes, or all of a storage class, 1 to 32 entries: as long as
	// one of these volumes is attached to the node, its attachment is deleted, and no pod of the
	// node and no other attachment is. Only attachments that storageClassNames, or the covered volumes of a storage cut,
	// let through count. Kubernetes' attach-detach controller looks once a minute, and may attach
	// such a volume again while a pod that uses it still exists: an attachment that was gone may
	// be back when the pod is deleted, and is deleted again before a later batch of deletions. If
	// one does not go until release.timeout, all pods stay.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	DetachFirst []DetachFirst `json:"detachFirst,omitempty"`
}

// DetachFirst is one volume by its name, or all volumes of a class.
// +kubebuilder:validation:XValidation:rule="has(self.persistentVolumeName) != has(self.storageClassName)",message="an entry of detachFirst has persistentVolumeName or storageClassName: write one entry for each"
type DetachFirst struct {
	// persistentVolumeName is the name of one PersistentVolume, of at most 253 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PersistentVolumeName string `json:"persistentVolumeName,omitempty"`
	// storageClassName is the name of a storage class, of at most 253 letters: all of its
	// volumes are meant.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
}

// String names it in a sentence.
func (d DetachFirst) String() string {
	if d.PersistentVolumeName != "" {
		return "PersistentVolume " + d.PersistentVolumeName
	}
	return "storage class " + d.StorageClassName
}

// ReleaseSettings are a policy's Release with every default in its place.
type ReleaseSettings struct {
	// strategy is how pods and volumes are released: TaintAndDelete, OutOfServiceTaint,
	// ResourceDeletion or None.
	// +required
	Strategy ReleaseStrategy `json:"strategy"`
	// podsPerMinute is how many pods of the node may be force-deleted within any minute;
	// as many as there are where it is missing.
	// +optional
	PodsPerMinute *int32 `json:"podsPerMinute,omitempty"`
	// respectDisruptionBudgets says that a pod is deleted only if its PodDisruptionBudget
	// lets it go.
	// +required
	RespectDisruptionBudgets bool `json:"respectDisruptionBudgets"`
	// storageClassNames are the storage classes of what is released: only pods that use a
	// volume of one of them, and the attachments of such volumes. Without them everything
	// is.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	StorageClassNames []string `json:"storageClassNames,omitempty"`
	// detachFirst are volumes of the policy's release.resourceDeletion.detachFirst: while one of
	// them is attached to the node, no pod of the node is deleted, and no other volume is
	// detached.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	DetachFirst []DetachFirst `json:"detachFirst,omitempty"`
	// timeout is how long a power-on waits for the node's pods and attachments to be gone,
	// such as 5m0s. After it nothing more is deleted.
	// +required
	Timeout metav1.Duration `json:"timeout"`
	// deleteNode says that the Node object is deleted at the end of the release.
	// +required
	DeleteNode bool `json:"deleteNode"`
}

// Settings are what it says; nil says the defaults.
func (r *Release) Settings() ReleaseSettings {
	if r == nil {
		r = &Release{}
	}
	s := ReleaseSettings{Strategy: or(r.Strategy, ReleaseTaintAndDelete), Timeout: r.Timeout.Or(5 * time.Minute), DeleteNode: or(r.DeleteNode, false)}
	if d := r.ResourceDeletion; d != nil {
		s.PodsPerMinute, s.StorageClassNames, s.DetachFirst = d.PodsPerMinute, d.StorageClassNames, d.DetachFirst
		s.RespectDisruptionBudgets = or(d.RespectDisruptionBudgets, false)
	}
	return s
}

// ReleaseStrategy is how work is released.
// +kubebuilder:validation:Enum=TaintAndDelete;OutOfServiceTaint;ResourceDeletion;None
type ReleaseStrategy string

// The strategies.
const (
	ReleaseTaintAndDelete    ReleaseStrategy = "TaintAndDelete"
	ReleaseOutOfServiceTaint ReleaseStrategy = "OutOfServiceTaint"
	ReleaseResourceDeletion  ReleaseStrategy = "ResourceDeletion"
	ReleaseNone              ReleaseStrategy = "None"
)

// Taints tells whether the out-of-service taint is set: never where the release
// is pod by pod (S24), whatever the strategy says.
func (r ReleaseSettings) Taints() bool {
	return !r.selective() && (r.Strategy == "" || r.Strategy == ReleaseTaintAndDelete || r.Strategy == ReleaseOutOfServiceTaint)
}

// Deletes tells whether nodefence itself force-deletes pods.
func (r ReleaseSettings) Deletes() bool {
	return r.Strategy != ReleaseNone && (r.Strategy != ReleaseOutOfServiceTaint || r.selective())
}

// Detaches tells whether nodefence itself deletes VolumeAttachments: only where no
// taint has Kubernetes do it.
func (r ReleaseSettings) Detaches() bool { return r.Deletes() && !r.Taints() }

func (r ReleaseSettings) selective() bool {
	return r.PodsPerMinute != nil || r.RespectDisruptionBudgets || len(r.StorageClassNames) > 0 || len(r.DetachFirst) > 0
}
