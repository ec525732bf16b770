package config

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// plan reads the steps, and checks that they belong to one device.
func (r *resolver) plan(from source) (Plan, error) {
	p := Plan{}
	var err error
	if p.Kdump, err = kdump(from); err != nil {
		return Plan{}, err
	}
	var stages [3]stage
	for i, key := range []string{isolation, power, recovery} {
		if stages[i], err = r.stage(from, key); err != nil {
			return Plan{}, err
		}
	}
	if p.Cut, err = r.cuts(from, stages[0].cuts, stages[2].cuts); err != nil {
		return Plan{}, err
	}
	devices := slices.Concat(stages[0].devices, stages[1].devices, stages[2].devices)
	if p.byCut(stages[1].steps, devices) {
		return r.cutPlan(from, p, stages)
	}
	if err := proves(from, power, stages[1]); err != nil {
		return Plan{}, err
	}
	p.steps(stages)
	b, err := join(from, devices)
	if err != nil {
		return Plan{}, err
	}
	p.Binding, p.Origins = b.Binding, b.origins
	p.Binding.Sources = r.sources
	p.Binding.LeaveOff = !has(p.Recovery, On)
	p.Kdump = p.Kdump || has(p.Isolation, KdumpWait) || has(p.Power, KdumpWait)
	p.Binding.Kdump = p.Kdump
	if p.Next, err = r.next(from, p.Binding); err != nil {
		return Plan{}, err
	}
	p.Notes = notes(p)
	return p, nil
}

// steps returns the steps of the three stages. An On among the steps of power moves to
// recovery, unless recovery has its own.
func (p *Plan) steps(stages [3]stage) {
	p.Isolation, p.Power, p.Recovery = stages[0].steps, stages[1].steps, stages[2].steps
	if on := stages[1].on; !has(p.Recovery, On) {
		p.Recovery = slices.Concat(on, p.Recovery)
	}
}

// cutPlan is the plan of a node whose machine no device switches.
func (r *resolver) cutPlan(from source, p Plan, stages [3]stage) (Plan, error) {
	for _, key := range levels {
		if e, ok := from.lines[key]; ok {
			return Plan{}, e.at.errorf("there is no %s before it; levels have no gaps", power)
		}
	}
	p.Isolation, p.Power, p.Recovery = stages[0].steps, stages[1].steps, stages[2].steps
	p.Binding.Sources = r.sources
	p.Notes = notes(p)
	return p, nil
}

// notes say in words where the plan differs from what its lines suggest.
func notes(p Plan) []string {
	out := fed(p.Devices())
	if p.Kdump {
		out = append(out, "kdump: nodefence waits for a dump before it cuts the power, as long as nodefence-kdump gets the dump's messages; without nodefence-kdump each fence of this node only waits for a first message")
	}
	steps := slices.Concat(p.Isolation, p.Power, p.Recovery)
	for _, l := range p.Next {
		steps = append(steps, l.Power...)
	}
	if n := len(p.Next); n > 0 {
		out = append(out, fmt.Sprintf("%d further levels: they are tried as far as power.maxLevels of the FencePolicy goes", n))
	}
	for _, s := range steps {
		if s.Skipped != "" {
			out = append(out, "method "+s.Method+" is not carried out: "+s.Skipped)
		}
	}
	if p.Binding.Driver == "" {
		out = append(out, "no device switches this machine: only pods all of whose writable volumes are cut off are released, and storage is given back once the node has rebooted, or uses none of those volumes any more")
	}
	if p.Binding.LeaveOff {
		out = append(out, "no method switches the machine on: it stays off until a person does")
	}
	if !has(p.Recovery, MarkSchedulable) {
		out = append(out, "recovery does not name uncordon: nodefence removes its own mark anyway")
	}
	said := map[string]bool{}
	for _, ref := range secretRefs(p.Devices()) {
		if ref.Kind == api.KindConfigMap && !said[ref.Name+"/"+ref.Key] {
			said[ref.Name+"/"+ref.Key] = true
			out = append(out, ref.Parameter+" is in ConfigMap "+ref.Name+", where everyone who may read ConfigMaps can read it; put it into a Secret and write secret=<its name>")
		}
	}
	return out
}

// fed tells of sets in which an outlet may feed the BMC beside it. That BMC says nothing after the
// Off, and a set is off only if each of its devices says so.
func fed(all []api.Binding) (out []string) {
	for _, b := range all {
		bmc, outlet := "", ""
		for _, m := range b.Members {
			switch {
			case m.Params["plug"] != "":
				outlet = m.Driver + " " + m.Address
			case m.Params["ip"] != "":
				bmc = m.Driver + " " + m.Address
			}
		}
		if bmc != "" && outlet != "" {
			out = append(out, bmc+" and "+outlet+" are one set, which is off only if each says so: if that outlet feeds that BMC, the BMC is silent after the Off, and nothing is ever released; name in a set only outlets that leave the BMC its power, and any other as power_management_2")
		}
	}
	return out
}

func secretRefs(all []api.Binding) []api.SecretRef {
	var out []api.SecretRef
	for _, b := range all {
		out = append(out, b.SecretRefs...)
		for _, m := range b.Members {
			out = append(out, m.SecretRefs...)
		}
	}
	return out
}

func kdump(from source) (bool, error) {
	e, ok := from.lines["kdump"]
	switch {
	case !ok, e.value == "disabled":
		return false, nil
	case e.value == "enabled":
		return true, nil
	}
	return false, e.at.errorf("kdump is %q; it takes enabled or disabled", e.value)
}
