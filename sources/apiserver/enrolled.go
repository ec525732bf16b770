package apiserver

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/kube"
)

type enrolled struct {
	uid string
	// role follows the Node's labels, which its kubelet can't write.
	role string
	// is is the enrolled machine, which counts. said is another machine that the node has
	// claimed since, about which a warning was logged.
	is, said machine
	excluded exclusion
	// object and version are the ConfigMap's UID and resourceVersion. gone is its
	// annotation: since when its node is gone. All three are empty until the watch has
	// shown the ConfigMap.
	object        types.UID
	version, gone string
}

// machine is what a node says about its machine.
type machine struct{ systemUUID, providerID string }

// lacks reports whether the provider ID, known by now, is all that the enrolled machine
// misses.
func (m machine) lacks(now machine) bool {
	return m.providerID == "" && now.providerID != "" && m.systemUUID == now.systemUUID
}

func enrolledIn(cm *corev1.ConfigMap) enrolled {
	return enrolled{
		uid: cm.Data["node_uid"], role: cm.Data["role"], is: machine{cm.Data["system_uuid"], cm.Data["provider_id"]},
		excluded: exclusion{cm.Data[kube.Excluded], cm.Data[kube.ExcludedBy], cm.Data[kube.EnrolledAlsoOf]},
	}
}

// exclusion says what excludes a node: why names a label or taint of the node's own, in
// words; by names the policies that exclude it by label. alsoOf names another node that
// reports the same system UUID: the device of such a node is not known by its UUID.
type exclusion struct{ why, by, alsoOf string }

// into writes the exclusion into an enrolment.
func (x exclusion) into(cm *corev1.ConfigMap) {
	for key, value := range map[string]string{kube.Excluded: x.why, kube.ExcludedBy: x.by, kube.EnrolledAlsoOf: x.alsoOf} {
		if delete(cm.Data, key); value != "" {
			cm.Data[key] = value
		}
	}
}

// wish is what an enrolment should say about who excludes its node. With whyOnly, not all
// policies and nodes are known yet, and the enrolment keeps those that it names.
type wish struct {
	exclusion
	whyOnly bool
}

// after returns what the enrolment should say, if it says was now.
func (w wish) after(was exclusion) exclusion {
	if w.whyOnly {
		return exclusion{w.why, was.by, cmp.Or(w.alsoOf, was.alsoOf)}
	}
	return w.exclusion
}
