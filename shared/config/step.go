package config

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/spelling"
)

// step adds one method to a stage.
func (r *resolver) step(out *stage, from source, at place, key, name string) error {
	m, err := r.method(name, from, at)
	if err != nil {
		return err
	}
	b, isBuiltin := builtin(norm(name))
	scope, scoped := scopes[norm(name)]
	switch {
	case m == nil && scoped:
		return at.errorf("method %q is a method that you must write: key %s%s, with the agent_name of a device that cuts off %s", name, methodPrefix, name, strings.ToLower(string(scope)))
	case m == nil && !isBuiltin:
		return r.unknown(from, at, name)
	case m != nil && isBuiltin && norm(m.values["agent_name"].value) != b:
		return m.at.errorf("method %q has the name of a built-in; that can be read in two ways: rename it", name)
	case m == nil:
		return r.builtinStep(out, at, key, b, Step{Method: name})
	}
	return r.methodStep(out, key, m)
}

// methodStep is the step of a method that a user has written.
func (r *resolver) methodStep(out *stage, key string, m *method) error {
	name := m.name
	scope, scoped := scopes[norm(name)]
	k, b, err := r.kind(m)
	if errors.Is(err, device.ErrFabric) && !isPower(key) && !scoped {
		return r.fabricStep(out, key, m)
	}
	if err != nil {
		return err
	}
	if scoped && k.Scope != scope {
		return m.at.errorf("method %q takes a device that cuts off %s, and its agent_name names no such device", name, strings.ToLower(string(scope)))
	}
	s := Step{Method: name}
	if s.MustSucceed, err = must(m); err != nil {
		return err
	}
	if k.Scope != device.ScopePower {
		return r.cutStep(out, key, m, k, s)
	}
	if b != "" {
		if err := r.bare(m); err != nil {
			return err
		}
		return r.builtinStep(out, m.values["agent_name"].at, key, b, s)
	}
	return r.deviceStep(out, key, m, k, s)
}

// bare refuses parameters of a built-in, which takes none. The older controller ran a
// script of its own for each; another script would be ignored.
func (r *resolver) bare(m *method) error {
	for _, e := range inOrder(m.values) {
		switch {
		case e.name == "script_path" && slices.Contains(olderScripts, path.Base(e.value)):
			continue
		case e.name == "script_path":
			return e.at.errorf("%s is refused: nodefence runs no programs that a ConfigMap names; delete the line, and nodefence does it itself", shown(e.written))
		}
		if !slices.Contains(controls, e.name) || e.name == "secret" || e.name == "action" {
			return e.at.errorf("%s has no meaning for a built-in", shown(e.written))
		}
	}
	return nil
}

var olderScripts = []string{"k8s_cordon_node.sh", "k8s_uncordon_node.sh", "k8s_clean_all_pods_on_node.sh"}

// fabricStep notes a method that would cut a machine off from storage or network in a Job, and is
// skipped. That is safe: only power proves here, and nothing is released before.
func (r *resolver) fabricStep(out *stage, key string, m *method) error {
	s := Step{Method: m.name, Skipped: "its agent cuts off storage or network, which is not done in a Job: leave job_image out; nothing is released before the machine is seen off"}
	var err error
	if s.MustSucceed, err = must(m); err != nil {
		return err
	}
	if s.MustSucceed {
		return m.values["must_success"].at.errorf("method %q must succeed, and in a Job nothing is cut off from storage or network: leave job_image out, or delete the line or the method", m.name)
	}
	if s.Do, err = cutAction(key, m); err != nil {
		return err
	}
	out.steps = append(out.steps, s)
	return nil
}

func (r *resolver) unknown(from source, at place, name string) error {
	var known []string
	for k := range from.cm.Data {
		if x, ok := strings.CutPrefix(k, methodPrefix); ok {
			known = append(known, x)
		}
	}
	for _, n := range slices.Concat(slices.Collect(maps.Keys(builtins)), slices.Collect(maps.Keys(instances))) {
		known = append(known, strings.ReplaceAll(n, "_", "-"))
	}
	slices.Sort(known)
	if strings.Contains(name, ",") {
		return at.errorf("unknown method %q; methods are separated by blanks, without commas", name)
	}
	cm := methodPrefix + strings.ReplaceAll(name, "_", "-")
	return at.errorf("unknown method %q; %sknown are %s; there is no ConfigMap %s-%s or %s either",
		name, meantBy(name, known)+unread(from.cm, name), strings.Join(known, ", "), cm, r.node.Name, cm)
}

// unread names a key that is almost the method's, and that nothing reads.
func unread(cm ConfigMap, name string) string {
	want, keys := norm(methodPrefix+name), []string{}
	for k := range cm.Data {
		if k != configKey && !strings.HasPrefix(norm(k), norm(methodPrefix)) {
			keys = append(keys, norm(k))
		}
	}
	near := spelling.Near(want, keys)
	for _, k := range slices.Sorted(maps.Keys(cm.Data)) {
		if near != "" && norm(k) == near {
			return fmt.Sprintf("nothing reads key %s of this ConfigMap, is it meant to be %s%s? ", k, methodPrefix, name)
		}
	}
	return ""
}

// builtinStep adds a built-in.
func (r *resolver) builtinStep(out *stage, at place, key, name string, s Step) error {
	if action, ok := instances[name]; ok {
		return r.instanceStep(out, at, key, name, action, s)
	}
	do, ok := builtins[name]
	if !ok {
		return at.errorf("method %q is no step of a node: %s", s.Method, elsewhere[name])
	}
	switch {
	case do == MarkUnschedulable && key == recovery:
		// In the proposal, recovery names the mark that it undoes.
		do = MarkSchedulable
	case do == MarkSchedulable && key != recovery:
		return at.errorf("method %q undoes the isolation; it belongs in recovery", s.Method)
	}
	if do == KdumpWait && key != isolation && key != power {
		return at.errorf("method %q waits for a dump before the power is cut; it belongs in isolation or power_management", s.Method)
	}
	s.Do = do
	out.steps = append(out.steps, s)
	return nil
}

// deviceStep adds a call to a device.
func (r *resolver) deviceStep(out *stage, key string, m *method, k device.Kind, s Step) error {
	off, on, err := action(m)
	if err != nil {
		return err
	}
	at := m.at
	if e, ok := m.values["action"]; ok {
		at = e.at
	}
	switch {
	case key == isolation && (off || on):
		return at.errorf("method %q switches power in isolation; it belongs in power_management", m.name)
	case on && k.NoOn != "":
		return at.errorf("method %q switches on, and driver %s can't: %s; write action=off", m.name, k.Name, k.NoOn)
	case key == recovery && off:
		return at.errorf("method %q switches off in recovery, which takes action=on; without action= it is a reboot", m.name)
	}
	b, err := r.bind(m, k)
	if err != nil {
		return err
	}
	b.off, b.on = off, on
	out.add(s, off, on, isPower(key), b)
	out.devices = append(out.devices, b)
	return nil
}

// stage reads one line's methods.
func (r *resolver) stage(from source, key string) (stage, error) {
	var out stage
	e := from.lines[key]
	for _, name := range strings.Fields(e.value) {
		if err := r.step(&out, from, e.at, key, name); err != nil {
			return stage{}, err
		}
	}
	return out, nil
}

// instanceStep adds a call to the instance that the node was enrolled as.
func (r *resolver) instanceStep(out *stage, at place, key, name, action string, s Step) error {
	k, why := r.knows(name == deleteMachine)
	if why != "" {
		return at.errorf("method %q switches the cloud's instance: %s; write a method with agent_name= and the machine in ConfigMap %s%s instead",
			s.Method, why, nodePrefix, r.node.Name)
	}
	m := &method{name: s.Method, at: at, values: map[string]entry{
		"action": {name: "action", written: "action", value: action, at: at},
	}}
	return r.deviceStep(out, key, m, k, s)
}
