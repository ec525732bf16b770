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
	// beside is the reason beside the field: of a later change it says nothing.
	beside     string
	generation int64
}

// readRecord returns what an act says, after what an earlier act says.
func readRecord(a *api.FenceActSpec, before recorded) recorded {
	is := recorded{a.To, cmp.Or(a.Mark, before.mark), before.beside, a.Object.Generation}
	switch {
	case a.To == stopped:
		is.beside = cmp.Or(a.Reason, before.beside)
	case a.By != "":
		is.beside = "" // kubectl fence start removes it
	}
	return is
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

// reason is the reason beside the field, if it came with the change.
func (s *sight) reason(last recorded) string {
	if s.value != stopped || s.beside == last.beside {
		return ""
	}
	return s.beside
}

// act is the act by which a field came to say what it says; nil if the last act says it too.
func (s *sight) act(last recorded) *api.FenceAct {
	given := s.given(last)
	if s.says() == last.value && !given {
		return nil
	}
	spec := api.FenceActSpec{
		Object: s.of, Field: s.field, From: last.value, To: s.says(), At: stamp(s.at), Seen: true, MadeBefore: s.before,
		Reason: clip.To(256, s.reason(last)), FenceNumber: s.number, Mark: s.mark,
	}
	which := digestOf([]any{s.field, spec.To, s.of.Generation})
	switch {
	case given && s.by != "":
		spec.By, spec.Reason = clip.To(256, s.by), clip.To(256, cmp.Or(s.reason(last), s.standing.reason))
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
