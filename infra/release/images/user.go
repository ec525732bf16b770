package main

import (
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// runsAsNobody looks at the user of each image of a folder in OCI's layout.
func runsAsNobody(folder string) error {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return fmt.Errorf("read the image: %w", err)
	}
	return nobody(index)
}

func nobody(index v1.ImageIndex) error {
	m, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("read the image: %w", err)
	}
	for _, d := range m.Manifests {
		switch {
		case d.MediaType.IsIndex():
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return fmt.Errorf("read image %s: %w", d.Digest, err)
			}
			if err := nobody(inner); err != nil {
				return err
			}
		case d.MediaType.IsImage():
			image, err := index.Image(d.Digest)
			if err != nil {
				return fmt.Errorf("read image %s: %w", d.Digest, err)
			}
			if err := user(image); err != nil {
				return err
			}
		}
	}
	return nil
}

// user refuses what a kubelet starts in no pod with runAsNonRoot.
func user(image v1.Image) error {
	c, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("read the image's configuration: %w", err)
	}
	name, _, _ := strings.Cut(c.Config.User, ":")
	if id, err := strconv.Atoi(name); err != nil || id <= 0 {
		return fmt.Errorf("the base image's user is %q: take one whose USER is a number other than 0, such as 65532, or a kubelet starts no pod of it that may not be root", c.Config.User)
	}
	return nil
}
