package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/spelling"
)

// method is a method after its templates have been applied.
type method struct {
	name   string
	at     place
	values map[string]entry
}

// body is the text of a method or template.
type body struct {
	cm   ConfigMap
	key  string
	text string
	own  bool
}

func (b body) at() place { return place{cm: b.cm.Name, key: b.key} }

func (r *resolver) canonical(name string) string { return r.s.Canonical(name) }

// Canonical returns the one name of a parameter.
func (s Settings) Canonical(name string) string {
	n := norm(name)
	if a, ok := s.Aliases[n]; ok {
		n = norm(a)
	}
	switch n {
	case "must_sucess": // the proposal's own spelling
		return "must_success"
	case "port": // agents use both words for an outlet
		return "plug"
	}
	return n
}

// method finds and expands a method that from names; nil if there is none.
func (r *resolver) method(name string, from source, at place) (*method, error) {
	b, err := r.find(name, from, at)
	if b == nil || err != nil {
		return nil, err
	}
	var chain []string
	if b.key == methodKey {
		chain = []string{b.cm.Name}
	}
	values, err := r.expand(*b, chain)
	if err != nil {
		return nil, err
	}
	return &method{name: name, at: b.at(), values: values}, nil
}

// find looks in the same ConfigMap, then for a ConfigMap about this node, then for any.
func (r *resolver) find(name string, from source, at place) (*body, error) {
	var found []body
	for _, k := range slices.Sorted(maps.Keys(from.cm.Data)) {
		if norm(k) == norm(methodPrefix+name) {
			found = append(found, body{cm: from.cm, key: k, text: from.cm.Data[k], own: from.own})
		}
	}
	// The name of a ConfigMap has no "_".
	cm := methodPrefix + strings.ReplaceAll(name, "_", "-")
	if m, ok := r.maps[cm+"-"+r.node.Name]; ok {
		found = append(found, body{cm: m, key: methodKey, own: true})
	}
	if len(found) > 1 {
		return nil, at.errorf("method %q is both key %s of ConfigMap %s and key %s of ConfigMap %s; that can be read in two ways: delete one of them",
			name, found[0].key, found[0].cm.Name, found[1].key, found[1].cm.Name)
	}
	if m, ok := r.maps[cm]; ok && len(found) == 0 {
		found = append(found, body{cm: m, key: methodKey})
	}
	if len(found) == 0 {
		return nil, nil
	}
	b := found[0]
	if b.key == methodKey {
		text, ok := b.cm.Data[methodKey]
		if !ok {
			return nil, b.at().errorf("missing")
		}
		b.text = text
	}
	return &b, nil
}

// expand reads a body and applies it over its template.
func (r *resolver) expand(b body, chain []string) (map[string]entry, error) {
	r.use(b.cm)
	lines, err := parse(b.at(), b.text, r.canonical)
	if err != nil {
		return nil, err
	}
	for n, e := range lines {
		e.own = b.own
		lines[n] = e
	}
	t, ok := lines["template"]
	if !ok {
		return lines, nil
	}
	delete(lines, "template")
	tb, err := r.template(t)
	if err != nil {
		return nil, err
	}
	chain = append(chain, tb.cm.Name)
	if slices.Contains(chain[:len(chain)-1], tb.cm.Name) {
		return nil, t.at.errorf("template cycle: %s; delete one of these template= lines", strings.Join(chain, ", "))
	}
	out, err := r.expand(tb, chain)
	if err != nil {
		return nil, err
	}
	maps.Copy(out, lines)
	return out, nil
}

// noTemplate names other objects that have the name of a missing template.
func (r *resolver) noTemplate(t entry) string {
	for _, k := range slices.Sorted(maps.Keys(r.maps[t.at.cm].Data)) {
		if norm(k) == norm(t.value) || norm(k) == norm(methodPrefix+t.value) {
			return fmt.Sprintf("; key %s of ConfigMap %s is a method, and a template is a ConfigMap of its own", k, t.at.cm)
		}
	}
	if n := spelling.Near(t.value, slices.Collect(maps.Keys(r.maps))); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// template finds the ConfigMap of a template. It is never about one node: any method may
// name it (S11: the device is the node's own).
func (r *resolver) template(t entry) (body, error) {
	names := []string{t.value}
	if x, ok := strings.CutPrefix(t.value, "fence-method-template-"); ok {
		names = append(names, "fence-template-"+x)
	}
	var found []body
	for _, n := range names {
		m := r.maps[n]
		for _, k := range []string{templateKey, methodKey} {
			if text, ok := m.Data[k]; ok {
				found = append(found, body{cm: m, key: k, text: text})
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return body{}, t.at.errorf("unknown template %q; looked for key %s or %s in ConfigMap %s%s",
			t.value, templateKey, methodKey, strings.Join(names, ", "), r.noTemplate(t))
	}
	return body{}, t.at.errorf("template %q is both key %s of ConfigMap %s and key %s of ConfigMap %s; that can be read in two ways: delete one of them",
		t.value, found[0].key, found[0].cm.Name, found[1].key, found[1].cm.Name)
}
