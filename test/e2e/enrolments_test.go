package e2e

import (
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// bindingsArePeoples checks that the source writes and deletes only enrolments, though it has
// rights to all ConfigMaps (S11: the device is the node's own).
func (o *office) bindingsArePeoples() {
	o.t.Helper()
	cfg := rest.CopyConfig(o.Config)
	cfg.Impersonate.UserName = "system:serviceaccount:nodefence-system:nodefence-source"
	k, err := kubernetes.NewForConfig(cfg)
	must(o.t, err)
	maps := k.CoreV1().ConfigMaps("nodefence-system")
	const names, label = "of the ConfigMaps the source writes those alone that begin with fence-enrolled-", "an enrolment has the label nodefence.io/enrolled"
	said := func(err error) string {
		says := o.refused(err).says
		for _, known := range []string{names, label} {
			if strings.HasSuffix(says, known) {
				return known
			}
		}
		return says
	}
	create := func(name string, labels ...string) string {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		for _, l := range labels {
			cm.Labels[l] = "true"
		}
		_, err := maps.Create(o.ctx, cm, metav1.CreateOptions{})
		return said(err)
	}
	const enrolled, probe = "nodefence.io/enrolled", "fence-enrolled-probe"
	bound := "fence-config-node-" + o.database(1)
	cm, err := maps.Get(o.ctx, bound, metav1.GetOptions{})
	must(o.t, err)
	change := func() string {
		_, err := maps.Update(o.ctx, cm, metav1.UpdateOptions{})
		return said(err)
	}
	got := [][2]string{
		{"a binding", create("fence-config-node-x")},
		{"a binding that says it is an enrolment", create("fence-config-x", enrolled)},
		{"a method", create("fence-method-bmc-x")},
		{"an enrolment without its label", create(probe)},
		{"an enrolment", create(probe, enrolled)},
		{"a change of a binding", change()},
		{"a binding deleted", said(maps.Delete(o.ctx, bound, metav1.DeleteOptions{}))},
		{"all deleted", said(maps.DeleteCollection(o.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))},
		{"an enrolment deleted", said(maps.Delete(o.ctx, probe, metav1.DeleteOptions{}))},
	}
	want := [][2]string{
		{"a binding", names}, {"a binding that says it is an enrolment", names}, {"a method", names}, {"an enrolment without its label", label},
		{"an enrolment", ""}, {"a change of a binding", names}, {"a binding deleted", names},
		{"all deleted", `configmaps is forbidden: User "` + cfg.Impersonate.UserName + `" cannot deletecollection resource "configmaps" in API group "" in the namespace "nodefence-system"`},
		{"an enrolment deleted", ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		o.t.Error(d)
	}
}
