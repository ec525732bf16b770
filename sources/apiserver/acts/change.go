package acts

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// recorded is what the last act of a field says of it.
type recorded struct {
	value, mark string
	generation  int64
}

// sight is one look at one field.
type sight struct {
	of api.ActObject
	standing
	at time.Time
	// before tells that the field was so when the source began to watch.
	before bool
}

// says is the field in words, as an act has it.
func (s *sight) says() string { return clip.To(api.ActText, s.value) }

// given tells whether a person's word came with the change. A word that was there before the change names nobody.
func (s *sight) given(last recorded) bool { return s.mark != "" && s.mark != last.mark }

// act is the act by which a field came to say what it says; nil if the last act says it too.
func (s *sight) act(last recorded) *api.FenceAct {
	given := s.given(last)
	if s.says() == last.value && !given {
		return nil
	}
	spec := api.FenceActSpec{
		Object: s.of, Field: s.field, From: last.value, To: s.says(), At: stamp(s.at), Seen: true, MadeBefore: s.before,
		Reason: clip.To(256, s.beside), FenceNumber: s.number, Mark: s.mark,
	}
	which := digestOf([]any{s.field, spec.To, s.of.Generation})
	switch {
	case given && s.by != "":
		spec.By, spec.Reason = clip.To(256, s.by), clip.To(256, cmp.Or(s.beside, s.reason))
		if which = digestOf([]any{s.field, spec.To, s.mark}); !s.standing.at.IsZero() {
			spec.At, spec.Seen = stamp(s.standing.at), false
		}
	default:
		spec.Unnamed, spec.Manager = true, clip.To(128, s.manager)
	}
	a := &api.FenceAct{Spec: spec}
	a.Name = fmt.Sprintf("%s-%s-%s", s.of.UID, strings.ToLower(string(s.field)), which)
	a.Labels = map[string]string{api.ActLabel: string(s.field)}
	return a
}

func stamp(t time.Time) api.Time { return metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond)) }
