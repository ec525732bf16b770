package binding

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
)

// enrolled is a node as it was while it was healthy.
type enrolled struct {
	config.Node
	uid types.UID
	// systemUUID is the UUID that the node reported. byPerson: a person has enrolled the identity that
	// the device says in place of systemUUID.
	systemUUID string
	byPerson   bool
	// alsoOf is another node that reports the same system UUID, as the source sees the nodes;
	// empty if none does.
	alsoOf string
	// worker: the node was not of the control plane when it was last Ready.
	worker bool
}

// enrolment reads a ConfigMap that the source has written; false for any other ConfigMap.
func enrolment(cm *corev1.ConfigMap) (enrolled, bool) {
	name := cm.Data["node_name"]
	if cm.Labels[kube.EnrolledLabel] == "" || cm.Name != kube.EnrolledName(name) {
		return enrolled{}, cm.Labels[kube.EnrolledLabel] != ""
	}
	is := cm.Data[kube.EnrolledIdentity]
	return enrolled{
		systemUUID: cm.Data["system_uuid"], byPerson: is != "", alsoOf: cm.Data[kube.EnrolledAlsoOf],
		Node: config.Node{
			Name: name, Identity: cmp.Or(is, cm.Data["system_uuid"]), ProviderID: cm.Data["provider_id"],
			Enrolment: api.ConfigSource{Kind: api.KindConfigMap, Namespace: cm.Namespace, Name: cm.Name, ResourceVersion: cm.ResourceVersion},
		},
		uid: types.UID(cm.Data["node_uid"]), worker: cm.Data["role"] == kube.WorkerRole,
	}, true
}

// machines are the keys of what a node is known by, in the spelling of device.MachineKey.
func (e enrolled) machines() (keys []string) {
	for _, id := range []string{e.Identity, e.systemUUID} {
		if id != "" && !slices.Contains(keys, device.MachineKey(id)) {
			keys = append(keys, device.MachineKey(id))
		}
	}
	return keys
}

// sourceOf names a ConfigMap as it is; nil if there is none.
func sourceOf(cm *corev1.ConfigMap) *api.TargetSource {
	if cm == nil {
		return nil
	}
	return &api.TargetSource{Name: cm.Name, UID: cm.UID, ResourceVersion: cm.ResourceVersion}
}
