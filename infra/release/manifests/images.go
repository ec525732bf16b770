package manifests

import (
	"fmt"
	"regexp"
	"strings"
)

// unnamed is the tag that infra's overlays give to an image until somebody names one. No image
// has it.
const unnamed = "name-yours"

// Images say where the images of a release are.
type Images struct {
	// Registry is the repository under which the programs have theirs; empty leaves the images
	// without a name.
	Registry string
	// Version is the tag of each of them.
	Version string
}

var (
	tag      = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	registry = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
)

// Valid tells what no image can be named by.
func (i Images) Valid() error {
	switch {
	case !tag.MatchString(i.Version) || i.Version == "latest":
		return fmt.Errorf("VERSION is %q, which is no tag of an image that stays what it is: write one such as v0.1.0", i.Version)
	case i.Registry != "" && !registry.MatchString(i.Registry):
		return fmt.Errorf("REGISTRY is %q, which is no repository of images: write one such as registry.example.com/nodefence", i.Registry)
	}
	return nil
}

// Of is the image of a program.
func (i Images) Of(program string) string {
	if i.Registry == "" {
		return program + ":" + unnamed
	}
	return i.Registry + "/" + program + ":" + i.Version
}

// name gives each image without a name its name, wherever it is named: activity checks run the
// functions' own image, which a variable says.
func (i Images) name(object map[string]any) {
	for k, v := range object {
		object[k] = i.named(v)
	}
}

func (i Images) named(v any) any {
	switch x := v.(type) {
	case map[string]any:
		i.name(x)
	case []any:
		for n := range x {
			x[n] = i.named(x[n])
		}
	case string:
		if program, is := strings.CutSuffix(x, ":"+unnamed); is {
			return i.Of(program)
		}
	}
	return v
}
