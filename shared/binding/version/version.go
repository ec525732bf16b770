package version

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
)

// Of returns the version of all ConfigMaps of nodefence's namespace. It changes
//   - with every ConfigMap that is no enrolment: that is created, changed or deleted;
//   - with every enrolment that may be of the same machine as another one: that comes, goes
//     or says something else;
//   - with the first enrolment that has a provider ID of a scheme, and with the last.
//
// It does not change with a new enrolment whose machine no other one has. Of a ConfigMap
// that is no enrolment only the metadata is used.
func Of(all iter.Seq[*corev1.ConfigMap]) string {
	var lines []string
	machines := map[string][]string{}
	for cm := range all {
		if cm.Labels[kube.EnrolledLabel] == "" {
			lines = append(lines, fmt.Sprintf("configmap %q %q %q", cm.Name, cm.UID, cm.ResourceVersion))
			continue
		}
		if cm.Name != kube.EnrolledName(cm.Data["node_name"]) {
			continue // it enrols no node
		}
		says := fmt.Sprintf("%q %q %q %q %q", cm.Name, cm.Data["node_uid"], cm.Data["system_uuid"], cm.Data["provider_id"], cm.Data[kube.EnrolledIdentity])
		for _, key := range keys(cm) {
			machines[key] = append(machines[key], says)
		}
		scheme, _, _ := strings.Cut(cm.Data["provider_id"], ":")
		lines = append(lines, fmt.Sprintf("scheme %q", scheme))
	}
	for key, who := range machines {
		if len(who) > 1 {
			slices.Sort(who)
			lines = append(lines, fmt.Sprintf("shared %q %q", key, who))
		}
	}
	slices.Sort(lines)
	sum := sha256.New()
	for _, l := range slices.Compact(lines) {
		_, _ = fmt.Fprintln(sum, l) // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// keys returns what an enrolment's machine is compared by. Two enrolments of one machine
// have a key in common; two that have one may still be of two machines.
func keys(cm *corev1.ConfigMap) (all []string) {
	for _, id := range []string{cm.Data["system_uuid"], cm.Data[kube.EnrolledIdentity]} {
		if key := device.IdentityKey(id); key != "" && !slices.Contains(all, "machine "+key) {
			all = append(all, "machine "+key)
		}
	}
	if key := ProviderKey(cm.Data["provider_id"]); key != "" {
		all = append(all, "instance "+key)
	}
	return all
}

// ProviderKey is equal for any two provider IDs of one instance: the instance's own name or
// ID, which comes last. It may be equal for two instances too, such as those of one name in
// two zones.
func ProviderKey(id string) string {
	return device.IdentityKey(id[strings.LastIndex(id, "/")+1:])
}
