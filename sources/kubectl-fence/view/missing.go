package view

import (
	"cmp"
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// expected is one node that a policy expects and that has no Node object.
type expected struct {
	*api.MissingNode
	by *api.FencePolicy
}

// name is the node's; a Machine that has no node yet stands here by its own name.
func (x expected) name() string {
	if x.NodeName == "" && x.Machine != nil {
		return x.Machine.Name
	}
	return x.NodeName
}

// words say why it is missing, or why it is left alone.
func (x expected) words() string { return cmp.Or(x.Held, "it is expected, and has no Node object") }

// rule says which policy expects it, and for how long it may be missing.
func (x expected) rule() string {
	wait, is := policy.Patience(x.by, *x.MissingNode)
	if !is {
		return fmt.Sprintf("Policy %s expected it, and expects it no more", x.by.Name)
	}
	return fmt.Sprintf("Policy %s expects it, and acts once it has been missing for %s", x.by.Name, wait)
}

// missing are the expected nodes that have neither a Node object nor an open fence, each once.
func (s *Seen) missing() []expected {
	var out []expected
	have := map[string]bool{"": true}
	for i := range s.Policies {
		p := &s.Policies[i]
		for j := range p.Status.Missing {
			x := expected{&p.Status.Missing[j], p}
			name := x.name()
			if f := s.Fence(name); have[name] || s.Node(name) != nil || f != nil && f.Open() {
				continue
			}
			have[name] = true
			out = append(out, x)
		}
	}
	return out
}

// missed is the expected node of that name; nil if none is missing.
func (s *Seen) missed(name string) *expected {
	for _, x := range s.missing() {
		if x.name() == name {
			return &x
		}
	}
	return nil
}

// gone says of a missing node where it stands. One that is left alone stays so until somebody ends that.
func (s *Seen) gone(a *Answer, f *api.NodeFence, x *expected) {
	a.Reason, a.Rule = api.NodeMissing, x.rule()
	a.What = fmt.Sprintf("Node %s has been missing for %s (%s)", a.Node, s.since(&x.Since), said(api.NodeMissing, x.words()))
	if f != nil && f.Status.FenceNumber > 0 {
		a.What += "; its last fence ended: " + ended(f)
	}
}
