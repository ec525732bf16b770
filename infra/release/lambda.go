package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/infra/release/archive"
	"github.com/nodefence/nodefence/infra/release/manifests"
)

// stacks are the SAM template with the program, for each architecture that it was built for: what
// `sam deploy` takes after unzip.
func (r release) stacks(s manifests.Source) error {
	template, err := os.ReadFile(filepath.Join(s.Infra, "aws/template.yaml"))
	if err != nil {
		return err
	}
	for _, architecture := range slices.Sorted(maps.Keys(r.lambda)) {
		program, err := os.ReadFile(r.lambda[architecture])
		if err != nil {
			return err
		}
		text, err := builtFor(string(template), architecture)
		if err != nil {
			return err
		}
		packed, err := archive.Zip(archive.Files{"template.yaml": []byte(text), "build/bootstrap": program})
		if err != nil {
			return err
		}
		if err := r.write("nodefence-aws-"+architecture+".zip", packed); err != nil {
			return err
		}
	}
	return nil
}

// builtFor is the template whose parameter Architecture is what the program was built for.
func builtFor(template, architecture string) (string, error) {
	const is = "    Default: arm64\n    AllowedValues: [arm64, x86_64]\n"
	if strings.Count(template, is) != 1 {
		return "", fmt.Errorf("template.yaml has not one parameter whose default is arm64, of arm64 and x86_64")
	}
	return strings.Replace(template, is, "    Default: "+architecture+"\n    AllowedValues: ["+architecture+"]\n", 1), nil
}
