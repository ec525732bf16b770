package v1alpha1

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelSelector chooses objects by their labels, as Kubernetes' own does; {} chooses all. Its
// lists are bounded, and a value that no label can have is refused at apply: nobody knows what it
// was meant to choose.
// +kubebuilder:object:generate=false
// +structType=atomic
type LabelSelector struct {
	// matchLabels are labels, each with the value that it must have: at most 32.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`
	// matchExpressions are requirements on labels: at most 16. All must hold, besides
	// matchLabels.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`
}

// LabelRequirement is one requirement on a label.
// +kubebuilder:validation:XValidation:rule="(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",message="matchExpressions[].values goes with operator In and NotIn: write one value or more, or leave values out for Exists and DoesNotExist"
type LabelRequirement struct {
	// key is the label's key, such as topology.kubernetes.io/zone: at most 317 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +required
	Key string `json:"key,omitempty"`
	// operator is In or NotIn, with values, or Exists or DoesNotExist, without.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	// +required
	Operator metav1.LabelSelectorOperator `json:"operator,omitempty"`
	// values are those that the label has one of (In) or none of (NotIn): at most 32.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Values []LabelValue `json:"values,omitempty"`
}

// LabelValue is a value that a label can have; empty is one. The rule is short, because an
// API server counts what it costs for each value of each selector that a record may have.
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^([^_\\\\W]([-\\\\w.]*[^_\\\\W])?)?$')",message="matchLabels and matchExpressions[].values take values that a label can have: write at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit"
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
