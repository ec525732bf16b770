// Command sbom writes the modules of a Go program as a bill of materials in CycloneDX's
// JSON: sbom PROGRAM.
//
// What a reader must not get wrong: it reads the program itself, not go.mod, so it names
// exactly the modules that were linked. Two builds of one commit have the same bill: it
// contains no time and no random number.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err == nil {
		err = write(os.Stdout, filepath.Base(os.Args[1]), info)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bill has the fields of CycloneDX 1.6 that can be read from a Go program.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// settings are the build settings that change the program.
var settings = []string{"-tags", "CGO_ENABLED", "GOARCH", "GOOS", "vcs.revision", "vcs.modified"}

func write(w io.Writer, name string, info *debug.BuildInfo) error {
	program := component{Ref: info.Path, Type: "application", Name: name, Version: info.Main.Version}
	for _, s := range info.Settings {
		for _, want := range settings {
			if s.Key == want {
				program.Properties = append(program.Properties, property{"go:build:" + s.Key, s.Value})
			}
		}
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{program}}
	version := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = append(b.Components, library("std", version, ""))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, library(m.Path, m.Version, m.Sum))
	}
	all := dependency{Ref: program.Ref}
	for _, c := range b.Components {
		all.On = append(all.On, c.Ref)
	}
	b.Dependencies = []dependency{all}
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	if err := out.Encode(b); err != nil {
		return fmt.Errorf("write the bill of materials of %s: %w", name, err)
	}
	return nil
}

// library describes a module; its sum is Go's own, over the module's files, as in go.sum.
func library(path, version, sum string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := component{Ref: purl, Type: "library", Name: path, Version: version, PURL: purl}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}
