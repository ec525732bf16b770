package pages

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Block is one block of code: fenced, or indented by four spaces.
type Block struct {
	// Page is the file, by its path in the repository, and Line where the block's text begins.
	Page string
	Line int
	// Lang is what follows the fence; empty for an indented block.
	Lang string
	// Text is the block without the indentation that all its lines have.
	Text string
}

// At says where the block is.
func (b Block) At() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Class is what takes a block.
type Class string

// The classes, and the tests that take every block of them.
const (
	// Manifest is whole objects: test/e2e applies them to an API server in a dry run, and
	// shared/binding resolves the ConfigMaps for devices.
	Manifest Class = "manifest"
	// PolicyPart is a part of a FencePolicy, or of its spec: test/e2e applies it as one.
	PolicyPart Class = "part of a FencePolicy"
	// Overlay is a whole kustomization in a folder beside those of infra/knative/overlays: test/e2e builds
	// it, and no image is without a name.
	Overlay Class = "overlay"
	// OverlayPart is a part of a kustomization beside infra/knative/overlays: test/e2e builds it.
	OverlayPart Class = "part of an overlay"
	// Device is a method or the methods of a ConfigMap for devices: shared/binding binds a node by it.
	Device Class = "binding"
	// Shell is typed: TestEveryCommandExists here, sources/kubectl-fence, and test/e2e.
	Shell Class = "commands"
	// Unit is a file for systemd: what it starts is held as commands are.
	Unit Class = "unit of systemd"
	// Transcript is what a terminal shows: TestTheReadme of sources/kubectl-fence.
	Transcript Class = "transcript"
	// Excepted is taken by no test, for a reason that is given.
	Excepted Class = "excepted"
	// Unknown is taken by none, and has no reason.
	Unknown Class = "unknown"
)

var (
	property = regexp.MustCompile(`^[a-z][a-z0-9_]*=`)
	yamlLike = regexp.MustCompile(`^[A-Za-z][A-Za-z.-]*:( |\n|$)`)
	typed    = regexp.MustCompile(`^([A-Z_]+=\S+ *)*([a-z][A-Za-z0-9/_.()-]*([ =\n]|$)|#|$)`)
)

// Class is what takes the block.
func (b Block) Class() Class {
	switch {
	case exception(b) != "":
		return Excepted
	case b.Lang == "properties", b.Lang == "" && b.each(property):
		return Device
	case b.Lang == "yaml", b.Lang == "" && yamlLike.MatchString(b.Text):
		return b.ofYAML()
	case b.Lang == "console" && b.Page == "sources/kubectl-fence/README.md":
		return Transcript
	case b.Lang == "ini":
		return Unit
	case b.Lang == "bash", b.Lang == "" && typed.MatchString(b.Text):
		return Shell
	}
	return Unknown
}

func (b Block) each(re *regexp.Regexp) bool {
	for l := range strings.Lines(strings.TrimSpace(b.Text)) {
		if !re.MatchString(l) {
			return false
		}
	}
	return true
}

// Docs are the documents of a block of YAML.
func (b Block) Docs() []string { return strings.Split(b.Text, "\n---\n") }

func (b Block) ofYAML() Class {
	class := Unknown
	for i, doc := range b.Docs() {
		var o map[string]any
		if yaml.Unmarshal([]byte(doc), &o) != nil {
			return Unknown
		}
		c := ofObject(o)
		if i > 0 && c != class || c != Manifest && i > 0 {
			return Unknown
		}
		class = c
	}
	return class
}

func ofObject(o map[string]any) Class {
	only := func(keys ...string) bool {
		for k := range o {
			if !slices.Contains(keys, k) {
				return false
			}
		}
		return true
	}
	switch {
	case o["apiVersion"] != nil && o["kind"] != nil && o["metadata"] != nil:
		return Manifest
	case o["kind"] == "Kustomization":
		return Overlay
	case only("config.properties"):
		return Device
	case only("components", "images", "patches"):
		return OverlayPart
	case only("spec"), only("unhealthyConditions"):
		return PolicyPart
	}
	return Unknown
}

// All are the blocks of all pages below root, by page and line.
func All(root string) ([]Block, error) {
	var all []Block
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist" || d.Name() == "node_modules"):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		all = append(all, Of(name, string(text))...)
		return err
	})
	return all, err
}
