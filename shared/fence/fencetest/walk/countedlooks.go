package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// countedWaits are the times after which such a fence is looked at: when it is due, and
// past the limit that its phase has.
func countedWaits(s *State) []time.Duration {
	due := time.Duration(0)
	if n := s.st.NextLook; n != nil && n.After(s.now) {
		due = n.Sub(s.now)
	}
	all := []time.Duration{due}
	switch {
	case s.st.Claim != nil:
	case s.st.Phase == api.Pending || s.st.Phase == "" || s.st.Phase == api.Fenced || s.st.Phase == api.Failed || s.st.Awaited != nil:
		all = append(all, aDay+time.Hour)
	case s.st.Phase == api.Recovering:
		all = append(all, 71*time.Second)
	case s.st.Phase == api.Releasing:
		all = append(all, 31*time.Second, 51*time.Second)
	case s.st.Power.OffAt != nil || s.st.Power.OnAt != nil:
		all = append(all, 11*time.Second)
	}
	return all
}

func countedLooks(s *State) []look {
	var all []look
	if c := s.st.Claim; c != nil {
		for _, by := range callers(s, s.now) {
			if by.me == "me" && !by.call.Wrong && (c.Call == api.CallRead || by.call.Err == "" || by.call.Refused) {
				x := usual(s, s.now, "Unknown", false, "a")
				x.Me, x.Call = by.me, by.call
				all = append(all, look{dt: 100 * time.Millisecond, seen: x})
			}
		}
	}
	for _, dt := range countedWaits(s) {
		for _, x := range countedBases(s, s.now.Add(dt)) {
			all = append(all, look{dt: dt, seen: x})
		}
	}
	if s.st.Claim == nil && (s.st.Phase == api.Failed || s.st.Phase == api.Fenced || s.st.Awaited != nil) {
		all = append(all, look{seen: usual(s, s.now, "Unknown", false, "a"), retry: true})
	}
	return all
}

func countedBases(s *State, now time.Time) []observed.Look {
	ill := usual(s, now, "Unknown", false, "a")
	if s.st.Claim != nil {
		return []observed.Look{ill}
	}
	all := []observed.Look{ill, usual(s, now, "True", true, "a")}
	with := func(change func(*observed.Look)) { y := ill; change(&y); all = append(all, y) }
	switch s.st.Phase {
	case api.Pending:
		with(func(y *observed.Look) { y.Reserved = nil })
	case api.Fencing:
		with(func(y *observed.Look) { y.Brakes.Storm = true })
	case api.Releasing:
		with(func(y *observed.Look) { y.Left = &observed.Left{Delete: []observed.Pod{{Name: "p"}}, Attachments: 1} })
		with(func(y *observed.Look) { y.Node.OutOfService, y.Cleared = false, true })
		all = append(all, usual(s, now, "Unknown", true, "a"))
	case api.PoweringOn, api.Fenced:
		all = append(all, usual(s, now, "True", true, "b"))
	case api.Recovering:
		back := usual(s, now, "True", true, "b")
		back.Node.Taint, back.Node.Cordoned, back.Node.OutOfService, back.Cleared = false, false, false, true
		back.Report = s.writtenReport()
		closed := back
		closed.Finalizer = false
		all = append(all, back, closed)
	}
	return all
}
