package v1alpha1

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelSelector chooses objects by their labels, as Kubernetes' own does; {} chooses all. Its
// lists are bounded, and a value that no label can have is refused at apply: nobody knows
// what that was to choose.
// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="an operator of matchExpressions is In or NotIn, with values, or Exists or DoesNotExist, without"
// +kubebuilder:object:generate=false
// +structType=atomic
type LabelSelector struct {
	// matchLabels are labels, each with the value that it must have: at most 32.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`
	// matchExpressions are requirements on labels: at most 32. All must hold, besides
	// matchLabels.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`
}

// LabelRequirement is one requirement on a label.
type LabelRequirement struct {
	// key is the label's key, such as topology.kubernetes.io/zone.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +required
	Key string `json:"key,omitempty"`
	// operator is In or NotIn, with values, or Exists or DoesNotExist, without.
	// +required
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// values are those that the label has one of (In) or none of (NotIn): at most 32.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Values []LabelValue `json:"values,omitempty"`
}

// LabelValue is a value that a label can have; empty is one.
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",message="a value that no label has: a value is at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
type LabelValue = string

// Kubernetes is the same selector in Kubernetes' own type; nil of nil.
func (s *LabelSelector) Kubernetes() *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	k := &metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for _, e := range s.MatchExpressions {
		k.MatchExpressions = append(k.MatchExpressions, metav1.LabelSelectorRequirement{Key: e.Key, Operator: e.Operator, Values: e.Values})
	}
	return k
}

// DeepCopyInto is written by hand, because the generator knows no map of an alias.
func (s *LabelSelector) DeepCopyInto(out *LabelSelector) {
	*out = LabelSelector{MatchLabels: maps.Clone(s.MatchLabels)}
	for i := range s.MatchExpressions {
		out.MatchExpressions = append(out.MatchExpressions, *s.MatchExpressions[i].DeepCopy())
	}
}

// DeepCopy is a copy that shares nothing; nil of nil.
func (s *LabelSelector) DeepCopy() *LabelSelector {
	if s == nil {
		return nil
	}
	out := new(LabelSelector)
	s.DeepCopyInto(out)
	return out
}
