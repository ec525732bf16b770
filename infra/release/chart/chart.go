package chart

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/infra/release/archive"
	"github.com/nodefence/nodefence/infra/release/manifests"
)

// Name is the chart's.
const Name = "nodefence"

//go:embed nodefence nodefence/templates/_*.tpl nodefence/.helmignore
var own embed.FS

// semantic is what Helm takes for a version, after the v.
var semantic = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// Semantic is a release's version as Helm and OLM want it: 0.1.0 of v0.1.0.
func Semantic(version string) (string, error) {
	v := strings.TrimPrefix(version, "v")
	if !semantic.MatchString(v) {
		return "", fmt.Errorf("VERSION is %q, which Helm and OLM take for no version: write one such as v0.1.0", version)
	}
	return v, nil
}

// Make is the chart's files, by their path below a folder nodefence. The settings are the variables
// that the programs read.
func Make(s manifests.Source, settings []string) (archive.Files, error) {
	files := archive.Files{}
	err := fs.WalkDir(own, Name, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[name], err = own.ReadFile(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := versioned(files, s.Images.Version); err != nil {
		return nil, err
	}
	if err := known(files, settings); err != nil {
		return nil, err
	}
	return files, objects(files, s)
}

// versioned writes the release's version into Chart.yaml.
func versioned(files archive.Files, version string) error {
	v, err := Semantic(version)
	if err != nil {
		return err
	}
	at := path.Join(Name, "Chart.yaml")
	var c map[string]any
	if err := yaml.Unmarshal(files[at], &c); err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	c["version"], c["appVersion"] = v, version
	files[at], err = yaml.Marshal(c)
	return err
}

// known writes into the values' schema which settings there are, so that one that is misspelt is
// refused.
func known(files archive.Files, settings []string) error {
	at := path.Join(Name, "values.schema.json")
	var schema map[string]any
	if err := json.Unmarshal(files[at], &schema); err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	schema["definitions"].(map[string]any)["settings"].(map[string]any)["propertyNames"] = map[string]any{"enum": settings}
	text, err := json.MarshalIndent(schema, "", "  ")
	files[at] = append(text, '\n')
	return err
}

// objects writes what the templates read.
func objects(files archive.Files, s manifests.Source) error {
	write := func(name string, all []manifests.Object) error {
		text, err := manifests.YAML("", all)
		files[path.Join(Name, "files", name)] = text
		return err
	}
	for name, folder := range map[string]string{"kinds.yaml": "crd", "namespaces.yaml": "namespaces", "people.yaml": "people", "observability.yaml": "observability"} {
		all, err := s.Folder(folder)
		if err == nil {
			err = write(name, all)
		}
		if err != nil {
			return err
		}
	}
	people, err := s.Folder("people")
	if err != nil {
		return err
	}
	for _, platform := range append([]string{manifests.Standalone}, manifests.Platforms...) {
		all, err := s.Platform(platform)
		if err == nil {
			err = write("platforms/"+platform+".yaml", without(all, people))
		}
		if err != nil {
			return err
		}
	}
	return components(write, files, s)
}

// without are those objects that are not among others.
func without(all, others []manifests.Object) (kept []manifests.Object) {
	is := map[string]bool{}
	for _, o := range others {
		is[manifests.ID(o)] = true
	}
	for _, o := range all {
		if !is[manifests.ID(o)] {
			kept = append(kept, o)
		}
	}
	return kept
}
