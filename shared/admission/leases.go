package admission

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// pictureUsable: an old picture of the Leases, or one that is younger than a
// renewal, has not seen what it must show (S15).
func pictureUsable(p api.LeasePicture, now time.Time) *observed.Verdict {
	switch {
	case p.ObservedAt == nil || p.Since == nil:
		return refuse(api.LeasePictureOld, "nobody has watched the Leases yet", facts.AskPicture)
	case !observed.Fresh(p.ObservedAt.Time, now, facts.Resync):
		return refuse(api.LeasePictureOld, "the picture of the Leases is older than "+facts.Resync.String(), facts.AskPicture)
	case p.ObservedAt.Sub(p.Since.Time) < p.Renewal.Duration:
		return refuse(api.LeasePictureOld, "the Leases have been watched for less than one renewal", facts.AskPicture)
	}
	return tooManyStill(p)
}

// tooManyStill: nobody knows which Leases stand still beside those that have names (S15).
func tooManyStill(p api.LeasePicture) *observed.Verdict {
	if !p.Cut() {
		return nil
	}
	return refuse(api.TooManyUnhealthy, fmt.Sprintf("%d of %d Leases stand still, more than are kept by name (%d): a storm under any limit", p.StillCount, p.Total, api.MaxStill), askStorm)
}

// usCutOff: if most Leases stand still at once, it is likelier that we, or the
// API server, are the ones cut off (S16).
func usCutOff(l *api.FenceLedger, now time.Time) *observed.Verdict {
	return mostStill(l, now, func(s api.StillLease) bool { return s.Stale })
}

// mostStill holds if most Leases stand still, but for those of machines that nodefence keeps off, and of nodes
// that a person has said are lost: they stand still whoever is cut off. It also holds if one other Lease is
// left, and that one stands still: one Lease does not tell who is cut off.
func mostStill(l *api.FenceLedger, now time.Time, counts func(api.StillLease) bool) *observed.Verdict {
	p, still, off, lost := l.Status.Leases, 0, 0, 0
	word, marks := currentLost(l, now)
	for _, s := range p.Still {
		switch {
		case keptOff(l.Status.Census, s):
			off++
		case marks[s.NodeName] != "" && marks[s.NodeName] == s.Renewed:
			lost++
		case counts(s):
			still++
		}
	}
	total := int(p.Total) - off - lost
	if still+off+lost < 2 || still*2 <= total {
		return nil
	}
	words := fmt.Sprintf("%d of %d Leases stand still", still, total)
	if off > 0 {
		words += fmt.Sprintf(", beside %d of machines that are kept off", off)
	}
	if lost > 0 {
		words += fmt.Sprintf(", beside %d of nodes that %s says are lost", lost, word.By)
	}
	return refuse(api.MostLeasesStale, words+": it may be we who are cut off", askStorm)
}

// keptOff: the machine was proven off, or cut from its storage, and its fence keeps it so. The Lease has stood
// still since before all that the census shows, so the machine has not come back and failed again.
func keptOff(c *api.Census, s api.StillLease) bool {
	return c != nil && s.Since.Time.Before(c.ObservedAt.Add(-CensusLag)) && slices.ContainsFunc(c.Fences, func(f api.CountedFence) bool {
		return f.NodeName == s.NodeName && f.Phase == api.Fenced && slices.Contains(f.Marks, api.FenceServed)
	})
}

// StormOfLeases says why the picture of the Leases alone, whatever the limits, is one on
// which nothing more starts: most of them stand still, or more than it names (S15, S16). Of
// a cut one only the names tell who is stale, which are no measure of all.
func StormOfLeases(l *api.FenceLedger, now time.Time) *observed.Verdict {
	if v := usCutOff(l, now); v != nil {
		return v
	}
	return tooManyStill(l.Status.Leases)
}

// stillIn are the nodes whose Lease may stand still. Of one that a cut picture does not
// name nobody knows, so all do.
func stillIn(p api.LeasePicture, c Picture) map[string]bool {
	still := map[string]bool{}
	for _, s := range p.Still {
		still[s.NodeName] = true
	}
	if p.Cut() {
		for _, n := range c.Nodes {
			still[n.Name] = true
		}
	}
	return still
}

// stillAt is the mark at which the Lease of a node stands still; empty if it does not, or nobody knows.
func stillAt(l *api.FenceLedger, node string) string {
	for _, s := range l.Status.Leases.Still {
		if s.NodeName == node {
			return s.Renewed
		}
	}
	return ""
}

// Suspect is since when the source has seen the Lease of a node stand still at
// this mark, or why that is no evidence now.
func Suspect(l *api.FenceLedger, node, mark string, now time.Time) (time.Time, *observed.Verdict) {
	p := l.Status.Leases
	if v := pictureUsable(p, now); v != nil {
		return time.Time{}, v
	}
	if v := mostStill(l, now, func(api.StillLease) bool { return true }); v != nil {
		return time.Time{}, v
	}
	for _, s := range p.Still {
		if s.NodeName == node && s.Renewed == mark {
			return s.Since.Time, nil
		}
	}
	return time.Time{}, refuse(api.LeaseStandsStill, "the source has not seen this node's Lease stand still", facts.AskPicture)
}

// lookBack holds a fence for which only the Lease speaks until every node that was
// lost in the same moment would show in the picture too (S15): it may have been
// lost just before a renewal, another one just after its own, and that one shows
// 1.2 renewals later.
func lookBack(f *api.NodeFence, _ Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	if !facts.OnlyLease(&f.Status.Decision, &f.Status, now) {
		return nil
	}
	since, v := Suspect(l, f.Spec.NodeName, f.Status.Lease.Renewed, now)
	if v != nil {
		return v
	}
	renewal := l.Status.Leases.Renewal.Duration
	shows := since.Add(2*renewal + renewal/5 + facts.PictureLag)
	if left := shows.Sub(now); left > 0 {
		return refuse(api.WaitingForTime, "until "+shows.UTC().Format(time.RFC3339)+", when every node that was lost in the same moment would show", left)
	}
	return nil
}
