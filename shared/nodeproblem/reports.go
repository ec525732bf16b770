package nodeproblem

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
)

// Problem reports whether a Kubernetes Event is a report of a problem at all: type Normal means that there
// is none, and other API groups have kinds of the same names.
func Problem(ev *corev1.Event) bool {
	core := ev.InvolvedObject.APIVersion == "" || ev.InvolvedObject.APIVersion == "v1"
	said := strings.TrimSpace(events.Printable(ev.Reason)) != "" && strings.TrimSpace(events.Printable(reporter(ev))) != ""
	return core && said && ev.Type != corev1.EventTypeNormal
}

// OfNode reports whether a Kubernetes Event is a report of a problem of a Node.
func OfNode(ev *corev1.Event) bool {
	return ev.InvolvedObject.Kind == "Node" && Problem(ev) && !ordinary(reporter(ev))
}

// ordinary are reporters whose Events about Nodes repeat conditions of the node, or nodefence's own
// actions.
func ordinary(component string) bool {
	return slices.Contains([]string{"kubelet", "node-controller", "kube-proxy"}, component) ||
		strings.HasPrefix(component, "cloud-node-") || strings.HasPrefix(component, "nodefence")
}
