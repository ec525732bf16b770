package walk

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// windowOf is one that begins at the minute of a time, and lasts until another.
func windowOf(name string, from, until time.Time) policy.Windows {
	from = from.UTC().Truncate(time.Minute)
	return policy.Windows{Policy: name, Windows: []api.PauseWindowRule{{Start: from.Format("15:04"), Duration: *api.DurationOf(until.Sub(from))}}}
}

// What the policies are called tells the checks how their windows stand, which must
// not be asked of what is checked.
const (
	openPolicy, shutPolicy, endsPolicy, unreadPolicy = "open", "shut", "ends", "unreadable"
	endsSoon                                         = 10 * time.Second
)

func wentBack() observed.Brakes {
	return observed.Brakes{Looked: true, Stopped: true, Why: api.StateWentBack, Message: "from 1000 to 600"}
}

func WindowsAt(now time.Time) (shut, open, ends, unread policy.Windows) {
	unread = windowOf(unreadPolicy, now.Add(2*time.Hour), now.Add(3*time.Hour))
	unread.Windows[0].TimeZone = new("Europe/Atlantis")
	return windowOf(shutPolicy, now.Add(2*time.Hour), now.Add(3*time.Hour)), windowOf(openPolicy, now, now.Add(time.Hour)),
		windowOf(endsPolicy, now, now.Add(endsSoon)), unread
}

// Holding is whether a brake lets nothing new begin. A storm is the gate's to say.
func Holding(b observed.Brakes) bool {
	return !b.Looked || b.Stopped || b.Paused || slices.ContainsFunc(b.Windows, func(w policy.Windows) bool { return w.Policy != shutPolicy })
}

func whyHeld(b observed.Brakes) api.Reason {
	switch {
	case b.Stopped && b.Why != "":
		return b.Why
	case b.Stopped:
		return api.Stopped
	case b.Paused:
		return api.Paused
	case b.Windows[0].Policy == unreadPolicy:
		return api.PauseWindowInvalid
	}
	return api.PauseWindow
}
