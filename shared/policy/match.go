package policy

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Selects reports whether a selector matches a node with these labels. No selector matches
// all nodes. A selector that can't be read (the API server accepts invalid labels) matches
// all too: for limits and exclusions that is the stricter reading. For actions, use
// Chooses.
func Selects(s *api.LabelSelector, nodeLabels map[string]string) bool {
	if s == nil {
		return true
	}
	sel, err := metav1.LabelSelectorAsSelector(s.Kubernetes())
	return err != nil || sel.Matches(labels.Set(nodeLabels))
}

// Chooses is like Selects, but no selector, or one that can't be read, matches no node.
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

// Misread says what is wrong with a selector. Of several invalid labels it always names the
// same one, so that a status with this text does not change.
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
