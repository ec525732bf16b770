package page

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Look is what is shown, and to whom.
type Look struct {
	view.Seen
	// Base is the path below which all pages are, without a slash at its end.
	Base string
	// User is the person, as the API server knows them.
	User string
	// Server is the API server's address, and Context kubectl's name for it; it may be empty.
	Server, Context string
	// Gaps are the kinds that are not seen as they are.
	Gaps []Gap
	// Zone is the person's time zone.
	Zone *time.Location
	// Notice is what the person did last, in a sentence.
	Notice string
	// Warning says why nothing was done, in a sentence.
	Warning string
}

// Moment is one point in time, as it is shown.
type Moment struct {
	// Machine is for programs, and Text for people: the person's own time and, where that is
	// another one, UTC.
	Machine, Text string
	// Ago is how long ago it was, or how long it will be.
	Ago string
}

// At is a point in time, as it is shown; empty without one.
func (l *Look) At(t any) Moment {
	at, ok := moment(t)
	if !ok {
		return Moment{}
	}
	zone := cmp.Or(l.Zone, time.UTC)
	local, utc := at.In(zone), at.UTC()
	form := "15:04:05"
	if local.Format(time.DateOnly) != l.Now.In(zone).Format(time.DateOnly) {
		form = "2006-01-02 15:04:05"
	}
	m := Moment{Machine: utc.Format(time.RFC3339Nano), Text: utc.Format(form) + " UTC", Ago: duration.HumanDuration(l.Now.Sub(at).Abs()) + " ago"}
	if _, offset := local.Zone(); offset != 0 {
		m.Text = local.Format(form+" MST") + " (" + utc.Format("15:04:05") + " UTC)"
	}
	if at.After(l.Now.Add(time.Second)) {
		m.Ago = "in " + duration.HumanDuration(at.Sub(l.Now))
	}
	return m
}

// moment is a point in time of any of the types that objects have it in.
func moment(t any) (time.Time, bool) {
	var at time.Time
	switch x := t.(type) {
	case time.Time:
		at = x
	case *time.Time:
		if x != nil {
			at = *x
		}
	case api.Time:
		at = x.Time
	case *api.Time:
		if x != nil {
			at = x.Time
		}
	}
	return at, !at.IsZero()
}
