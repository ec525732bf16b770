package plan

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Show writes reports as text: one node in full, or many with a line each.
func Show(out io.Writer, many bool, all []Report) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if many {
		table(w, all)
	} else {
		one(w, all[0])
	}
	return w.Flush()
}

func table(w io.Writer, all []Report) {
	fmt.Fprintln(w, "NODE\tFENCE\tPOLICY\tDEVICE\tWHY")
	for _, r := range all {
		result, policy, device := "yes", "", ""
		switch {
		case r.Refused != "":
			result = "refused"
		case r.Unknown != "":
			result = "unknown"
		}
		if r.Policy != nil {
			policy = r.Policy.Policy.Name
		}
		if r.Device != nil {
			device = r.Device.Driver + " " + r.Device.Address
		}
		if broken := r.broken(); result == "yes" && broken != "" {
			result, r.Now = "no answer", broken
		}
		cells(w, r.Node, result, policy, device, cmp.Or(r.Refused, r.Unknown, r.now()))
	}
}

// now is what Report.Now says. A node that is Ready is planned for as if it had failed.
func (r *Report) now() string {
	if r.Ready && r.Now == wouldBegin {
		return wouldBegin + " if the node failed now"
	}
	return r.Now
}

func one(w io.Writer, r Report) {
	cells(w, "node", r.Node)
	said(w, "refused", r.Refused)
	said(w, "unknown", r.Unknown)
	said(w, "now", r.now())
	for _, c := range r.Checked {
		cells(w, "checked", c.words())
	}
	if p := r.Policy; p != nil {
		cells(w, "policy", fmt.Sprintf("%s, generation %d, mode %s, action %s", p.Policy.Name, p.Policy.Generation, p.Settings.Mode, p.Settings.Action))
		list(w, "when", conditions(p))
		list(w, "limits", limits(p))
	}
	for _, p := range r.Problems {
		cells(w, "problem", p.words())
	}
	if d := r.Device; d != nil {
		d.show(w, "device")
		for i := range r.Levels {
			r.Levels[i].show(w, fmt.Sprintf("level %d", i+2))
		}
	}
	for i := range r.Cuts {
		r.Cuts[i].show(w, "cuts off "+strings.ToLower(string(r.Cuts[i].Role)))
		if c := r.Cuts[i].Covers; c != nil {
			list(w, "  covers", append(prefixed("class ", c.StorageClassNames), prefixed("CSI driver ", c.CSIDriverNames)...))
		}
	}
	steps(w, "isolation", r.Isolation)
	steps(w, "power", r.Power)
	steps(w, "recovery", r.Recovery)
	for i, c := range r.Calls {
		cells(w, fmt.Sprintf("call %d", i+1), c)
	}
	list(w, "note", r.Notes)
	list(w, "read", r.Sources)
}

func (d *Device) show(w io.Writer, name string) {
	cells(w, name, d.Driver+" "+d.Address)
	list(w, "all of", d.Members)
	cells(w, "identity", cmp.Or(d.Identity, "none was enrolled: the device's word for it is not checked"))
	for _, v := range d.Values {
		cells(w, "  "+v.Name, cmp.Or(v.Value, "(secret)"), v.From)
	}
}

func prefixed(what string, names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, what+n)
	}
	return out
}

// cells writes one line. What others wrote in a cell begins no other one, and no other line.
func cells(w io.Writer, all ...string) {
	for i := range all {
		all[i] = view.OneLine(all[i])
	}
	fmt.Fprintln(w, strings.Join(all, "\t"))
}

// said writes a line, if there is something to say.
func said(w io.Writer, name, words string) {
	if words != "" {
		cells(w, name, words)
	}
}

func list[T any](w io.Writer, name string, lines []T) {
	for _, l := range lines {
		cells(w, name, fmt.Sprint(l))
	}
}

func steps(w io.Writer, name string, all []config.Step) {
	for _, s := range all {
		did := string(s.Do)
		if s.Skipped != "" {
			did += ", not carried out"
		}
		cells(w, name, s.Method+" ("+did+")")
	}
}

func conditions(p *api.ResolvedPolicy) []string {
	var out []string
	for _, c := range p.Settings.UnhealthyConditions {
		out = append(out, fmt.Sprintf("%s=%s for %s", c.Type, c.Status, c.Duration.Duration))
	}
	return out
}

// limits are written one line for each policy.
func limits(p *api.ResolvedPolicy) []string {
	out := []string{fmt.Sprintf("%d cuts a day for this node, on the last %s", p.Settings.PerNode.CutsPerDay, p.Settings.PerNode.OnLast)}
	for _, l := range p.Limits {
		if l.SkipFrom > 0 {
			out = append(out, fmt.Sprintf("%s: none begins from %d%% unhealthy nodes on", l.Policy, l.SkipFrom))
			continue
		}
		parts := []string{"maxUnhealthy " + l.MaxUnhealthy.String(), fmt.Sprintf("maxConcurrent %d", max(1, l.MaxConcurrent))}
		if l.MaxRate != nil {
			parts = append(parts, fmt.Sprintf("%d within %s", l.MaxRate.Count, l.MaxRate.Period.Duration))
		}
		if d := l.PerDomain; d != nil {
			parts = append(parts, fmt.Sprintf("by %s maxUnhealthy %s and maxConcurrent %d", d.TopologyKey, d.MaxUnhealthy.String(), max(1, d.MaxConcurrent)))
		}
		out = append(out, l.Policy+": "+strings.Join(parts, ", "))
	}
	return out
}
