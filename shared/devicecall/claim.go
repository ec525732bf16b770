package devicecall

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Claim describes the one call for which a device is opened.
type Claim struct {
	Node string
	// Holder tells this call's claim from every other claim.
	Holder string
	// Record has the claim. It owns the objects that are made for the call.
	Record metav1.OwnerReference
	// Made is called for each Job in which an agent runs; it may be nil.
	Made func(job string)
	// Ended is called for each of these Jobs that was seen to end, with the longest time
	// after that in which the device may still take effect; it may be nil.
	Ended func(late time.Duration)
}

// RecordOf refers to an object of ours that has a claim.
func RecordOf(kind string, o metav1.ObjectMeta) metav1.OwnerReference {
	no := false
	return metav1.OwnerReference{APIVersion: api.GroupVersion.String(), Kind: kind, Name: o.Name, UID: o.UID, BlockOwnerDeletion: &no}
}
