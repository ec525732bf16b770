package fence

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The ledger names 512 still Leases at most, and counts them all. With more than it names,
// nobody knows of the others which they are: a storm under any limit (S15).

// overlooks are gates that mind it too little, by the promise that each breaks.
var overlooks = map[[2]string]gate{
	{"takes a cut picture for a whole one", "S15: no isolation, power action or release starts in a storm"}: sees(func(l *api.FenceLedger, _ Cluster) {
		l.Status.Leases.StillCount = int32(len(l.Status.Leases.Still))
	}),
	{"leaves a cut picture to the limits", "S15: more still Leases than have names are a storm under any limit"}: sees(func(l *api.FenceLedger, c Cluster) {
		p := &l.Status.Leases
		p.Still = nil
		for _, n := range c.Nodes {
			p.Still = append(p.Still, api.StillLease{NodeName: n.Name})
		}
		p.StillCount = int32(len(p.Still))
	}),
	{"minds a cut picture where most Leases stand still", "S15: more still Leases than have names are a storm under any limit"}: sees(func(l *api.FenceLedger, _ Cluster) {
		if p := &l.Status.Leases; p.StillCount*2 <= p.Total {
			p.StillCount = int32(len(p.Still))
		}
	}),
}

// sees is our gate that sees another ledger.
func sees(change func(*api.FenceLedger, Cluster)) gate {
	return gate{ours.show, func(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time) *Verdict {
		change(l, c)
		return Admit(f, c, l, now)
	}}
}

// beginsUnseen looks for a snapshot in which a fence begins by a picture that does not name
// all Leases that stand still.
func beginsUnseen(g gate, r *rand.Rand, rounds int) (at string, free int) {
	for range rounds {
		s := sample(r)
		if g.holds(s) == "" {
			free++
		}
		p := &s.ledger.Status.Leases
		p.Still = p.Still[:r.IntN(len(p.Still)+1)]
		p.StillCount = int32(len(p.Still) + 1 + r.IntN(3))
		p.Total += p.StillCount * int32(r.IntN(4))
		if g.holds(s) == "" {
			return fmt.Sprintf("%d of %d still Leases have names, of %d", len(p.Still), p.StillCount, p.Total), free
		}
	}
	return "", free
}

func TestNothingBeginsByACutPicture(t *testing.T) { // S15
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	at, free := beginsUnseen(ours, rand.New(rand.NewPCG(seed, 0)), 6000)
	if at != "" || free == 0 {
		t.Errorf("%s; %d of them begin by a whole picture", at, free)
	}
	for name, g := range overlooks {
		if at, _ := beginsUnseen(g, rand.New(rand.NewPCG(1, 0)), 6000); at == "" {
			t.Errorf("a gate that %s is not caught (%s)", name[0], name[1])
		}
	}
}

// TestEachLookMindsACutPicture: a fence whose node is being isolated goes back to the gate
// in the storm that a cut picture is, though fewer names than half of all Leases stand in
// it, and the gate has noted none (S15, S16). What was begun sends no further Off (S25).
func TestEachLookMindsACutPicture(t *testing.T) {
	policies := []api.FencePolicy{livePolicy()}
	for still, storm := range map[int32]bool{0: false, api.MaxStill: false, api.MaxStill + 1: true, 5000: true} {
		for _, begun := range []bool{false, true} {
			f := underPolicy(policies, begun)
			if !begun {
				f.Status.Phase, f.Status.Power.LastRead, f.Status.Placed = api.Isolating, nil, api.Placed{}
			}
			c, led := cluster(f)
			p := &led.Status.Leases
			p.Total, p.StillCount, p.Renewal = 5000, still, metav1.Duration{Duration: walkRenewal}
			for i := range min(still, api.MaxStill) {
				p.Still = append(p.Still, api.StillLease{NodeName: fmt.Sprintf("x%d", i), Stale: true})
			}
			seen := lookBeforeOff(f, policies, c, led)
			seen.Brakes = Against(f, policies, seen.Node, led, walkStart) // as it is where nothing is cut yet
			seen.Brakes.Counted = begun
			st, act := Decide(f, seen, walkStart)
			if !begun && (st.Phase == api.Pending && st.Reason == api.TooManyUnhealthy) != storm || begun && (act == Off) == storm {
				t.Errorf("%d still, begun %v: %q %s %s: %s", still, begun, act, st.Phase, st.Reason, st.Message)
			}
		}
	}
}
