package manifests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Platforms are the overlays of infra/knative.
var Platforms = []string{"deployments", "serving", "kafka"}

// Standalone is the platform without Knative, infra/standalone: one process has all functions.
const Standalone = "standalone"

// Object is one object of a manifest.
type Object = unstructured.Unstructured

// Source is a folder infra, and the images that take the place of those without a name.
type Source struct {
	Infra  string
	Images Images
}

// Folder is what `kubectl kustomize` makes of a folder of infra.
func (s Source) Folder(name string) ([]Object, error) {
	return s.build(filepath.Join(s.Infra, name))
}

// Platform is a platform with components of infra/knative.
func (s Source) Platform(platform string, components ...string) ([]Object, error) {
	folder := filepath.Join(s.Infra, "knative/overlays", platform)
	if platform == Standalone {
		folder = filepath.Join(s.Infra, Standalone)
	}
	if len(components) == 0 {
		return s.build(folder)
	}
	// An overlay over the overlay, as a user writes one.
	own, err := os.MkdirTemp("", "nodefence-overlay-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for an overlay: %w", err)
	}
	defer func() { _ = os.RemoveAll(own) }()
	var k struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Resources  []string `json:"resources"`
		Components []string `json:"components"`
	}
	k.APIVersion, k.Kind = "kustomize.config.k8s.io/v1beta1", "Kustomization"
	if k.Resources, err = relative(own, folder); err != nil {
		return nil, err
	}
	for _, c := range components {
		path, err := relative(own, filepath.Join(s.Infra, "knative/components", c))
		if err != nil {
			return nil, err
		}
		k.Components = append(k.Components, path...)
	}
	text, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(own, "kustomization.yaml"), text, 0o600); err != nil {
		return nil, fmt.Errorf("write an overlay: %w", err)
	}
	return s.build(own)
}

// relative is the path from one folder to another: kustomize takes no absolute one.
func relative(from, to string) ([]string, error) {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return nil, err
	}
	if to, err = filepath.Abs(to); err != nil {
		return nil, err
	}
	path, err := filepath.Rel(from, to)
	return []string{path}, err
}

func (s Source) build(folder string) ([]Object, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	var all []Object
	for _, r := range built.Resources() {
		// By YAML and not by r.Map, whose numbers are not JSON's.
		text, err := r.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("build %s: %s %s: %w", folder, r.GetKind(), r.GetName(), err)
		}
		var o Object
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			return nil, fmt.Errorf("build %s: %s %s: %w", folder, r.GetKind(), r.GetName(), err)
		}
		s.Images.name(o.Object)
		all = append(all, o)
	}
	return all, nil
}

// YAML is a file of these objects, under a comment.
func YAML(comment string, all []Object) ([]byte, error) {
	var b strings.Builder
	for l := range strings.Lines(comment) {
		b.WriteString("# " + l)
	}
	if comment != "" {
		b.WriteString("\n")
	}
	for i, o := range all {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	return []byte(b.String()), nil
}

// ID names an object among those of one manifest.
func ID(o Object) string {
	return strings.Join([]string{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}, "/")
}
