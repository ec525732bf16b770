package chart

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/infra/release/archive"
	"github.com/nodefence/nodefence/infra/release/manifests"
)

// component is what a component of infra/knative adds to an overlay: objects, and variables of
// functions, by the function's name.
type component struct {
	objects  []manifests.Object
	settings map[string]map[string]string
}

// overlaysOnly are the components that the chart does not have, because they change more than
// variables: managementcluster mounts a Secret of the user's.
var overlaysOnly = []string{"managementcluster"}

// Standalone are the components for a cluster without Knative: rights, and variables. The others bring objects of
// Knative, or functions beside the one process.
var Standalone = []string{"jobs", "machinehealthcheck", "machines", "networkfence", "remediation"}

// Components are those of infra/knative that the chart has, by their folders.
func Components(infra string) (names []string, err error) {
	all, err := os.ReadDir(filepath.Join(infra, "knative/components"))
	for _, d := range all {
		if !slices.Contains(overlaysOnly, d.Name()) {
			names = append(names, d.Name())
		}
	}
	return names, err
}

// components writes each component. It must add the same on each platform, since the chart has one
// of each.
func components(write func(string, []manifests.Object) error, files archive.Files, s manifests.Source) error {
	names, err := Components(s.Infra)
	if err != nil {
		return fmt.Errorf("list components: %w", err)
	}
	plain := map[string][]manifests.Object{}
	for _, platform := range manifests.Platforms {
		if plain[platform], err = s.Platform(platform); err != nil {
			return err
		}
	}
	for _, name := range names {
		var first *component
		for _, platform := range manifests.Platforms {
			c, err := added(s, plain[platform], platform, name)
			if err != nil {
				return fmt.Errorf("component %s on %s: %w", name, platform, err)
			}
			if first == nil {
				first = c
			} else if !reflect.DeepEqual(first, c) {
				return fmt.Errorf("component %s adds to %s what it does not add to %s: the chart has no place for that", name, platform, manifests.Platforms[0])
			}
		}
		if err := first.addStandalone(s, name); err != nil {
			return err
		}
		text, err := yaml.Marshal(first.settings)
		if err != nil {
			return err
		}
		files[path.Join(Name, "files/components", name+".settings.yaml")] = text
		if err := write("components/"+name+".yaml", first.objects); err != nil {
			return err
		}
	}
	return nil
}

// addStandalone adds the variables that a component sets in the one process of a cluster without Knative. Its objects
// must be those of the other platforms.
func (c *component) addStandalone(s manifests.Source, name string) error {
	if !slices.Contains(Standalone, name) {
		return nil
	}
	plain, err := s.Platform(manifests.Standalone)
	if err != nil {
		return err
	}
	own, err := added(s, plain, manifests.Standalone, name)
	if err != nil {
		return fmt.Errorf("component %s on %s: %w", name, manifests.Standalone, err)
	}
	if !reflect.DeepEqual(c.objects, own.objects) {
		return fmt.Errorf("component %s adds to %s other objects than to %s: the chart has no place for that", name, manifests.Standalone, manifests.Platforms[0])
	}
	maps.Copy(c.settings, own.settings)
	return nil
}

// added compares an overlay with and without a component.
func added(s manifests.Source, plain []manifests.Object, platform, name string) (*component, error) {
	with, err := s.Platform(platform, name)
	if err != nil {
		return nil, err
	}
	was := map[string]manifests.Object{}
	for _, o := range plain {
		was[manifests.ID(o)] = o
	}
	c := &component{settings: map[string]map[string]string{}}
	for _, o := range with {
		old, is := was[manifests.ID(o)]
		delete(was, manifests.ID(o))
		if !is {
			c.objects = append(c.objects, o)
			continue
		}
		part, more, err := setting(old, o)
		if err != nil {
			return nil, err
		}
		if len(more) > 0 {
			c.settings[part] = more
		}
	}
	if len(was) > 0 {
		return nil, fmt.Errorf("it takes away %v: the chart has no place for that", slices.Sorted(maps.Keys(was)))
	}
	return c, nil
}

// setting is which variables an object has more than it had. Nothing else may differ.
func setting(old, now manifests.Object) (part string, more map[string]string, err error) {
	if reflect.DeepEqual(old, now) {
		return "", nil, nil
	}
	env, rest := environment(now)
	had, before := environment(old)
	if !reflect.DeepEqual(before, rest) || len(env) < len(had) || !reflect.DeepEqual(had, env[:len(had)]) {
		return "", nil, fmt.Errorf("it changes %s in another way than by further variables: the chart has no place for that", manifests.ID(now))
	}
	more = map[string]string{}
	for _, e := range env[len(had):] {
		m := e.(map[string]any)
		value, is := m["value"].(string)
		if !is {
			return "", nil, fmt.Errorf("variable %v of %s has no value of its own: the chart has no place for that", m["name"], manifests.ID(now))
		}
		more[m["name"].(string)] = value
	}
	labels, _, _ := unstructured.NestedStringMap(now.Object, "spec", "template", "metadata", "labels")
	return labels["nodefence.io/function"], more, nil
}

// environment is that of a workload's one container, and the workload without it.
func environment(o manifests.Object) (env []any, rest map[string]any) {
	rest = o.DeepCopy().Object
	all, _, _ := unstructured.NestedSlice(rest, "spec", "template", "spec", "containers")
	if len(all) != 1 {
		return nil, rest
	}
	c := all[0].(map[string]any)
	env, _ = c["env"].([]any)
	delete(c, "env")
	_ = unstructured.SetNestedSlice(rest, all, "spec", "template", "spec", "containers")
	return env, rest
}
