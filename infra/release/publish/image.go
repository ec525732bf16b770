package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/nodefence/nodefence/infra/release/archive"
)

// image is an image of a release, for all of its platforms.
type image struct {
	named  name.Tag
	digest v1.Hash
	index  v1.ImageIndex
}

// readImages reads the images that images.txt lists.
func readImages(dist, work string) ([]*image, error) {
	list := filepath.Join(dist, "images.txt")
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("read the list of images: %w (make release writes it)", err)
	}
	var all []*image
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		i, err := readImage(dist, work, lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list, err)
		}
		all = append(all, i)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s lists no image", list)
	}
	return all, nil
}

// readImage reads the image of a line name:tag@digest. An archive with a different digest is an error.
func readImage(dist, work, line string) (*image, error) {
	full, digest, found := strings.Cut(line, "@")
	tag, err := name.NewTag(full, name.StrictValidation)
	if !found || err != nil {
		return nil, fmt.Errorf("%q is no image of a registry: make the release with REGISTRY=registry.example.com/nodefence", line)
	}
	i := &image{named: tag}
	if i.digest, err = v1.NewHash(digest); err != nil {
		return nil, fmt.Errorf("read %q: %w", line, err)
	}
	program := path.Base(tag.RepositoryStr())
	file := filepath.Join(dist, program+".oci.tar")
	packed, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if i.index, err = unpackImage(packed, filepath.Join(work, program), i.digest); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return i, nil
}

// unpackImage writes an archive in OCI's layout into a folder, and returns the image with the digest want. An archive with
// further images is an error.
func unpackImage(packed []byte, folder string, want v1.Hash) (v1.ImageIndex, error) {
	if err := archive.Untar(packed, folder); err != nil {
		return nil, err
	}
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	m, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(m.Manifests) != 1 || m.Manifests[0].Digest != want {
		return nil, fmt.Errorf("it does not have the image %s, and no other", want)
	}
	return outer.ImageIndex(want)
}

// requestOptions returns the options of every request to a registry. The credentials are those of `docker login`.
func requestOptions(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

func (i *image) getTag() name.Tag { return i.named }

func (i *image) isPublished(ctx context.Context) (bool, error) {
	d, err := remote.Head(i.named, requestOptions(ctx)...)
	switch {
	case isMissing(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for %s: %w", i.named, err)
	case d.Digest != i.digest:
		return false, fmt.Errorf("the registry has another image under %s: %s, and this release has %s; a version is published once, so choose another VERSION", i.named, d.Digest, i.digest)
	}
	return true, nil
}

func (i *image) pushContent(ctx context.Context) error {
	return remote.WriteIndex(i.named, i.index, requestOptions(ctx)...)
}

// readDigest returns the reference name@digest of a tag in the registry.
func readDigest(ctx context.Context, tag name.Tag) (string, error) {
	d, err := remote.Get(tag, requestOptions(ctx)...)
	if err != nil {
		return "", err
	}
	return tag.Digest(d.Digest.String()).Name(), nil
}

// isMissing reports whether the error is a registry's answer 404.
func isMissing(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}
