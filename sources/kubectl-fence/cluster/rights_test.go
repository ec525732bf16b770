package cluster

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestForbidden names the role that has the right, or else the right itself, as the API server words it.
func TestForbidden(t *testing.T) {
	const own, cluster, bind = ` in API group "nodefence.io"`, ` at the cluster scope`, "; have an administrator bind you a role: "
	for says, want := range map[string]string{
		`fencepolicies.nodefence.io is forbidden: User "ann" cannot list resource "fencepolicies"` + own + cluster:                                                        bind + "nodefence-view",
		`nodefences.nodefence.io "a" is forbidden: User "ann" cannot patch resource "nodefences"` + own + cluster:                                                         bind + "nodefence-operate",
		`nodefences.nodefence.io "a" is forbidden: User "ann" cannot delete resource "nodefences"` + own + cluster:                                                        bind + "one with delete of nodefences.nodefence.io",
		`fencepolicies.nodefence.io "p" is forbidden: User "ann" cannot patch resource "fencepolicies"` + own + cluster:                                                   bind + "nodefence-administer",
		`fenceledgers.nodefence.io "cluster" is forbidden: User "ann" cannot patch resource "fenceledgers"` + own + cluster:                                               bind + "nodefence-administer",
		`fencetargets.nodefence.io "a" is forbidden: User "ann" cannot patch resource "fencetargets"` + own + cluster:                                                     bind + "one with patch of fencetargets.nodefence.io",
		`fencerequests.nodefence.io is forbidden: User "ann" cannot create resource "fencerequests"` + own + ` in the namespace "nodefence-system"`:                       bind + "nodefence-ask and nodefence-operate",
		`nodes is forbidden: User "ann" cannot list resource "nodes" in API group ""` + cluster:                                                                           bind + "one with get, list and watch of nodes",
		`pods is forbidden: User "ann" cannot watch resource "pods" in API group ""` + cluster:                                                                            bind + "one with get, list and watch of pods",
		`pods "p" is forbidden: User "ann" cannot get resource "pods/log" in API group "" in the namespace "nodefence-system"`:                                            bind + "one with get of pods/log in namespace nodefence-system",
		`configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" in the namespace "nodefence-system"`:                                       bind + "one with list of configmaps in namespace nodefence-system",
		`events is forbidden: User "ann" cannot list resource "events" in API group ""` + cluster:                                                                         bind + "one with list of events",
		`leases.coordination.k8s.io is forbidden: User "ann" cannot list resource "leases" in API group "coordination.k8s.io" in the namespace "kube-node-lease"`:         bind + "one with list of leases.coordination.k8s.io in namespace kube-node-lease",
		`users "bob" is forbidden: User "ann" cannot impersonate resource "users" in API group ""` + cluster:                                                              bind + "one with impersonate of users",
		`forbidden: User "ann" cannot get path "/version"`:                                                                                                                bind + "one with get of path /version",
		`configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" in the namespace "n": requires one of ["container.configMaps.list"] perm.`: bind + "one with list of configmaps in namespace n",
		`no reason is given`: "; have an administrator give you the right",
		`nodefences.nodefence.io "a" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'x' denied request: it needs the verb confirm on nodefences`: "it needs the verb confirm on nodefences; have an administrator bind you ClusterRole nodefence-administer",
	} {
		err := Explain(&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: says}})
		if !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s\nwant %s", err, want)
		}
	}
}
