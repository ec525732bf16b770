package view

import (
	"fmt"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
)

// Figures are what is counted under each policy now, in the order of s.Policies, by the gate's own functions on what
// was read. Nil if the ledger was not read.
func (s *Seen) Figures() []admission.Figures {
	if s.Ledger == nil {
		return nil
	}
	return admission.FiguresNow(s.Policies, s.picture(), s.Ledger, s.Now)
}

// picture is what the gate's own functions count.
func (s *Seen) picture() admission.Picture {
	return admission.NewPicture(admission.Observed{Nodes: look.ClusterNodes(s.Nodes), Fences: s.Fences, Policies: s.Policies, Zones: look.Zones(s.Policies)})
}

// figures are those of one policy; nil if they are not known.
func (s *Seen) figures(p *api.FencePolicy) *admission.Figures {
	for i, f := range s.Figures() {
		if s.Policies[i].Name == p.Name {
			return &f
		}
	}
	return nil
}

// figureWords are a policy's counts, and what may begin under it.
func figureWords(f *admission.Figures) string {
	words := fmt.Sprintf("%s unhealthy, %s, and %d more may begin now", ofItsNodes(f.Unhealthy, f.Selected), SlotWords(f), f.Allowed)
	if f.Why != "" {
		words += " (" + said(f.Why, f.Words) + ")"
	}
	return words
}

// SlotWords say how many fences run of those that may run at once, how many dry runs would run, and how many fences
// wait.
func SlotWords(f *admission.Figures) string {
	words := fmt.Sprintf("%d of %d at once %s", f.Slots, f.Most, verb(f.Slots, "runs", "run"))
	if f.Dry > 0 {
		words += fmt.Sprintf(", %d more would run", f.Dry)
	}
	if f.Waiting > 0 {
		words += fmt.Sprintf(", %d %s", f.Waiting, verb(f.Waiting, "waits", "wait"))
	}
	return words
}

func verb(n int32, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
