// Package starter has FencePolicies to start with, written out in full and with comments, one for
// each kind of machine: the file's name is the kind.
package starter

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

//go:embed *.yaml
var files embed.FS

// Kinds are the kinds of machines, by name.
func Kinds() []string {
	all, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	var out []string
	for _, f := range all {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return out
}

// Options are what a policy does not have from its kind.
type Options struct {
	// Name is the policy's name; by default that of the kind.
	Name string
	// Selector is a label selector as kubectl takes it; by default all nodes of the control plane for
	// kind control-plane, and all others for any other kind.
	Selector string
}

// Write writes the policy for a kind.
func Write(w io.Writer, kind string, o Options) error {
	text, err := files.ReadFile(path.Clean(kind) + ".yaml")
	if err != nil {
		return fmt.Errorf("--for %s: it takes one of %s", kind, strings.Join(Kinds(), ", "))
	}
	if o.Name == "" {
		o.Name = kind
	}
	if o.Selector == "" {
		o.Selector = "!" + api.ControlPlaneLabel
		if kind == "control-plane" {
			o.Selector = api.ControlPlaneLabel
		}
	}
	selector, err := metav1.ParseToLabelSelector(o.Selector)
	if err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	inLine, err := json.Marshal(selector) // JSON is YAML
	if err != nil {
		return err
	}
	return template.Must(template.New(kind).Parse(string(text))).Execute(w, Options{Name: o.Name, Selector: string(inLine)})
}
