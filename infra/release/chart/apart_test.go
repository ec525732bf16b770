package chart

import (
	"strings"
	"testing"
)

// TestNamespacesAreApart: who may read the Secrets of one, or create Jobs in one, must not have those
// of another, nor of anybody else.
func TestNamespacesAreApart(t *testing.T) {
	c := loaded(t)
	for values, want := range map[string]string{
		"namespaces: {devices: nodefence-system}":                                                   `namespaces.system and namespaces.devices are both "nodefence-system"`,
		"namespaces: {checks: nodefence-system}":                                                    `namespaces.system and namespaces.checks are both "nodefence-system"`,
		"namespaces: {checks: nodefence-devices}":                                                   `namespaces.devices and namespaces.checks are both "nodefence-devices"`,
		"namespaces: {system: nodefence-checks}":                                                    `namespaces.system and namespaces.checks are both "nodefence-checks"`,
		"namespaces: {system: all, devices: all, checks: all}":                                      `namespaces.system and namespaces.devices are both "all"`,
		"components: {far: {enabled: true, namespace: nodefence-system}}":                           `namespaces.system and components.far.namespace are both "nodefence-system"`,
		"components: {far: {enabled: true, namespace: nodefence-devices}}":                          `namespaces.devices and components.far.namespace are both "nodefence-devices"`,
		"components: {far: {enabled: true, namespace: nodefence-checks}}":                           `namespaces.checks and components.far.namespace are both "nodefence-checks"`,
		"components: {far: {enabled: true}}\nnamespaces: {checks: openshift-workload-availability}": `namespaces.checks and components.far.namespace are both "openshift-workload-availability"`,
		"components: {far: {enabled: true, namespace: kube-system}}":                                `components.far.namespace is "kube-system"`,
		"components: {far: {enabled: true, namespace: nodefence-jobs}}":                             `components.far.namespace is "nodefence-jobs"`,
		"namespaces: {system: nodefence-jobs}":                                                      `namespaces.system is "nodefence-jobs"`,
		"namespaces: {devices: nodefence-jobs}":                                                     `namespaces.devices is "nodefence-jobs"`,
		"namespaces: {checks: nodefence-kdump}":                                                     `namespaces.checks is "nodefence-kdump"`,
		"namespaces: {system: kube-system}":                                                         `namespaces.system is "kube-system"`,
		"namespaces: {devices: kube-node-lease}":                                                    `namespaces.devices is "kube-node-lease"`,
		"namespaces: {devices: default}":                                                            `namespaces.devices is "default"`,
		"namespaces: {checks: default}":                                                             `namespaces.checks is "default"`,
	} {
		_, err := render(c, "default", values)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", values, err, want)
		}
	}
	for _, values := range []string{
		"namespaces: {system: nodefence-devices, devices: nodefence-checks, checks: nodefence-system}",
		"components: {far: {namespace: nodefence-system}}", // it is off
		"components: {far: {enabled: true, namespace: default}}",
	} {
		if _, err := render(c, "default", values); err != nil {
			t.Errorf("%s: %v", values, err)
		}
	}
}
