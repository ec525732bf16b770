package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Duration is hours, minutes and seconds, such as 90s or 1h30m. There are no days and no
// fractions. A field that is a *Duration and is left out stays left out in JSON, which a
// metav1.Duration would not: a default is then a default for Go clients too.
//
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}(h|m|s)){1,3}$')",message="write hours, minutes and seconds, such as 90s or 1h30m; there are no days"
type Duration string

// DurationOf spells a time.Duration of whole seconds.
func DurationOf(d time.Duration) *Duration {
	text := Duration(d.String())
	return &text
}

// Get is its length; zero for nil and for what is no duration, which no API server with
// these rules holds.
func (d *Duration) Get() time.Duration { return d.Or(0).Duration }

// Or is its length, or def where it is left out or is no duration: a text that the API server's
// rules did not check must not become a zero.
func (d *Duration) Or(def time.Duration) metav1.Duration {
	if d != nil {
		if length, err := time.ParseDuration(string(*d)); err == nil {
			return metav1.Duration{Duration: length}
		}
	}
	return metav1.Duration{Duration: def}
}
