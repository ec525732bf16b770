package admission_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The ledger names 512 still Leases at most, and counts them all. With more than it names,
// nobody knows of the others which they are: a storm under any limit (S15).

// overlooks are gates that mind it too little, by the promise that each breaks.
var overlooks = map[[2]string]gate{
	{"takes a cut picture for a whole one", "S15: no isolation, power action or release starts in a storm"}: sees(func(l *api.FenceLedger, _ admission.Picture) {
		l.Status.Leases.StillCount = int32(len(l.Status.Leases.Still))
	}),
	{"leaves a cut picture to the limits", "S15: more still Leases than have names are a storm under any limit"}: sees(func(l *api.FenceLedger, c admission.Picture) {
		p := &l.Status.Leases
		p.Still = nil
		for _, n := range c.Nodes {
			p.Still = append(p.Still, api.StillLease{NodeName: n.Name})
		}
		p.StillCount = int32(len(p.Still))
	}),
	{"minds a cut picture where most Leases stand still", "S15: more still Leases than have names are a storm under any limit"}: sees(func(l *api.FenceLedger, _ admission.Picture) {
		if p := &l.Status.Leases; p.StillCount*2 <= p.Total {
			p.StillCount = int32(len(p.Still))
		}
	}),
}

// sees is our gate that sees another ledger.
func sees(change func(*api.FenceLedger, admission.Picture)) gate {
	return gate{ours.show, func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
		change(l, c)
		return admission.Admit(f, c, l, now)
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
