package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// The annotations of an OCI layout by which an import gives the image its name: containerd and podman read the first,
// skopeo and others the second.
const (
	imageName = "io.containerd.image.name"
	refName   = "org.opencontainers.image.ref.name"
)

// nameLayout writes the image's name into the index of a folder in OCI's layout.
func nameLayout(folder, image string) error {
	tag, err := name.NewTag(image, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("name the image: %w", err)
	}
	at := filepath.Join(folder, "index.json")
	text, err := os.ReadFile(at)
	if err != nil {
		return fmt.Errorf("name the image: %w", err)
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(text, &index); err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	if len(index.Manifests) != 1 {
		return fmt.Errorf("%s has %d images, and one can have the name %s", at, len(index.Manifests), image)
	}
	d := &index.Manifests[0]
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[imageName], d.Annotations[refName] = tag.Name(), tag.TagStr()
	if text, err = json.Marshal(index); err != nil {
		return err
	}
	return os.WriteFile(at, text, 0o644)
}

// writeDocker writes the image of one platform as `docker load` reads it, under its name.
func writeDocker(w io.Writer, folder, platform, image string) error {
	tag, err := name.NewTag(image, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("name the image: %w", err)
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return fmt.Errorf("read the image: %w", err)
	}
	found, err := imageFor(index, platform)
	if err != nil {
		return err
	}
	return tarball.Write(tag, found, w)
}

// imageFor finds the image of a platform in an index, or in an index within.
func imageFor(index v1.ImageIndex, platform string) (v1.Image, error) {
	m, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read the image: %w", err)
	}
	for _, d := range m.Manifests {
		if d.MediaType.IsIndex() {
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, fmt.Errorf("read image %s: %w", d.Digest, err)
			}
			if found, err := imageFor(inner, platform); err == nil || !errors.Is(err, errNoPlatform) {
				return found, err
			}
			continue
		}
		image, err := index.Image(d.Digest)
		if err != nil {
			return nil, fmt.Errorf("read image %s: %w", d.Digest, err)
		}
		c, err := image.ConfigFile()
		if err != nil {
			return nil, fmt.Errorf("read image %s: %w", d.Digest, err)
		}
		if c.OS+"/"+c.Architecture == platform {
			return image, nil
		}
	}
	return nil, fmt.Errorf("%w %s", errNoPlatform, platform)
}

var errNoPlatform = errors.New("there is no image for platform")

// dockerArchive is the name of the archive for `docker load`.
func dockerArchive(program, platform string) string {
	return program + "_" + strings.ReplaceAll(platform, "/", "_") + ".docker.tar"
}
