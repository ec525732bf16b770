package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// uncordoners: ben may write requests and may not uncordon, anna may do both.
const uncordoners = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: wish}
rules: [{apiGroups: [nodefence.io], resources: [nodefences], verbs: [get, update, retry]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: uncordon}
rules: [{apiGroups: [nodefence.io], resources: [nodefences], verbs: [uncordon]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: wish}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: wish}
subjects: [{kind: User, name: anna}, {kind: User, name: ben}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: uncordon}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: uncordon}
subjects: [{kind: User, name: anna}]
`

// TestAPersonGivesTheNodeBack: under recovery.uncordon: Manual a node that was fenced is healthy
// again and gets no work, until a person who has the right uncordons it.
func TestAPersonGivesTheNodeBack(t *testing.T) {
	w := newWorld(t, 3, strings.Replace(quick, "bootTimeout: 5m", "bootTimeout: 5m, uncordon: Manual", 1))
	must(t, w.Apply(w.ctx, uncordoners))
	w.start(nil)
	node := w.database(2)
	w.node(node, "crash")

	w.until("the node to be healthy and kept", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		return f != nil && f.Status.Reason == api.WaitingForUncordon, err
	})
	f, err := w.Fences.Fence(w.ctx, node)
	must(t, err)
	if f.Status.Phase != api.Recovering {
		t.Errorf("it is kept in %s", f.Status.Phase)
	}
	w.moved("db-0", node)
	if !w.isolated(node) {
		t.Error("a node that is kept has no taint or no cordon")
	}

	if no := w.uncordons("ben", node); no.code != 403 {
		t.Errorf("ben uncordons: %+v", no)
	}
	if no := w.uncordons("anna", node); no.code != 0 {
		t.Errorf("anna uncordons: %+v", no)
	}
	f = w.phase(node, api.Finished)
	if f.Status.Outcome != api.Recovered || !slices.ContainsFunc(f.Status.History, func(h api.HistoryEntry) bool { return h.Message == "anna gives the node back" }) {
		t.Errorf("it ended as %s: %v", f.Status.Outcome, f.Status.History)
	}
	w.unmarked(node)
	w.words(node, "off on")
	w.oneWriter()
}

// uncordons asks for the node back as that user.
func (w *world) uncordons(who, node string) (no refusal) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s to have asked", who), func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		if err != nil {
			return false, err
		}
		f.Spec.Requests.Uncordon = about(f.Status.FenceNumber, who)
		_, err = w.replace(who, f)
		if no = w.refused(err); no.code == 409 {
			return false, nil // somebody has written it meanwhile
		}
		return true, nil
	})
	return no
}

// isolated tells whether our taint and a cordon are on the node.
func (w *world) isolated(node string) bool {
	w.t.Helper()
	n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	must(w.t, err)
	return n.Spec.Unschedulable && slices.ContainsFunc(n.Spec.Taints, func(x corev1.Taint) bool { return x.Key == api.IsolationTaint })
}
