package view

import (
	"regexp"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// says is what who adds to a note.
var says = regexp.MustCompile(`; (stopped|last changed) by [^;]*`)

// WithoutWho is a note without who changed the brake. An act is recorded a moment after the change.
func WithoutWho(note string) string { return says.ReplaceAllString(note, "") }

// who says who changed a brake last and when, as far as an act says it; empty where none does. An act that says
// something else than to is of another change.
func (s *Seen) who(object types.UID, field api.ActField, stands func(to string) bool) string {
	var last *api.FenceAct
	for i := range s.Acts {
		a := &s.Acts[i]
		if a.Spec.Object.UID == object && a.Spec.Field == field && (last == nil || a.Spec.Object.Generation > last.Spec.Object.Generation) {
			last = a
		}
	}
	if last == nil || !stands(last.Spec.To) {
		return ""
	}
	is := &last.Spec
	words := "by " + OneLine(is.By)
	if is.Unnamed {
		words = "by somebody who gave no name"
		if is.Manager != "" {
			words += " (field manager " + OneLine(is.Manager) + ")"
		}
	}
	switch {
	case is.MadeBefore && is.Seen:
		return words + ", before " + stamp(is.At.Time)
	case is.Seen:
		return words + ", seen at " + stamp(is.At.Time)
	}
	return words + " at " + stamp(is.At.Time)
}
