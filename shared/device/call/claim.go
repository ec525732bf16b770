package call

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Claim is for what a device is opened: one call under one claim.
type Claim struct {
	Node string
	// Holder of the claim tells this call from every other.
	Holder string
	// Record has the claim. What is made for the call goes with it.
	Record metav1.OwnerReference
	// Made is told of each Job in which an agent runs; it may be nil.
	Made func(job string)
	// Ended is told of each of them that was seen to end, and how late after that its
	// device takes effect at most; it may be nil.
	Ended func(late time.Duration)
}

// RecordOf is an object of ours that has a claim.
func RecordOf(kind string, o metav1.ObjectMeta) metav1.OwnerReference {
	no := false
	return metav1.OwnerReference{APIVersion: api.GroupVersion.String(), Kind: kind, Name: o.Name, UID: o.UID, BlockOwnerDeletion: &no}
}
