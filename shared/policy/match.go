package policy

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Selects tells whether a selector chooses a node with these labels. None
// chooses all. A selector that can't be read (the API server takes labels that are
// none) chooses all too, which is the stricter reading of limits and of what is excluded.
// What something is done to is asked of Chooses.
func Selects(s *api.LabelSelector, nodeLabels map[string]string) bool {
	if s == nil {
		return true
	}
	sel, err := metav1.LabelSelectorAsSelector(s.Kubernetes())
	return err != nil || sel.Matches(labels.Set(nodeLabels))
}

// Chooses is Selects, and no selector, or one that can't be read, chooses nothing.
func Chooses(s *api.LabelSelector, with map[string]string) bool {
	sel, err := metav1.LabelSelectorAsSelector(s.Kubernetes())
	return err == nil && sel.Matches(labels.Set(with))
}

// Unreadable says why a selector of a policy can't be read; empty if it can.
func Unreadable(policy, field string, s *api.LabelSelector) string {
	if err := Misread(s); err != nil {
		return fmt.Sprintf("policy %s, %s: %s", policy, field, err)
	}
	return ""
}

// Misread is what is wrong with a selector. Of several labels that are none it is always
// the same one, so that a status that says so stands still.
func Misread(s *api.LabelSelector) error {
	_, err := metav1.LabelSelectorAsSelector(s.Kubernetes())
	if err == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		one := &metav1.LabelSelector{MatchLabels: map[string]string{key: s.MatchLabels[key]}}
		if _, err := metav1.LabelSelectorAsSelector(one); err != nil {
			return err
		}
	}
	return err
}
